import { afterEach, describe, expect, it } from "vitest";
import type { SendContext } from "../../src/core/ports/channel.ts";
import { Secret } from "../../src/core/secret.ts";
import { createEmailChannel, type EmailChannelOptions } from "../../src/vendors/email/send.ts";
import type { EmailAccount } from "../../src/vendors/email/vendor.ts";
import type { KnownChannel as Channel, KnownMessage as Message } from "../support/known-vendors.ts";
import {
  createScriptedSmtpServer,
  type ScriptedSmtpOptions,
  type ScriptedSmtpServer,
} from "../support/scripted-smtp-server.ts";
import { sendContext } from "../support/send-context.ts";

const password = "canary-pass-ÿ9'\"";
const message: Message = {
  kind: "email",
  subject: "TVL of USDC fell",
  text: "It fell.\n.\nBy 4 %.",
  html: "<p>It fell.</p>",
};

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function startServer(options?: ScriptedSmtpOptions): Promise<ScriptedSmtpServer> {
  const server = await createScriptedSmtpServer(options);
  closers.push(server.close);
  return server;
}

function connectChannel(port: number, account: Partial<EmailAccount> = {}, options: EmailChannelOptions = {}): Channel {
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
        id: `127.0.0.1:${port}`,
        host: "127.0.0.1",
        port,
        secure: false,
        allowInsecureAuth: false,
        rejectUnauthorized: true,
        ...account,
      },
    },
    options,
  );
  closers.push(() => channel.close());
  return channel;
}

const login = { user: "alerts", password: new Secret(password), allowInsecureAuth: true };

function about(change: Partial<SendContext> = {}): SendContext {
  return sendContext({
    recipient: "ops@example.com",
    deliveryId: "0193-delivery",
    alertId: "0193-alert",
    receivedAt: Date.UTC(2026, 10, 20, 12, 0, 5),
    threadKey: "usdc-tvl",
    ...change,
  });
}

/** Sends one mail to the server over a channel of its own. */
const sendTo = (
  server: { port: number },
  account: Parameters<typeof connectChannel>[1] = {},
  options: Parameters<typeof connectChannel>[2] = {},
) => connectChannel(server.port, account, options).send(message, about());

describe("a mail that goes well", () => {
  it("arrives whole, once, with the delivery's id", async () => {
    const server = await startServer();
    const outcome = await sendTo(server);
    expect(outcome).toEqual({
      kind: "sent",
      ref: "<0193-delivery@tocsin.example>",
      note: "The mail server took it: 250 2.0.0 taken as 4711",
    });
    expect(server.mails).toHaveLength(1);
    expect(server.commands).toContain("EHLO tocsin.example");
    expect(server.commands).toContain("RCPT TO:<ops@example.com>");
  });

  it("uses one connection for a burst and no more than it may", async () => {
    const server = await startServer();
    const channel = connectChannel(server.port, {}, { maxConnections: 2 });
    const ids = Array.from({ length: 20 }, (_, i) => `d${i}`);
    const outcomes = await Promise.all(ids.map((deliveryId) => channel.send(message, about({ deliveryId }))));
    expect(outcomes.every(({ kind }) => kind === "sent")).toBe(true);
    expect(server.mails).toHaveLength(20);
    expect(server.connections()).toBe(2);
  });

  it("works for a server without pipelining, and for one that never heard of EHLO extensions", async () => {
    for (const extensions of [[], ["8BITMIME"]]) {
      const server = await startServer({ extensions });
      expect(await sendTo(server)).toMatchObject({ kind: "sent" });
    }
  });

  it("replaces a kept connection that the server has dropped, without counting it as an attempt", async () => {
    const server = await startServer();
    const channel = connectChannel(server.port);
    await channel.send(message, about({ deliveryId: "first" }));
    server.cutAll();
    expect(await channel.send(message, about({ deliveryId: "second" }))).toMatchObject({ kind: "sent" });
    expect(server.mails).toHaveLength(2);
  });

  it("replaces a kept connection that the server says goodbye to with 421", async () => {
    const server = await startServer({ script: { mail: ["250 ok", "421 4.4.2 too many mails on this connection"] } });
    const channel = connectChannel(server.port);
    await channel.send(message, about({ deliveryId: "first" }));
    expect(await channel.send(message, about({ deliveryId: "second" }))).toMatchObject({ kind: "sent" });
    expect(server.connections()).toBe(2);
  });
});

