import net from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { SendContext } from "../../src/core/ports/channel.ts";
import { Secret } from "../../src/core/secret.ts";
import { createEmailChannel, type EmailChannelOptions } from "../../src/vendors/email/send.ts";
import type { EmailAccount } from "../../src/vendors/email/vendor.ts";
import {
  createMailboxStandIn,
  type MailboxStandIn,
  type MailboxStandInOptions,
} from "../../workshop/mailbox/mailbox-stand-in.ts";
import type { KnownChannel as Channel, KnownMessage as Message } from "../support/known-vendors.ts";
import { createSelfSignedCertificate } from "../support/self-signed-certificate.ts";
import { sendContext } from "../support/send-context.ts";

const now = () => Date.UTC(2026, 10, 20, 12, 0, 30);
const message: Message = {
  kind: "email",
  subject: "TVL of USDC fell 🚨",
  text: "It fell by 4 %.",
  html: '<p>It fell by <b>4 %</b>. <img src="https://tracker.example/x.png"><script>top.x = 1</script></p>',
};

const certificate = createSelfSignedCertificate(Date.now());

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function startStandIn(options: Partial<MailboxStandInOptions> = {}): Promise<MailboxStandIn> {
  const standIn = await createMailboxStandIn({ now: Date.now, ...options });
  closers.push(standIn.close);
  return standIn;
}

function connectChannel(
  standIn: MailboxStandIn,
  account: Partial<EmailAccount> = {},
  options: EmailChannelOptions = {},
): Channel {
  const channel = createEmailChannel(
    {
      type: "email",
      name: "ops mail",
      timeZone: "UTC",
      onAmbiguous: "retry",
      digestOver: 10,
      pace: {},
      definedAt: "EMAIL_TO",
      to: ["ops@example.com"],
      from: "Tocsin <alerts@tocsin.example>",
      account: {
        id: "stand-in",
        host: "127.0.0.1",
        port: standIn.smtpPort,
        secure: false,
        allowInsecureAuth: false,
        rejectUnauthorized: true,
        ...account,
      },
    },
    { ...options, tls: { ca: certificate.cert } },
  );
  closers.push(() => channel.close());
  return channel;
}

function about(change: Partial<SendContext> = {}): SendContext {
  return sendContext({
    recipient: "ops@example.com",
    deliveryId: "delivery-1",
    alertId: "alert-1",
    receivedAt: Date.UTC(2026, 10, 20, 12, 0, 5),
    threadKey: "usdc",
    ...change,
  });
}

describe("a mailbox", () => {
  it("holds the mail as its reader sees it", async () => {
    const standIn = await startStandIn({ now });
    expect(await connectChannel(standIn).send(message, about())).toMatchObject({ kind: "sent" });
    const [mail] = await standIn.waitForMails(1, "OPS@example.com");
    expect(mail).toMatchObject({
      mailbox: "ops@example.com",
      from: "Tocsin <alerts@tocsin.example>",
      subject: "TVL of USDC fell 🚨",
      messageId: "<delivery-1@tocsin.example>",
      envelopeFrom: "alerts@tocsin.example",
      date: Date.UTC(2026, 10, 20, 12, 0, 5),
      receivedAt: now(),
      copies: 1,
      attachments: 0,
    });
    expect(mail?.text.trim()).toBe(message.text);
    expect(mail?.html.trim()).toBe(message.html);
    expect(mail?.source).toContain("Auto-Submitted: auto-generated");
  });

  it("joins the mails of one alert key, and no others, and is one of several", async () => {
    const standIn = await startStandIn();
    const channel = connectChannel(standIn);
    for (const [deliveryId = "", threadKey = "", recipient = "ops@example.com"] of [
      ["a", "usdc"],
      ["b", "weth"],
      ["c", "usdc"],
      ["d", "usdc", "cfo@example.com"],
    ]) {
      await channel.send({ ...message, subject: "the same" }, about({ deliveryId, threadKey, recipient }));
    }
    const ids = standIn.threads("ops@example.com").map((mails) => mails.map(({ messageId }) => messageId));
    expect(ids).toEqual([["<a@tocsin.example>", "<c@tocsin.example>"], ["<b@tocsin.example>"]]);
    expect(standIn.mails("cfo@example.com")).toHaveLength(1);
  });
});

