import { Secret } from "../../src/core/secret.ts";
import { createEmailChannel } from "../../src/vendors/email/send.ts";
import { createTelegramChannel } from "../../src/vendors/telegram/send.ts";
import { type ChatStandIn, createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { createMailboxStandIn, type MailboxStandIn } from "../../workshop/mailbox/mailbox-stand-in.ts";
import { destinationBase } from "../support/destinations.ts";
import {
  askedWaitMs,
  type ChannelUnderTest,
  describeChannel,
  type OtherSide,
  patientMs,
  type Situation,
} from "./channel-suite.ts";

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

describeChannel(
  "telegram",
  { situations: situationsOf(chatFaults), edits: true },
  async (answerMs): Promise<ChannelUnderTest> => {
    const secretPart = "AAEcanaryTelegramTokenXXXXXXXX";
    const standIn = await createChatStandIn({
      now: Date.now,
      tokens: [`42:${secretPart}`],
      limits: { chatBurst: Number.POSITIVE_INFINITY, botPerSecond: Number.POSITIVE_INFINITY },
      chats: [{ id: chatId, title: "Desk" }],
    });
    return {
      channel: createTelegramChannel(
        {
          ...destinationBase("desk"),
          type: "telegram",
          chatId,
          silent: false,
          bot: { id: "42", token: new Secret(`42:${secretPart}`), apiRoot: standIn.url },
        },
        { timeoutSeconds: answerMs / 1_000 },
      ),
      recipient: chatId,
      message: (text) => ({ kind: "telegram", text, entities: [] }),
      longestText: "é".repeat(4_096),
      other: chatSide(standIn),
      secrets: [secretPart],
      verdicts: { is_gone: { kind: "rejected", scope: "destination", reason: "kicked" } },
      close: () => standIn.close(),
    };
  },
);

function faultIn<Fault>(faults: Partial<Record<Situation, Fault>>, situation: Situation): Fault {
  const fault = faults[situation];
  if (fault === undefined) throw new Error(`the stand-in does not know "${situation}"`);
  return fault;
}

function chatSide(standIn: ChatStandIn): OtherSide {
  return {
    seen: () => standIn.messages(chatId).map(({ text }) => text),
    nextCall: () => standIn.waitForMessages(chatId, standIn.messages(chatId).length + 1),
    meet: (situation) => {
      if (situation === "behaves") return standIn.faults.clear();
      if (situation === "is_gone") return standIn.setMembership(chatId, "kicked");
      if (situation === "is_unreachable") return standIn.close();
      return standIn.faults.next(faultIn(chatFaults, situation));
    },
  };
}

const mailbox = "ops@example.com";

describeChannel(
  "email",
  { situations: situationsOf(mailFaults), edits: false },
  async (answerMs): Promise<ChannelUnderTest> => {
    const password = "canaryMailPasswordXXXXXXXX";
    const standIn = await createMailboxStandIn({ now: Date.now, user: "relay", password });
    return {
      channel: createEmailChannel(
        {
          ...destinationBase("desk"),
          type: "email",
          to: [mailbox],
          from: "tocsin@example.com",
          account: {
            id: "relay",
            host: "127.0.0.1",
            port: standIn.smtpPort,
            secure: false,
            user: "relay",
            password: new Secret(password),
            allowInsecureAuth: true,
            rejectUnauthorized: true,
          },
        },
        {
          timeouts: {
            connectMs: patientMs,
            greetingMs: patientMs,
            commandMs: patientMs,
            verdictMs: answerMs,
          },
        },
      ),
      recipient: mailbox,
      message: (text) => ({ kind: "email", subject: "Alert", text, html: "<p>Alert</p>" }),
      longestText: "é".repeat(100_000),
      other: mailSide(standIn),
      secrets: [
        password,
        Buffer.from(password).toString("base64"),
        Buffer.from(`\0relay\0${password}`).toString("base64"),
      ],
      verdicts: {
        fails: { kind: "retry" },
        is_unavailable: { kind: "retry" },
        refuses_the_account: { kind: "rejected", scope: "account", reason: "auth_failed" },
        is_gone: { kind: "rejected", scope: "recipient", reason: "recipient_refused" },
      },
      close: () => standIn.close(),
    };
  },
);

function mailSide(standIn: MailboxStandIn): OtherSide {
  return {
    // A mail program ends every text with a line break.
    seen: () => standIn.mails(mailbox).map(({ text }) => text.replace(/\r?\n$/, "")),
    nextCall: () => standIn.waitForMails(standIn.mails(mailbox).length + 1, mailbox),
    meet: (situation) => {
      if (situation === "behaves") return standIn.faults.clear();
      if (situation === "is_gone") return standIn.setExists(mailbox, false);
      if (situation === "is_unreachable") return standIn.close();
      return standIn.faults.next(faultIn(mailFaults, situation));
    },
  };
}