describe("a kept connection", () => {
  it("is not replaced once the mail may have left: nothing is sent twice unseen", async () => {
    for (const dot of [{ drop: true } as const, "421 4.3.2 shutting down"]) {
      const server = await startServer({ script: { dot: ["250 ok", dot] } });
      const channel = connectChannel(server.port);
      await channel.send(message, about({ deliveryId: "first" }));
      const second = await channel.send(message, about({ deliveryId: "second" }));
      expect(second.kind).toBe(typeof dot === "string" ? "retry" : "ambiguous");
      expect(server.mails).toHaveLength(2);
    }
  });

  it("is replaced once and no more", async () => {
    const server = await startServer({ script: { mail: ["250 ok", { drop: true }, { drop: true }] } });
    const channel = connectChannel(server.port);
    await channel.send(message, about({ deliveryId: "first" }));
    expect(await channel.send(message, about({ deliveryId: "second" }))).toMatchObject({ kind: "retry" });
    expect(server.connections()).toBe(2);
  });

  it("ends with its time, so that no server holds it open for nobody", async () => {
    const server = await startServer();
    await sendTo(server, {}, { idleMs: 1 });
    await server.heard("QUIT");
    expect(server.commands.at(-1)).toBe("QUIT");
  });
});

describe("a refusal", () => {
  const table: [string, ScriptedSmtpOptions["script"], object][] = [
    [
      "421 as greeting",
      { greeting: "421 4.3.2 busy" },
      { kind: "retry", reason: "temporary_refusal", waitMs: 60_000, scope: "account" },
    ],
    [
      "554 as greeting",
      { greeting: "554 no service for you" },
      { kind: "retry", reason: "server_error", waitMs: 60_000, scope: "account" },
    ],
    ["a greeting that is no SMTP", { greeting: "HTTP/1.1 400 Bad Request" }, { kind: "retry", reason: "bad_answer" }],
    ["4yz to MAIL", { mail: "451 4.3.0 try later" }, { kind: "retry", reason: "temporary_refusal" }],
    [
      "5yz to MAIL",
      { mail: "550 5.7.1 sender not yours" },
      { kind: "rejected", scope: "destination", reason: "no_rights" },
    ],
    ["530 to MAIL", { mail: "530 5.7.0 log in first" }, { kind: "rejected", scope: "account", reason: "auth_failed" }],
    ["552 to MAIL", { mail: "552 5.3.4 too big" }, { kind: "rejected", scope: "message", reason: "too_long" }],
    ["4.7.x to RCPT", { rcpt: "450 4.7.1 greylisted" }, { kind: "retry", reason: "temporary_refusal", waitMs: 60_000 }],
    [
      "5yz to RCPT",
      { rcpt: "550 5.1.1 no such user" },
      { kind: "rejected", scope: "recipient", reason: "recipient_refused" },
    ],
    [
      "a greylist without a code of its own",
      { rcpt: "450 4.2.0 <ops@example.com>: Recipient address rejected: Greylisted" },
      { kind: "retry", reason: "temporary_refusal", waitMs: 60_000 },
    ],
    ["451 to RCPT", { rcpt: "451 try again" }, { kind: "retry", reason: "temporary_refusal", waitMs: 60_000 }],
    [
      "the sender, refused at RCPT",
      { rcpt: "553 5.7.1 <alerts@tocsin.example>: Sender address rejected: not owned by user alerts" },
      { kind: "rejected", scope: "destination", reason: "no_rights" },
    ],
    [
      "the sender, refused after the mail",
      { dot: "550 5.7.60 SMTP; Client does not have permissions to send as this sender" },
      { kind: "rejected", scope: "destination", reason: "no_rights" },
    ],
    [
      "the client, refused at RCPT",
      { rcpt: "554 5.7.1 <unknown[192.0.2.7]>: Client host rejected: Access denied" },
      { kind: "rejected", scope: "account", reason: "no_rights" },
    ],
    [
      "a block list, at RCPT",
      { rcpt: "554 5.7.1 Service unavailable; Client host [192.0.2.7] blocked using zen.example.org" },
      { kind: "rejected", scope: "account", reason: "no_rights" },
    ],
    [
      "a login that is wanted, at RCPT",
      { rcpt: "550 5.7.1 Authentication required" },
      { kind: "rejected", scope: "account", reason: "auth_failed" },
    ],
    [
      "a mailbox to which this client may not relay",
      { rcpt: "554 5.7.1 <ops@example.com>: Relay access denied" },
      { kind: "rejected", scope: "recipient", reason: "recipient_refused" },
    ],
    ["4yz to DATA", { data: "451 4.3.0 not now" }, { kind: "retry", reason: "temporary_refusal" }],
    ["5yz to DATA", { data: "554 5.5.1 no" }, { kind: "rejected", scope: "message", reason: "message_refused" }],
    ["4yz after the mail", { dot: "452 4.3.1 disk full" }, { kind: "retry", reason: "temporary_refusal" }],
    [
      "421 after the mail",
      { dot: "421 4.3.2 shutting down" },
      { kind: "retry", reason: "temporary_refusal", waitMs: 60_000 },
    ],
    [
      "5yz after the mail",
      { dot: "550 5.7.1 looks like spam" },
      { kind: "rejected", scope: "message", reason: "message_refused" },
    ],
    [
      "a spent quota",
      { dot: "550 5.4.5 Daily user sending limit exceeded" },
      { kind: "rejected", scope: "account", reason: "rate_limited" },
    ],
    ["nonsense after the mail", { dot: "maybe" }, { kind: "ambiguous", reason: "bad_answer" }],
  ];

  for (const extensions of [["PIPELINING"], []]) {
    describe(extensions.length > 0 ? "with pipelining" : "without pipelining", () => {
      for (const [name, script, outcome] of table) {
        it(`${name} is reported as ${JSON.stringify(outcome)}`, async () => {
          const server = await startServer({ script, extensions });
          expect(await sendTo(server)).toMatchObject(outcome);
        });
      }
    });
  }

  it("keeps the words of the server, on one line", async () => {
    const server = await startServer({ script: { rcpt: "550-5.1.1 The account\r\n550 5.1.1 does\tnot exist" } });
    expect(await sendTo(server)).toMatchObject({
      detail: "The mail server refuses the recipient: 550 5.1.1 The account does not exist",
    });
  });

  it("leaves the next mail alone", async () => {
    const server = await startServer({ script: { rcpt: ["550 5.1.1 no such user"] } });
    const channel = connectChannel(server.port);
    expect(await channel.send(message, about())).toMatchObject({ kind: "rejected" });
    expect(await channel.send(message, about())).toMatchObject({ kind: "sent" });
  });
});