describe("a refusal of the kind that providers make", () => {
  it("meets a recipient that does not exist", async () => {
    const standIn = await startStandIn();
    standIn.setExists("Gone@example.com", false);
    const channel = connectChannel(standIn);
    expect(await channel.send(message, about({ recipient: "gone@example.com" }))).toMatchObject({
      scope: "recipient",
      detail: expect.stringContaining("5.1.1"),
    });
    expect(await channel.send(message, about())).toMatchObject({ kind: "sent" });
  });

  it("meets a mail that is too large, before and after it was sent", async () => {
    const standIn = await startStandIn({ maxBytes: 4_000 });
    const outcome = await connectChannel(standIn).send({ ...message, text: "x".repeat(9_000) }, about());
    expect(outcome).toMatchObject({ kind: "rejected", scope: "message", reason: "too_long" });
    const answers = await talk(standIn.smtpPort, [...envelope, `${"x\r\n".repeat(3_000)}.`]);
    expect(answers.at(-1)).toMatch(/^552 /);
    expect(standIn.mails()).toEqual([]);
  });

  it("meets a wrong login, and a mail without one", async () => {
    const standIn = await startStandIn({ user: "alerts", password: "right" });
    const wrong = { user: "alerts", password: new Secret("wrong"), allowInsecureAuth: true };
    const refused = { scope: "account", reason: "auth_failed" };
    expect(await connectChannel(standIn, wrong).send(message, about())).toMatchObject(refused);
    expect(await connectChannel(standIn).send(message, about())).toMatchObject(refused);
  });

  it("meets a password that would travel in clear text", async () => {
    const account = { user: "alerts", password: new Secret("right") };
    for (const [from, outcome] of [
      [undefined, { reason: "no_starttls" }],
      ["starttls", { kind: "sent" }],
      ["start", { kind: "sent" }],
    ] as const) {
      const tls = from && { from, ...certificate };
      const standIn = await startStandIn({ user: "alerts", password: "right", tls });
      const channel = connectChannel(standIn, { ...account, secure: from === "start" });
      expect(await channel.send(message, about()), from).toMatchObject(outcome);
    }
  });

  it("meets a greeting with half a name, and a mail that breaks the format", async () => {
    const standIn = await startStandIn();
    const helo = await talk(standIn.smtpPort, ["EHLO laptop", "MAIL FROM:<a@a.example>"]);
    expect(helo.at(-1)).toMatch(/^504 /);
    const head = "From: a@a.example\r\nDate: Fri, 20 Nov 2026 12:00:00 +0000\r\nMessage-ID: <1@a.example>\r\n";
    const broken = {
      "no Message-ID": "From: a@a.example\r\nDate: Fri, 20 Nov 2026 12:00:00 +0000\r\n\r\nhi",
      "two Subject lines": `${head}Subject: one\r\nSubject: two\r\n\r\nhi`,
      "a bare line feed": `${head}\r\none\ntwo`,
      "an endless line": `${head}\r\n${"x".repeat(1_200)}`,
      "no sender": `${head.replace("a@a.example", "nobody")}\r\nhi`,
    };
    for (const [what, source] of Object.entries(broken)) {
      const answers = await talk(standIn.smtpPort, [...envelope, `${source}\r\n.`]);
      expect(answers.at(-1), what).toMatch(/^550 5\.[67]\./);
    }
    expect(standIn.mails()).toEqual([]);
  });
});

describe("a fault on demand", () => {
  it.each([
    [
      { stage: "greeting", kind: 421 },
      { kind: "retry", waitMs: 60_000 },
    ],
    [{ stage: "greeting", kind: "drop" }, { kind: "retry" }],
    [
      { stage: "greeting", kind: "hang" },
      { kind: "retry", reason: "timeout_before_send" },
      // The library behind the stand-in says nothing for the first 100 ms, to catch senders that talk early.
      { greetingMs: 800 },
    ],
    [
      { stage: "sender", kind: 550 },
      { kind: "rejected", scope: "destination" },
    ],
    [
      { stage: "recipient", kind: 450, text: "4.7.1 Greylisted" },
      { kind: "retry", waitMs: 60_000 },
    ],
    [
      { stage: "recipient", kind: "drop" },
      { kind: "retry", reason: "connection_lost" },
    ],
    [{ stage: "mail", kind: "drop" }, { kind: "ambiguous" }],
    [{ stage: "mail", kind: "hang" }, { kind: "ambiguous", reason: "no_answer" }, { verdictMs: 1_000 }],
  ] as [Parameters<MailboxStandIn["faults"]["next"]>[0], object, EmailChannelOptions["timeouts"]?][])(
    "%j is met once, and the next mail gets through",
    async (fault, outcome, timeouts) => {
      const standIn = await startStandIn();
      const channel = connectChannel(standIn, {}, { timeouts });
      standIn.faults.next(fault);
      expect(await channel.send(message, about())).toMatchObject(outcome);
      expect(standIn.mails()).toEqual([]);
      expect(standIn.faults.pending()).toEqual([]);
      const patient = timeouts === undefined ? channel : connectChannel(standIn);
      expect(await patient.send(message, about())).toMatchObject({ kind: "sent" });
    },
  );

  it("waits for its mailbox and lets the others through", async () => {
    const standIn = await startStandIn();
    const channel = connectChannel(standIn);
    standIn.faults.next({ stage: "recipient", kind: 550, mailbox: "cfo@example.com" });
    expect(await channel.send(message, about())).toMatchObject({ kind: "sent" });
    expect(await channel.send(message, about({ recipient: "cfo@example.com" }))).toMatchObject({ scope: "recipient" });
  });
});

describe("closing", () => {
  it("ends a conversation that hangs", async () => {
    const standIn = await createMailboxStandIn({ now });
    const channel = connectChannel(standIn);
    standIn.faults.next({ stage: "mail", kind: "hang" });
    const sending = channel.send(message, about());
    while (standIn.faults.pending().length > 0) await new Promise((resolve) => setImmediate(resolve));
    await standIn.close();
    expect(await sending).toMatchObject({ kind: "ambiguous" });
  });
});

const envelope = ["EHLO a.example", "MAIL FROM:<a@a.example>", "RCPT TO:<b@b.example>", "DATA"];

/** Says lines one after the other, each after the answer to the last, and returns the answers. */
async function talk(port: number, lines: string[]): Promise<string[]> {
  const socket = net.connect(port, "127.0.0.1");
  const answers: string[] = [];
  let heard = "";
  for await (const chunk of socket) {
    heard += String(chunk);
    const complete = /(?:^|\r\n)\d{3} [^\r\n]*\r\n$/.test(heard);
    if (!complete) continue;
    answers.push(heard.trim().split("\r\n").at(-1) ?? "");
    heard = "";
    const line = lines[answers.length - 1];
    if (line === undefined) break;
    socket.write(`${line}\r\n`);
  }
  socket.destroy();
  return answers;
}
