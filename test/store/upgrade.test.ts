import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { loadOrCreateSecrets } from "../../src/config/generated-secrets.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { startRelay } from "../../src/start/relay.ts";
import { keptFiles } from "../../src/store/kept-files.ts";
import { createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { createMailboxStandIn } from "../../workshop/mailbox/mailbox-stand-in.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { readingThreadEntry } from "../support/reader.ts";
import { waitUntil } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

/**
 * A database that the relay of commit 0a9fe3b wrote, brought to version 19 as that of 3fde4bbc does it, and what its log said when it was
 * closed (`at`), oldest alert first. Alerts were posted to its hook with the configuration below: sent, updated, resolved, in a batch,
 * unreadable, repeated by key and by body, muted, dropped, wanted by nobody, held, failed with a fallback, resent,
 * digested, and waiting for a chat that asked for an hour. It was then left as a crash leaves it: an alert that was
 * claimed, and one that was not routed.
 */
const fixture = (ending: string) => readFileSync(new URL(`../fixtures/databases/0a9fe3b.${ending}`, import.meta.url));

const [{ at }, ...former] = fixture("ndjson")
  .toString()
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line)) as [{ at: number }, ...Former[]];

interface Former {
  id: string;
  title: string | null;
  receivedAt: number;
  duplicates?: number;
  conflict?: boolean;
  unmatched?: boolean;
  dropped?: boolean;
  deliveries: string[];
}

const token = "7700:upgrade-bot-token-canary";
const yaml = `
defaults: { digestOver: 3 }
destinations:
  desk: { type: telegram, chatId: "-1001700000001" }
  ops: { type: telegram, chatId: "-1001700000002", onAmbiguous: hold }
  night: { type: telegram, chatId: "-1001700000003", quietHours: { from: "00:00", to: "23:59", except: [] } }
  gone: { type: telegram, chatId: "-1001700000004" }
  flooded: { type: telegram, chatId: "-1001700000005" }
  away: { type: ntfy, server: "http://127.0.0.1:9", topic: alerts }
  mail: { type: email, to: [risk@desk.example] }
routes:
  - { name: flooded, match: { token: FLOODED }, to: [flooded] }
  - { name: both, match: { severity: critical }, to: [desk, mail] }
  - { name: rest, match: { severity: { not: info } }, to: [desk] }
`;

/** Two hours later: what waited for an hour is due, and keys and bodies of then are still remembered. */
function clockAfter(instant: number): Clock {
  const ahead = instant + 2 * 3_600_000 - Date.now();
  return { ...systemClock, now: () => Date.now() + ahead };
}

