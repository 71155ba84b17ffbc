import { vi } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createEmailChannel } from "../../src/vendors/email/send.ts";
import { createTelegramChannel } from "../../src/vendors/telegram/send.ts";
import { type ChatStandIn, createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { createMailboxStandIn, type MailboxStandIn } from "../../workshop/mailbox/mailbox-stand-in.ts";
import { destinationBase } from "../support/destinations.ts";
import type { OtherSide, Situation } from "./channel-suite.ts";
import { askedWaitMs, type ChannelUnderTest, describeChannel, patientMs } from "./channel-suite.ts";

const chatId = "-1001000000001";

type Faults<StandIn extends { faults: { next(fault: never): void } }> = Partial<
  Record<Situation, Parameters<StandIn["faults"]["next"]>[0]>
>;

const chatFaults: Faults<ChatStandIn> = {
  asks_to_wait: { kind: "flood", retryAfterSeconds: askedWaitMs / 1_000 },
  fails: { kind: "error_500" },
  takes_and_hangs: { kind: "hang", delivered: true },
  takes_and_resets: { kind: "reset", delivered: true },
  speaks_garbage: { kind: "not_json", delivered: true },
};

const mailFaults: Faults<MailboxStandIn> = {
  fails: { stage: "sender", kind: 451, text: "4.3.0 try again later" },
  is_unavailable: { stage: "recipient", kind: 421, text: "4.7.0 busy" },
  refuses_the_account: { stage: "login", kind: 535, text: "5.7.8 wrong password" },
  refuses_the_message: { stage: "mail", kind: 554, text: "5.6.0 refused" },
  takes_and_hangs: { stage: "mail", kind: "hang", delivered: true },
  takes_and_resets: { stage: "mail", kind: "drop", delivered: true },
};

/** Those that the stand-in has faults for, and those that each has. */
const situationsOf = (faults: Partial<Record<Situation, unknown>>) =>
  [...Object.keys(faults), "is_gone", "is_unreachable"] as Situation[];

/** Resolves when there are more than now. */
function untilMore(read: () => unknown[]): Promise<unknown> {
  const { length } = read();
  return vi.waitUntil(() => read().length > length, { timeout: 10_000 });
}

type StandIn<Fault> = { faults: { clear(): void; next(fault: Fault): void }; close(): Promise<void> };
type Own = Pick<OtherSide, "seen" | "nextCall"> & { becomeGone(): void };

/** How a stand-in is brought into each situation. */
function sideOf<Fault>(
  standIn: StandIn<Fault>,
  faults: Partial<Record<Situation, Fault>>,
  { becomeGone, ...own }: Own,
): OtherSide {
  return {
    ...own,
    meet(situation) {
      if (situation === "behaves") return standIn.faults.clear();
      if (situation === "is_gone") return becomeGone();
      if (situation === "is_unreachable") return standIn.close();
      const fault = faults[situation];
      if (fault === undefined) throw new Error(`the stand-in does not know "${situation}"`);
      return standIn.faults.next(fault);
    },
  };
}

const telegram = { situations: situationsOf(chatFaults), edits: true };
describeChannel("telegram", telegram, async (answerMs): Promise<ChannelUnderTest> => {
  const secretPart = "AAEcanaryTelegramTokenXXXXXXXX";
  const token = `42:${secretPart}`;
  const chats = [{ id: chatId, title: "Desk" }];
  const standIn = await createChatStandIn({ now: Date.now, tokens: [token], limited: false, chats });
  const bot = { id: "42", token: new Secret(token), apiRoot: standIn.url };
  const destination = { ...destinationBase("desk"), type: "telegram" as const, chatId, silent: false, bot };
  return {
    channel: createTelegramChannel(destination, { timeoutSeconds: answerMs / 1_000 }),
    recipient: chatId,
    message: (text) => ({ kind: "telegram", text, entities: [] }),
    longestText: "é".repeat(4_096),
    other: sideOf(standIn, chatFaults, {
      seen: () => standIn.messages(chatId).map(({ text }) => text),
      nextCall: () => untilMore(() => standIn.messages(chatId)),
      becomeGone: () => standIn.setMembership(chatId, "kicked"),
    }),
    secrets: [secretPart],
    verdicts: { is_gone: { kind: "rejected", scope: "destination", reason: "kicked" } },
    close: () => standIn.close(),
  };
});

const mailbox = "ops@example.com";

const email = { situations: situationsOf(mailFaults), edits: false };
describeChannel("email", email, async (answerMs): Promise<ChannelUnderTest> => {
  const [user, password] = ["relay", "canaryMailPasswordXXXXXXXX"];
  const standIn = await createMailboxStandIn({ now: Date.now, login: { user, password } });
  const server = { host: "127.0.0.1", port: standIn.smtpPort, secure: false, rejectUnauthorized: true };
  const account = { ...server, id: user, user, password: new Secret(password), allowInsecureAuth: true };
  const addresses = { to: [mailbox], from: "tocsin@example.com" };
  const limits = { connectMs: patientMs, greetingMs: patientMs, commandMs: patientMs, verdictMs: answerMs };
  const destination = { ...destinationBase("desk"), type: "email" as const, ...addresses, account };
  return {
    channel: createEmailChannel(destination, { timeouts: limits }),
    recipient: mailbox,
    message: (text) => ({ kind: "email", subject: "Alert", text, html: "<p>Alert</p>" }),
    longestText: "é".repeat(100_000),
    other: sideOf(standIn, mailFaults, {
      // A mail program ends every text with a line break.
      seen: () => standIn.mails(mailbox).map(({ text }) => text.replace(/\r?\n$/, "")),
      nextCall: () => untilMore(() => standIn.mails(mailbox)),
      becomeGone: () => standIn.setExists(mailbox, false),
    }),
    secrets: [password, ...[password, `\0${user}\0${password}`].map((text) => Buffer.from(text).toString("base64"))],
    verdicts: {
      ...{ fails: { kind: "retry" }, is_unavailable: { kind: "retry" } },
      refuses_the_account: { kind: "rejected", scope: "account", reason: "auth_failed" },
      is_gone: { kind: "rejected", scope: "recipient", reason: "recipient_refused" },
    },
    close: () => standIn.close(),
  };
});