describe("silence and broken lines", () => {
  const timeouts = { greetingMs: 60, commandMs: 60 };
  const before = ["greeting", "ehlo", "mail", "rcpt", "data"] as const;

  for (const extensions of [["PIPELINING"], []]) {
    const how = extensions.length > 0 ? "pipelined" : "in turn";
    for (const stage of before) {
      it(`nothing has left when the server drops the line at ${stage} (${how})`, async () => {
        const server = await startServer({ script: { [stage]: { drop: true } }, extensions });
        expect(await sendTo(server)).toMatchObject({ kind: "retry", reason: "connection_lost" });
        expect(server.mails).toHaveLength(0);
      });

      it(`nothing has left when the server hangs at ${stage} (${how})`, async () => {
        const server = await startServer({ script: { [stage]: { hang: true } }, extensions });
        expect(await sendTo(server, {}, { timeouts })).toMatchObject({ kind: "retry", reason: "timeout_before_send" });
      });

      it(`nothing has left when the caller gives up at ${stage} (${how})`, async () => {
        const server = await startServer({ script: { [stage]: { hang: true } }, extensions });
        const caller = new AbortController();
        const sending = connectChannel(server.port).send(message, about({ signal: caller.signal }));
        await server.reached(stage);
        caller.abort();
        expect(await sending).toMatchObject({ kind: "retry", reason: "process_stopped" });
      });
    }

    it(`nobody knows when the line drops after the go-ahead (${how})`, async () => {
      const server = await startServer({ script: { data: { drop: true, after: "354 go on" } }, extensions });
      expect(await sendTo(server)).toMatchObject({ kind: "ambiguous", reason: "connection_lost" });
    });

    it(`nobody knows when the line drops after the mail (${how})`, async () => {
      const server = await startServer({ script: { dot: { drop: true } }, extensions });
      expect(await sendTo(server)).toMatchObject({ kind: "ambiguous", reason: "connection_lost" });
      expect(server.mails).toHaveLength(1);
    });

    it(`nobody knows when the server hangs after the mail (${how})`, async () => {
      const server = await startServer({ script: { dot: { hang: true } }, extensions });
      const channel = connectChannel(server.port, {}, { timeouts: { verdictMs: 60 } });
      expect(await channel.send(message, about())).toMatchObject({ kind: "ambiguous", reason: "no_answer" });
    });

    it(`nobody knows when the caller gives up after the mail (${how})`, async () => {
      const server = await startServer({ script: { dot: { hang: true } }, extensions });
      const caller = new AbortController();
      const sending = connectChannel(server.port).send(message, about({ signal: caller.signal }));
      await server.reached("dot");
      caller.abort(new DOMException("too long", "TimeoutError"));
      expect(await sending).toMatchObject({ kind: "ambiguous", reason: "no_answer" });
    });
  }

  it("knows that nothing of the second mail has left on a connection that carried a first", async () => {
    const server = await startServer({ script: { mail: ["250 ok", { hang: true }] } });
    const channel = connectChannel(server.port);
    await channel.send(message, about({ deliveryId: "first" }));
    const caller = new AbortController();
    const sending = channel.send(message, about({ deliveryId: "second", signal: caller.signal }));
    await server.reached("mail", 2);
    caller.abort(new DOMException("too long", "TimeoutError"));
    expect(await sending).toMatchObject({ kind: "retry", reason: "timeout_before_send" });
    expect(server.connections()).toBe(1);
  });

  it("gives up waiting for a connection when its caller does, and lets the others through", async () => {
    const server = await startServer({ script: { dot: [{ hang: true }] } });
    const channel = connectChannel(server.port, {}, { maxConnections: 1 });
    const first = new AbortController();
    const second = new AbortController();
    const stuck = channel.send(message, about({ deliveryId: "stuck", signal: first.signal }));
    const queued = channel.send(message, about({ deliveryId: "queued", signal: second.signal }));
    const patient = channel.send(message, about({ deliveryId: "patient" }));
    await server.reached("dot");
    second.abort();
    expect(await queued).toMatchObject({ kind: "retry" });
    first.abort();
    expect(await stuck).toMatchObject({ kind: "ambiguous" });
    expect(await patient).toMatchObject({ kind: "sent" });
  });

  it("reports a mail under way as ambiguous when the channel is closed", async () => {
    const server = await startServer({ script: { dot: { hang: true } } });
    const channel = connectChannel(server.port);
    const sending = channel.send(message, about());
    await server.reached("dot");
    await channel.close();
    expect(await sending).toMatchObject({ kind: "ambiguous" });
    expect(await channel.send(message, about())).toMatchObject({ kind: "retry" });
  });
});