async function startOn(clock: Clock) {
  const dataDir = makeTempFolder();
  writeFileSync(join(dataDir, "tocsin.db"), gunzipSync(fixture("db.gz")), { mode: 0o600 });
  writeFileSync(join(dataDir, "tocsin.yaml"), yaml);
  const chats = [1, 2, 3, 4, 5].map((number) => ({ id: `-100170000000${number}`, title: `Chat ${number}` }));
  const chat = await createChatStandIn({ now: clock.now, tokens: [token], chats });
  const mailbox = await createMailboxStandIn({ now: clock.now });
  const env = {
    ...{ PORT: "0", DATA_DIR: dataDir, TOCSIN_CONFIG: join(dataDir, "tocsin.yaml") },
    ...{ TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_ROOT: chat.url },
    ...{ SMTP_URL: mailbox.smtpUrl, EMAIL_FROM: "Tocsin <alerts@tocsin.example>" },
  };
  const config = loadConfig({ env, cwd: dataDir });
  const secrets = await loadOrCreateSecrets(keptFiles(dataDir), config);
  const threads = { storeThreadEntry: compiledThread(), readingThreadEntry };
  const relay = await startRelay({ config, secrets, clock, log: silentLog, ...threads });
  onTestFinished(async () => {
    await relay.stop();
    await chat.close();
    await mailbox.close();
  });
  return {
    store: relay.store,
    async post(body: unknown, headers: Record<string, string> = {}) {
      const response = await fetch(`${relay.localUrl}/hooks/${secrets.webhookSecret.reveal()}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      return ((await response.json()) as { data: { id: string; duplicate: boolean } }).data;
    },
    /**
     * In which chats and mailboxes this title was read since. Notices that ask people about an alert are none of its
     * messages.
     */
    seen: (title: string) => [
      ...chats.flatMap(({ id }) =>
        chat
          .messages(id)
          .filter(({ text }) => text.includes(title) && !text.includes("reach ops?"))
          .map(() => id),
      ),
      ...mailbox
        .mails()
        .filter(({ subject }) => subject.includes(title))
        .map(() => "mail"),
    ],
  };
}

const isOver = (state: string) => !["queued", "waiting", "sending"].includes(state);

it("takes over a database of the version before: shows all of it, sends what waited once, and repeats nothing", async () => {
  const clock = clockAfter(at);
  const { store, post, seen } = await startOn(clock);
  const show = async (id: string) =>
    (await store.getAlert(id))?.deliveries.map(
      ({ destination, recipient, state, purpose, attempts }) =>
        `${destination} ${recipient}: ${state} by ${purpose}, ${attempts.length} attempts`,
    );

  const waiting = new Map([
    ["Waiting for the flood 1", "flooded -1001700000005: sent by alert, 2 attempts"],
    ["Waiting for the flood 2", "flooded -1001700000005: sent by alert, 1 attempts"],
    ["Claimed when it died", "ops -1001700000002: held by alert, 1 attempts"],
    [null, "desk -1001700000001: sent by alert, 1 attempts"],
  ] as [string | null, string][]);
  for (const { id, title, deliveries, ...rest } of former) {
    const ended = waiting.get(title);
    const alert = await waitUntil(
      () => store.getAlert(id),
      (now) => now?.routedAt !== undefined && now.deliveries.every(({ state }) => isOver(state)),
      `the end of ${title}`,
    );
    const { receivedAt, request, facts } = alert ?? {};
    expect.soft(facts?.title).toBe(title ?? "Not routed yet");
    const { duplicates, conflict } = request ?? {};
    const before = { receivedAt: rest.receivedAt, duplicates: rest.duplicates, conflict: rest.conflict };
    expect.soft({ receivedAt, duplicates, conflict }).toEqual(before);
    expect.soft([alert?.unmatched, alert?.dropped]).toEqual([rest.unmatched === true, rest.dropped === true]);
    const attempts = alert?.deliveries.flatMap((delivery) => delivery.attempts.map(({ detail }) => detail));
    expect
      .soft(await show(id), `${title}: ${attempts?.join("; ")}`)
      .toEqual(ended === undefined ? deliveries : [ended]);
  }

  // The log goes on where it was: its pages, its search, its changes, its keys.
  // Notices about what was held and failed are stored meanwhile, each when it is its time.
  const { listed } = await waitUntil(
    async () => ({ listed: await store.listAlerts({ limit: 200 }), ...(await store.countAlerts()) }),
    (now) => now.listed.length === now.total,
    "a log that counts what it lists",
  );
  const oldest = listed.toReversed().slice(0, former.length);
  expect(oldest.map(({ id }) => id)).toEqual(former.map(({ id }) => id));
  const changed = new Set((await store.listChanges(undefined, 200)).map(({ id }) => id));
  expect(listed.filter(({ id }) => !changed.has(id))).toEqual([]);
  expect((await store.listAlerts({ limit: 9, q: "burst 5" })).map(({ facts }) => facts?.title)).toEqual(["Burst 5"]);
  const later = new Set((await store.listAlerts({ limit: 200, fromAt: former[9]?.receivedAt })).map(({ id }) => id));
  expect(listed.filter(({ id }) => !later.has(id)).map(({ id }) => id)).toEqual(listed.slice(-9).map(({ id }) => id));
  expect(await store.hasKey("ended-session", "fixture-session", clock.now())).toBe(true);
  expect(await store.listMutes(clock.now(), true)).toMatchObject([{ reason: "works on the pools" }]);

  // Repeats of what came before the upgrade: by its key, and by a body that names its own event.
  const keyed = former.find(({ title }) => title === "Sent once by its key");
  const byKey = { title: "Sent once by its key", severity: "warning" };
  expect(await post(byKey, { "idempotency-key": "event-1" })).toEqual({ id: keyed?.id, duplicate: true });
  const timestamp = "2026-11-21T12:00:00Z";
  await post({ title: "Sent once by its body", severity: "warning", eventId: "evt-77", timestamp });
  const last = await post({ title: "The first after the upgrade", severity: "warning" });
  await waitUntil(
    () => show(last.id),
    (now) => now?.[0]?.includes(": sent ") === true,
    "a new alert sent",
  );

  const sentTo = (title: string | null) => (waiting.get(title)?.includes(": sent ") ? 1 : 0);
  for (const { title } of former)
    expect.soft(seen(title ?? "Not routed yet").length, String(title)).toBe(sentTo(title));
});
