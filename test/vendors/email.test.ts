import { describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { sayOutcome } from "../support/say-outcome.ts";
import type { ScriptStage } from "../support/scripted-smtp-server.ts";
import { startMail } from "./email-fixture.ts";

const password = "canary-pass-ÿ9'\"";
const openLogin = { user: "alerts", password: new Secret(password), allowInsecureAuth: true };
const login = { ...openLogin, allowInsecureAuth: false };
const ways: [how: string, extensions: string[]][] = [
  ["pipelined", ["PIPELINING"]],
  ["in turn", []],
];
type Mail = Awaited<ReturnType<typeof startMail>>;
const tooLong = new DOMException("too long", "TimeoutError");

describe("a mail that goes well", () => {
  it("arrives whole, once, with the delivery's id", async () => {
    const { server, send } = await startMail();
    expect(await send()).toEqual({
      kind: "sent",
      ref: "<0193-delivery@tocsin.example>",
      note: "The mail server took it: 250 2.0.0 taken as 4711",
    });
    expect(server.mails).toHaveLength(1);
    expect(server.commands).toContain("EHLO tocsin.example");
    expect(server.commands).toContain("RCPT TO:<ops@example.com>");
  });

  it("uses one connection for a burst and no more than it may", async () => {
    const { server, say } = await startMail({ maxConnections: 2 });
    const said = await Promise.all(Array.from({ length: 20 }, (_, index) => say({ deliveryId: `d${index}` })));
    expect(new Set(said)).toEqual(new Set(["sent"]));
    expect(server.mails).toHaveLength(20);
    expect(server.connections()).toBe(2);
  });
});

describe("a kept connection", () => {
  it("is replaced when the server has dropped it, without counting that as an attempt", async () => {
    const { server, say } = await startMail();
    await say({ deliveryId: "first" });
    server.cutAll();
    expect(await say({ deliveryId: "second" })).toBe("sent");
    expect(server.mails).toHaveLength(2);
  });

  it("is replaced when the server says goodbye with 421", async () => {
    const { server, say } = await startMail({ script: { mail: ["250 ok", "421 4.4.2 too many mails"] } });
    await say({ deliveryId: "first" });
    expect(await say({ deliveryId: "second" })).toBe("sent");
    expect(server.connections()).toBe(2);
  });

  it.each([
    [{ drop: true } as const, "ambiguous"],
    ["421 4.3.2 shutting down", "retry"],
  ])("is not replaced once the mail may have left, so that nothing is sent twice: %j", async (dot, kind) => {
    const { server, send } = await startMail({ script: { dot: ["250 ok", dot] } });
    await send({ deliveryId: "first" });
    expect(await send({ deliveryId: "second" })).toMatchObject({ kind });
    expect(server.mails).toHaveLength(2);
  });

  it("is replaced once and no more", async () => {
    const { server, send } = await startMail({ script: { mail: ["250 ok", { drop: true }, { drop: true }] } });
    await send({ deliveryId: "first" });
    expect(await send({ deliveryId: "second" })).toMatchObject({ kind: "retry" });
    expect(server.connections()).toBe(2);
  });

  it("ends with its time, so that no server holds it open for nobody", async () => {
    const { server, send } = await startMail({ idleMs: 1 });
    await send();
    await expect.poll(() => server.commands.at(-1)).toBe("QUIT");
  });
});

describe.each(ways)("a refusal, %s", (_how, extensions) => {
  it.each<[ScriptStage, reply: string, outcome: string]>([
    ["greeting", "421 4.3.2 busy", "retry temporary_refusal 60000 account"],
    ["greeting", "554 no service for you", "retry server_error 60000 account"],
    ["greeting", "HTTP/1.1 400 Bad Request", "retry bad_answer -"],
    ["mail", "451 4.3.0 try later", "retry temporary_refusal -"],
    ["mail", "550 5.7.1 sender not yours", "rejected destination no_rights"],
    ["mail", "530 5.7.0 log in first", "rejected account auth_failed"],
    ["mail", "552 5.3.4 too big", "rejected message too_long"],
    ["rcpt", "450 4.7.1 greylisted", "retry temporary_refusal 60000"],
    ["rcpt", "550 5.1.1 no such user", "rejected recipient recipient_refused"],
    // A greylist without a code of its own.
    ["rcpt", "450 4.2.0 <ops@example.com>: Recipient address rejected: Greylisted", "retry temporary_refusal 60000"],
    ["rcpt", "451 try again", "retry temporary_refusal 60000"],
    // The sender or the client is meant, not the recipient.
    ["rcpt", "553 5.7.1 <a@tocsin.example>: Sender address rejected: not owned by a", "rejected destination no_rights"],
    [
      "dot",
      "550 5.7.60 SMTP; Client does not have permissions to send as this sender",
      "rejected destination no_rights",
    ],
    ["rcpt", "554 5.7.1 <unknown[192.0.2.7]>: Client host rejected: Access denied", "rejected account no_rights"],
    ["rcpt", "554 5.7.1 Client host [192.0.2.7] blocked using zen.example.org", "rejected account no_rights"],
    ["rcpt", "550 5.7.1 Authentication required", "rejected account auth_failed"],
    ["rcpt", "554 5.7.1 <ops@example.com>: Relay access denied", "rejected recipient recipient_refused"],
    ["data", "451 4.3.0 not now", "retry temporary_refusal -"],
    ["data", "554 5.5.1 no", "rejected message message_refused"],
    ["dot", "452 4.3.1 disk full", "retry temporary_refusal -"],
    ["dot", "421 4.3.2 shutting down", "retry temporary_refusal 60000 account"],
    ["dot", "550 5.7.1 looks like spam", "rejected message message_refused"],
    ["dot", "550 5.4.5 Daily user sending limit exceeded", "rejected account rate_limited"],
    ["dot", "maybe", "ambiguous bad_answer"],
  ])("to %s with %s is %s", async (stage, reply, outcome) => {
    const { say } = await startMail({ script: { [stage]: reply }, extensions });
    expect(await say()).toBe(outcome);
  });
});

describe("a refusal", () => {
  it("keeps the words of the server, on one line", async () => {
    const { send } = await startMail({ script: { rcpt: "550-5.1.1 The account\r\n550 5.1.1 does\tnot exist" } });
    expect(await send()).toMatchObject({
      detail: "The mail server refuses the recipient: 550 5.1.1 The account does not exist",
    });
  });

  it("leaves the next mail alone", async () => {
    const { say } = await startMail({ script: { rcpt: ["550 5.1.1 no such user"] } });
    expect([await say(), await say()]).toEqual(["rejected recipient recipient_refused", "sent"]);
  });
});

/** What becomes of a mail whose caller gives up when the server has reached the stage so many times. */
async function giveUpAt(
  stage: ScriptStage,
  { server, say }: Mail,
  { times = 1, why }: { times?: number; why?: Error },
) {
  const caller = new AbortController();
  const sending = say({ deliveryId: "given up", signal: caller.signal });
  await server.reached(stage, times);
  caller.abort(why);
  return sending;
}

describe.each(ways)("silence and broken lines, %s", (_how, extensions) => {
  const timeouts = { greetingMs: 60, commandMs: 60 };

  describe.each(["greeting", "ehlo", "mail", "rcpt", "data"] as const)("nothing has left at %s", (stage) => {
    it("when the server drops the line", async () => {
      const { server, say } = await startMail({ script: { [stage]: { drop: true } }, extensions });
      expect(await say()).toBe("retry connection_lost -");
      expect(server.mails).toHaveLength(0);
    });

    it("when the server hangs", async () => {
      const { say } = await startMail({ script: { [stage]: { hang: true } }, extensions, timeouts });
      expect(await say()).toBe("retry timeout_before_send -");
    });

    it("when the caller gives up", async () => {
      const mail = await startMail({ script: { [stage]: { hang: true } }, extensions });
      expect(await giveUpAt(stage, mail, {})).toBe("retry process_stopped -");
    });
  });

  it("nobody knows when the line drops after the go-ahead", async () => {
    const { say } = await startMail({ script: { data: { drop: true, after: "354 go on" } }, extensions });
    expect(await say()).toBe("ambiguous connection_lost");
  });

  it("nobody knows when the line drops after the mail", async () => {
    const { server, say } = await startMail({ script: { dot: { drop: true } }, extensions });
    expect(await say()).toBe("ambiguous connection_lost");
    expect(server.mails).toHaveLength(1);
  });

  it("nobody knows when the server hangs after the mail, or the caller gives up there", async () => {
    const silent = { script: { dot: { hang: true } }, extensions } as const;
    const { say } = await startMail({ ...silent, timeouts: { verdictMs: 60 } });
    expect(await say()).toBe("ambiguous no_answer");
    expect(await giveUpAt("dot", await startMail(silent), { why: tooLong })).toBe("ambiguous no_answer");
  });

  it("a relay that stood still until its lease was over hands no mail over, and knows that it has not", async () => {
    const { server, say } = await startMail({ extensions });
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
    expect(await say({ mayCall, signal: leaving.signal })).toBe("retry process_stopped -");
    expect(await say()).toBe("sent");
    expect(server.mails).toHaveLength(1);
  });
});

describe("what is known of a mail", () => {
  it("is that nothing of it has left on a connection that carried another", async () => {
    const mail = await startMail({ script: { mail: ["250 ok", { hang: true }] } });
    await mail.send({ deliveryId: "first" });
    expect(await giveUpAt("mail", mail, { times: 2, why: tooLong })).toBe("retry timeout_before_send -");
    expect(mail.server.connections()).toBe(1);
  });

  it("is so too when its caller gives up waiting for a connection, and the others get through", async () => {
    const { server, send } = await startMail({ script: { dot: [{ hang: true }] }, maxConnections: 1 });
    const [first, second] = [new AbortController(), new AbortController()];
    const stuck = send({ deliveryId: "stuck", signal: first.signal });
    const queued = send({ deliveryId: "queued", signal: second.signal });
    const patient = send({ deliveryId: "patient" });
    await server.reached("dot");
    second.abort();
    expect(await queued).toMatchObject({ kind: "retry" });
    first.abort();
    expect(await stuck).toMatchObject({ kind: "ambiguous" });
    expect(await patient).toMatchObject({ kind: "sent" });
  });

  it("is nothing certain when the channel is closed while it is under way", async () => {
    const { server, channel, send } = await startMail({ script: { dot: { hang: true } } });
    const sending = send();
    await server.reached("dot");
    await channel.close();
    expect(await sending).toMatchObject({ kind: "ambiguous" });
    expect(await send()).toMatchObject({ kind: "retry" });
  });
});

describe("the login", () => {
  it.each([
    ["sends no password in clear text", {}],
    ["is not tried at a server without EHLO, which cannot have STARTTLS", { ehlo: "502 5.5.1 what?" }],
  ])("%s", async (_what, script) => {
    const { server, say } = await startMail({ script, account: login });
    expect(await say()).toBe("rejected account no_starttls");
    expect(server.commands.join()).not.toContain("AUTH");
  });

  it("goes over STARTTLS, or TLS from the first byte", async () => {
    const { server, say } = await startMail({ server: { starttls: true }, account: login });
    expect(await say()).toBe("sent");
    const logins = server.commands.filter((line) => line.includes("AUTH"));
    expect(logins).toEqual([expect.stringMatching(/^tls AUTH PLAIN/)]);
    const implicit = await startMail({ server: { implicitTls: true }, account: { ...login, secure: true } });
    expect(await implicit.say()).toBe("sent");
  });

  it.each([{ starttls: true }, { implicitTls: true }])(
    "does not trust a certificate that nobody vouches for, unless told so: %j",
    async (kind) => {
      const account = { ...login, secure: "implicitTls" in kind };
      const { server, send } = await startMail({ server: kind, account, trusts: false });
      expect(await send()).toMatchObject({ kind: "retry", reason: "tls_failed" });
      expect(server.commands.join()).not.toContain("AUTH");
      const trusting = { ...account, rejectUnauthorized: false };
      expect(await (await startMail({ server: kind, account: trusting, trusts: false })).say()).toBe("sent");
    },
  );

  it("is tried again against a server that speaks no TLS", async () => {
    expect(await (await startMail({ account: { secure: true } })).send()).toMatchObject({ kind: "retry" });
  });

  it.each([
    ["pauses the account for a wrong password", "535 5.7.8 no", "rejected account auth_failed"],
    ["only waits when the server cannot tell yet", "454 4.7.0 try later", "retry temporary_refusal 60000 account"],
  ])("%s", async (_what, auth, outcome) => {
    const { say } = await startMail({ script: { auth }, account: openLogin });
    expect(await say()).toBe(outcome);
  });

  it("speaks the older login too, and keeps its password to itself there", async () => {
    const extensions = ["AUTH LOGIN"];
    expect(await (await startMail({ server: { extensions }, account: openLogin })).say()).toBe("sent");
    const script = { auth: `535 5.7.8 not ${Buffer.from(password).toString("base64")}` };
    const outcome = await (await startMail({ server: { extensions, script }, account: openLogin })).send();
    expect(outcome).toMatchObject({ reason: "auth_failed", detail: expect.stringContaining("not ***") });
  });

  it("does not go on without a login where one is configured", async () => {
    const { server, say } = await startMail({ server: { extensions: ["PIPELINING"] }, account: openLogin });
    expect(await say()).toBe("rejected account auth_failed");
    expect(server.commands.join()).not.toContain("MAIL");
  });

  it("keeps the password out of every outcome, even when the server echoes it", async () => {
    const plain = Buffer.from(`\0alerts\0${password}`).toString("base64");
    const echoes = [password, plain, Buffer.from(password).toString("base64"), encodeURIComponent(password)];
    for (const stage of ["auth", "mail", "rcpt", "data", "dot"] as const) {
      for (const echo of echoes) {
        for (const code of ["535 5.7.8", "451", "550 5.1.1", "250", "what"]) {
          // Padded so that the secret would stand at the place where a long reply is cut.
          for (const padding of ["", "x".repeat(150)]) {
            const script = { [stage]: `${code} ${padding} you sent ${echo}` };
            const outcome = JSON.stringify(await (await startMail({ script, account: openLogin })).send());
            for (const secret of echoes) expect(outcome).not.toContain(secret.slice(0, 8));
          }
        }
      }
    }
  });
});

describe("a probe", () => {
  async function probe(options: Parameters<typeof startMail>[0], recipient = "ops@example.com") {
    const { server, channel } = await startMail(options);
    return { server, outcome: await channel.probe(recipient, new AbortController().signal) };
  }

  it("connects, logs in, names sender and recipient and leaves without a mail", async () => {
    const { server, outcome } = await probe({ server: { starttls: true }, account: login });
    expect(outcome).toEqual({ kind: "sent" });
    const begun = server.commands.findIndex((line) => line.includes("MAIL"));
    expect(server.commands.slice(begun)).toEqual([
      "tls MAIL FROM:<alerts@tocsin.example>",
      "tls RCPT TO:<ops@example.com>",
      "tls RSET",
      "tls QUIT",
    ]);
    expect(server.mails).toEqual([]);
  });

  it.each(["mail", "rcpt"] as const)(
    "says that the server refuses the sender, or breaks the line (%s)",
    async (stage) => {
      const answer = "553-5.7.1 <alerts@tocsin.example>: Sender address rejected\r\n553 5.7.1 at all";
      const refused = await probe({ server: { script: { [stage]: answer } }, account: openLogin });
      expect(sayOutcome(refused.outcome)).toBe("rejected destination no_rights");
      expect(refused.outcome).toMatchObject({
        detail: expect.stringMatching(/^The mail server refuses the sender: 553 5.7.1 .* at all$/),
      });
      const dropped = await probe({ server: { script: { [stage]: { drop: true } } }, account: openLogin });
      expect(sayOutcome(dropped.outcome)).toBe("retry connection_lost -");
    },
  );

  it("reports what would stop a mail", async () => {
    const wrong = { server: { script: { auth: "535 5.7.8 no" } }, account: openLogin };
    expect((await probe(wrong)).outcome).toMatchObject({ reason: "auth_failed" });
    expect((await probe(wrong, "ops")).outcome).toMatchObject({ reason: "address_invalid" });
  });
});
