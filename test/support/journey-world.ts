import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createIdSource } from "../../src/core/id.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { type ChatStandInOptions, createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { createMailboxStandIn } from "../../workshop/mailbox/mailbox-stand-in.ts";
import { createDeliveryReceiver } from "./delivery-receiver.ts";
import { type RelayProcess, startRelayProcess, waitUntil } from "./relay-process.ts";
import { makeTempFolder } from "./temp-folder.ts";

export const botToken = "7700:canary-bot-token-0123456789abcdefghij";
export const deskChat = "-1001700000001";
export const opsChat = "-1001700000002";
export const mailAddress = "risk@desk.example";

/** A strict stand-in of the Bot API and a mail server, and the variables that lead a relay to them. */
export async function openStandIns(options: Partial<ChatStandInOptions> = {}) {
  const chats = Object.entries({ [deskChat]: "Desk", [opsChat]: "Operations" }).map(([id, title]) => ({ id, title }));
  const chat = await createChatStandIn({ now: Date.now, tokens: [botToken], chats, ...options });
  const mailbox = await createMailboxStandIn({ now: Date.now });
  onTestFinished(async () => {
    await chat.close();
    await mailbox.close();
  });
  const env: Record<string, string> = {
    ...{ TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_API_ROOT: chat.url },
    ...{ SMTP_URL: mailbox.smtpUrl, EMAIL_FROM: "Tocsin <alerts@tocsin.example>" },
  };
  return { chat, mailbox, env };
}

/** These, and an empty data folder. `yaml` becomes the configuration file. */
export async function createJourneyWorld(options: { yaml?: string; chat?: Partial<ChatStandInOptions> } = {}) {
  const dataDir = makeTempFolder();
  const { chat, mailbox, env } = await openStandIns(options.chat);
  Object.assign(env, { TELEGRAM_CHAT_IDS: `${deskChat},${opsChat}`, EMAIL_TO: mailAddress });
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

/** A journey's world whose one destination, unless `more` has others, is a webhook that notes what arrives. */
export async function createHookWorld({ longestMs = 0, more = "", chat, databaseUrl }: HookWorldOptions = {}) {
  const receiver = await createDeliveryReceiver({ longestMs, random: Math.random });
  const hook = `hook: { type: webhook, url: "${receiver.url}", allowInternal: ["127.0.0.1"], digestOver: 1000 }`;
  const world = await createJourneyWorld({ yaml: `destinations:\n  ${hook}\n${more}`, chat });
  Object.assign(world.env, { TELEGRAM_CHAT_IDS: "", EMAIL_TO: "", ...(databaseUrl && { DATABASE_URL: databaseUrl }) });
  return { ...world, receiver, arrived: receiver.arrived };
}

interface HookWorldOptions {
  /** How long an answer takes at most. Default: none waits. */
  longestMs?: number;
  /** The rest of the configuration file: more destinations, then what else there is. */
  more?: string;
  chat?: Partial<ChatStandInOptions>;
  /** Default: SQLite. */
  databaseUrl?: string;
}

/** As if each had been posted to a relay that died before it routed any. Their ids. */
export async function storeUnrouted(dataDir: string, bodies: string[]): Promise<string[]> {
  const store = openLocalStore({ path: join(dataDir, "tocsin.db"), ballastBytes: 0 });
  const ids = bodies.map(createIdSource(Date.now));
  const accepted = ids.map((id, index) => {
    const request = { receivedAt: Date.now(), headers: "[]", body: Buffer.from(bodies[index] ?? ""), ids: [id] };
    return store.acceptRequest({ ...request, origin: "hook", dedupeWindowMs: 1 });
  });
  await Promise.all(accepted);
  await store.close();
  return ids;
}

export type JourneyWorld = Awaited<ReturnType<typeof createJourneyWorld>>;

export interface ApiDelivery {
  destination: string;
  channel: string;
  state: string;
  purpose?: string;
  attempts?: { at: string; outcome: string; reason?: string; detail?: string }[];
}

export type ApiAlert = { id: string; title?: string; deliveries: ApiDelivery[] };

/** Waits until every delivery of the alert has this state. */
export const waitForState = (relay: RelayProcess, id: string, state: string): Promise<ApiAlert> =>
  waitUntil(
    async () => (await relay.getJson<{ data: ApiAlert }>(`/api/alerts/${id}`)).data,
    (alert) => alert.deliveries.length > 0 && alert.deliveries.every((delivery) => delivery.state === state),
    `every delivery ${state}`,
  );

/** All stored alerts, newest first. */
export async function readAlerts<Alert>(relay: RelayProcess): Promise<Alert[]> {
  const alerts: Alert[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query: string = cursor && `&cursor=${encodeURIComponent(cursor)}`;
    type Page = { data: Alert[]; meta: { nextCursor: string | null } };
    const page: Page = await relay.getJson<Page>(`/api/alerts?limit=200${query}`);
    alerts.push(...page.data);
    cursor = page.meta.nextCursor;
  }
  return alerts;
}

/** The titles of all stored alerts, newest first, when each has been read. */
export async function readTitles(relay: RelayProcess): Promise<string[]> {
  const isRead = (all: { title: string | null }[]) => all.every(({ title }) => title !== null);
  const alerts = await waitUntil(() => readAlerts<{ title: string | null }>(relay), isRead, "a reading of each");
  return alerts.map(({ title }) => String(title));
}
