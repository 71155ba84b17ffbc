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

const chatSituations: Situation[] = [
  "asks_to_wait",
  "fails",
  "is_gone",
  "takes_and_hangs",
  "takes_and_resets",
  "speaks_garbage",
  "is_unreachable",
];

describeChannel(
  "telegram",
  { situations: chatSituations, edits: true },
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

function chatSide(standIn: ChatStandIn): OtherSide {
  return {
    seen: () => standIn.messages(chatId).map(({ text }) => text),
    nextCall: () => standIn.waitForMessages(chatId, standIn.messages(chatId).length + 1),
    meet: (situation) => {
      switch (situation) {
        case "behaves":
          return standIn.faults.clear();
        case "asks_to_wait":
          return standIn.faults.next({ kind: "flood", retryAfterSeconds: askedWaitMs / 1_000 });
        case "fails":
          return standIn.faults.next({ kind: "error_500" });
        case "is_gone":
          return standIn.setMembership(chatId, "kicked");
        case "takes_and_hangs":
          return standIn.faults.next({ kind: "hang", delivered: true });
        case "takes_and_resets":
          return standIn.faults.next({ kind: "reset", delivered: true });
        case "speaks_garbage":
          return standIn.faults.next({ kind: "not_json", delivered: true });
        case "is_unreachable":
          return standIn.close();
        default:
          throw new Error(`the stand-in does not know "${situation}"`);
      }
    },
  };
}

const mailbox = "ops@example.com";

const mailSituations: Situation[] = [
  "fails",
  "is_unavailable",
  "refuses_the_account",
  "is_gone",
  "refuses_the_message",
  "takes_and_hangs",
  "takes_and_resets",
  "is_unreachable",
];

describeChannel("email", { situations: mailSituations, edits: false }, async (answerMs): Promise<ChannelUnderTest> => {
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
});

function mailSide(standIn: MailboxStandIn): OtherSide {
  return {
    // A mail program ends every text with a line break.
    seen: () => standIn.mails(mailbox).map(({ text }) => text.replace(/\r?\n$/, "")),
    nextCall: () => standIn.waitForMails(standIn.mails(mailbox).length + 1, mailbox),
    meet: (situation) => {
      switch (situation) {
        case "behaves":
          return standIn.faults.clear();
        case "fails":
          return standIn.faults.next({ stage: "sender", kind: 451, text: "4.3.0 try again later" });
        case "is_unavailable":
          return standIn.faults.next({ stage: "recipient", kind: 421, text: "4.7.0 busy" });
        case "refuses_the_account":
          return standIn.faults.next({ stage: "login", kind: 535, text: "5.7.8 wrong password" });
        case "is_gone":
          return standIn.setExists(mailbox, false);
        case "refuses_the_message":
          return standIn.faults.next({ stage: "mail", kind: 554, text: "5.6.0 refused" });
        case "takes_and_hangs":
          return standIn.faults.next({ stage: "mail", kind: "hang", delivered: true });
        case "takes_and_resets":
          return standIn.faults.next({ stage: "mail", kind: "drop", delivered: true });
        case "is_unreachable":
          return standIn.close();
        default:
          throw new Error(`the stand-in does not know "${situation}"`);
      }
    },
  };
}
