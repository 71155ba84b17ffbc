import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type ChatStandInOptions, createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { createMailboxStandIn } from "../../workshop/mailbox/mailbox-stand-in.ts";
import { type RelayProcess, startRelayProcess, waitUntil } from "./relay-process.ts";
import { makeTempFolder } from "./temp-folder.ts";

export const botToken = "7700:journey-bot-token-canary";
export const deskChat = "-1001700000001";
export const opsChat = "-1001700000002";
export const mailAddress = "risk@desk.example";

/** A strict stand-in of the Bot API, a mail server, and an empty data folder. `yaml` becomes the configuration file. */
export async function createJourneyWorld(options: { yaml?: string; chat?: Partial<ChatStandInOptions> } = {}) {
  const dataDir = makeTempFolder();
  const chat = await createChatStandIn({
    now: Date.now,
    tokens: [botToken],
    chats: [
      { id: deskChat, title: "Desk" },
      { id: opsChat, title: "Operations" },
    ],
    ...options.chat,
  });
  const mailbox = await createMailboxStandIn({ now: Date.now });
  onTestFinished(async () => {
    await chat.close();
    await mailbox.close();
  });
  const env: Record<string, string> = {
    TELEGRAM_BOT_TOKEN: botToken,
    TELEGRAM_CHAT_IDS: `${deskChat},${opsChat}`,
    TELEGRAM_API_ROOT: chat.url,
    SMTP_URL: mailbox.smtpUrl,
    EMAIL_FROM: "Tocsin <alerts@tocsin.example>",
    EMAIL_TO: mailAddress,
  };
  if (options.yaml !== undefined) {
    const path = join(dataDir, "tocsin.yaml");
    writeFileSync(path, options.yaml);
    env.TOCSIN_CONFIG = path;
  }
  return {
    dataDir,
    chat,
    mailbox,
    env,
    start: (extra: Record<string, string> = {}) => startRelayProcess(dataDir, { ...env, ...extra }),
  };
}

export type JourneyWorld = Awaited<ReturnType<typeof createJourneyWorld>>;

export interface ApiDelivery {
  destination: string;
  channel: string;
  state: string;
  purpose?: string;
  attempts?: { at: string; outcome: string; reason?: string; detail?: string }[];
}

export interface ApiAlert {
  id: string;
  title?: string;
  deliveries: ApiDelivery[];
}

/** Waits until every delivery of the alert has this state. */
export function waitForState(relay: RelayProcess, id: string, state: string): Promise<ApiAlert> {
  return waitUntil(
    async () => (await relay.getJson<{ data: ApiAlert }>(`/api/alerts/${id}`)).data,
    (alert) => alert.deliveries.length > 0 && alert.deliveries.every((delivery) => delivery.state === state),
    { what: `every delivery ${state}` },
  );
}

/** The titles of all stored alerts, newest first, when each has been read. */
export async function readTitles(relay: RelayProcess): Promise<string[]> {
  const titles: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    type Page = { data: { title: string | null }[]; meta: { nextCursor: string | null } };
    const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page: Page = await waitUntil(
      () => relay.getJson<Page>(`/api/alerts?limit=200${query}`),
      ({ data }) => data.every(({ title }) => title !== null),
      { what: "a reading of every alert" },
    );
    titles.push(...page.data.map(({ title }) => String(title)));
    cursor = page.meta.nextCursor;
  }
  return titles;
}