describe("a relay that stood still until its lease was over, while the mail server answered", () => {
  for (const extensions of [["PIPELINING"], []]) {
    it(`hands no mail over, and knows that it has not (${extensions.length > 0 ? "pipelined" : "in turn"})`, async () => {
      const server = await startServer({ extensions });
      const channel = connectChannel(server.port);
      let now = 0;
      const leaseMs = 14_000;
      // Before the answer is read.
      void server.reached("rcpt").then(() => {
        now += 20_000;
      });
      const leaving = new AbortController();
      const mayCall = () => {
        // Who finds its lease over leaves the lane at once, and ends what is under way there.
        if (now >= leaseMs) leaving.abort();
        return now < leaseMs;
      };
      expect(await channel.send(message, about({ mayCall, signal: leaving.signal }))).toMatchObject({
        kind: "retry",
        reason: "process_stopped",
      });
      expect(await channel.send(message, about())).toMatchObject({ kind: "sent" });
      expect(server.mails).toHaveLength(1);
    });
  }
});

describe("the login", () => {
  it("sends no password in clear text", async () => {
    const server = await startServer();
    const outcome = await sendTo(server, { ...login, allowInsecureAuth: false });
    expect(outcome).toMatchObject({ kind: "rejected", scope: "account", reason: "no_starttls" });
    expect(server.commands.some((line) => line.startsWith("AUTH"))).toBe(false);
  });

  it("reports a server without EHLO, which cannot have STARTTLS, the same way", async () => {
    const server = await startServer({ script: { ehlo: "502 5.5.1 what?" } });
    expect(await sendTo(server, { ...login, allowInsecureAuth: false })).toMatchObject({
      scope: "account",
      reason: "no_starttls",
    });
  });

  it("logs in over STARTTLS", async () => {
    const server = await startServer({ starttls: true });
    const channel = connectChannel(server.port, { ...login, allowInsecureAuth: false }, { tls: { ca: server.ca } });
    expect(await channel.send(message, about())).toMatchObject({ kind: "sent" });
    expect(server.commands.some((line) => line.startsWith("tls AUTH PLAIN"))).toBe(true);
    expect(server.commands.some((line) => line.startsWith("AUTH"))).toBe(false);
  });

  it("logs in over TLS from the first byte", async () => {
    const server = await startServer({ implicitTls: true });
    const channel = connectChannel(
      server.port,
      { ...login, allowInsecureAuth: false, secure: true },
      { tls: { ca: server.ca } },
    );
    expect(await channel.send(message, about())).toMatchObject({ kind: "sent" });
  });

  it("does not trust a certificate that nobody vouches for, unless told so", async () => {
    for (const kind of [{ starttls: true }, { implicitTls: true }]) {
      const server = await startServer(kind);
      const account = { ...login, allowInsecureAuth: false, secure: "implicitTls" in kind };
      expect(await sendTo(server, account)).toMatchObject({ kind: "retry", reason: "tls_failed" });
      expect(server.commands.some((line) => line.includes("AUTH"))).toBe(false);
      const trusting = connectChannel(server.port, { ...account, rejectUnauthorized: false });
      expect(await trusting.send(message, about())).toMatchObject({ kind: "sent" });
    }
  });

  it("reports TLS against a server that speaks none as a failed TLS", async () => {
    const server = await startServer();
    expect(await sendTo(server, { secure: true })).toMatchObject({ kind: "retry" });
  });

  it("pauses the account for a wrong password, and only waits when the server cannot tell yet", async () => {
    const wrong = await startServer({ script: { auth: "535 5.7.8 no" } });
    expect(await sendTo(wrong, login)).toMatchObject({ scope: "account", reason: "auth_failed" });
    const later = await startServer({ script: { auth: "454 4.7.0 try later" } });
    expect(await sendTo(later, login)).toMatchObject({ kind: "retry", waitMs: 60_000, scope: "account" });
  });

  it("speaks the older login too, and keeps its password to itself there", async () => {
    const server = await startServer({ extensions: ["AUTH LOGIN"] });
    expect(await sendTo(server, login)).toMatchObject({ kind: "sent" });
    const echo = Buffer.from(password).toString("base64");
    const wrong = await startServer({ extensions: ["AUTH LOGIN"], script: { auth: `535 5.7.8 not ${echo}` } });
    const outcome = await sendTo(wrong, login);
    expect(outcome).toMatchObject({ reason: "auth_failed", detail: expect.stringContaining("not ***") });
  });

  it("does not go on without a login where one is configured", async () => {
    const server = await startServer({ extensions: ["PIPELINING"] });
    expect(await sendTo(server, login)).toMatchObject({ scope: "account", reason: "auth_failed" });
    expect(server.commands.some((line) => line.startsWith("MAIL"))).toBe(false);
  });

  it("keeps the password out of every outcome, even when the server echoes it", async () => {
    const plain = Buffer.from(`\0alerts\0${password}`).toString("base64");
    const echoes = [password, plain, Buffer.from(password).toString("base64"), encodeURIComponent(password)];
    for (const stage of ["auth", "mail", "rcpt", "data", "dot"] as const) {
      for (const echo of echoes) {
        for (const code of ["535 5.7.8", "451", "550 5.1.1", "250", "what"]) {
          // Padded so that the secret would stand at the place where a long reply is cut.
          for (const padding of ["", "x".repeat(150)]) {
            const server = await startServer({ script: { [stage]: `${code} ${padding} you sent ${echo}` } });
            const outcome = JSON.stringify(await sendTo(server, login));
            for (const secret of echoes) expect(outcome).not.toContain(secret.slice(0, 8));
          }
        }
      }
    }
  });
});

describe("a probe", () => {
  it("connects, logs in, names sender and recipient and leaves without a mail", async () => {
    const server = await startServer({ starttls: true });
    const channel = connectChannel(server.port, { ...login, allowInsecureAuth: false }, { tls: { ca: server.ca } });
    expect(await channel.probe("ops@example.com", new AbortController().signal)).toEqual({ kind: "sent" });
    const begun = server.commands.findIndex((line) => line.includes("MAIL"));
    expect(server.commands.slice(begun)).toEqual([
      "tls MAIL FROM:<alerts@tocsin.example>",
      "tls RCPT TO:<ops@example.com>",
      "tls RSET",
      "tls QUIT",
    ]);
    expect(server.mails).toEqual([]);
  });

  it.each(["mail", "rcpt"] as const)("says that the server does not take the sender (%s)", async (stage) => {
    const answer = "553-5.7.1 <alerts@tocsin.example>: Sender address rejected\r\n553 5.7.1 at all";
    const refusing = await startServer({ script: { [stage]: answer } });
    const channel = connectChannel(refusing.port, login);
    expect(await channel.probe("ops@example.com", new AbortController().signal)).toMatchObject({
      kind: "rejected",
      scope: "destination",
      reason: "no_rights",
      detail: expect.stringMatching(/^The mail server refuses the sender: 553 5.7.1 .* at all$/),
    });
  });

  it.each(["mail", "rcpt"] as const)("says that the server breaks the line (%s)", async (stage) => {
    const dropping = await startServer({ script: { [stage]: { drop: true } } });
    const outcome = await connectChannel(dropping.port, login).probe("ops@example.com", new AbortController().signal);
    expect(outcome).toMatchObject({ kind: "retry", reason: "connection_lost" });
  });

  it("reports what would stop a mail", async () => {
    const server = await startServer({ script: { auth: "535 5.7.8 no" } });
    const channel = connectChannel(server.port, login);
    expect(await channel.probe("ops@example.com", new AbortController().signal)).toMatchObject({
      reason: "auth_failed",
    });
    expect(await channel.probe("ops", new AbortController().signal)).toMatchObject({ reason: "address_invalid" });
  });
});
