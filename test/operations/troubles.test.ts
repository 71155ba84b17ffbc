import { expect, it } from "vitest";
import type { DestinationView } from "../../src/contract/operations.ts";
import type { StoreHealth } from "../../src/core/ports/administration.ts";
import { createTroubles, type TroublesDeps } from "../../src/operations/troubles.ts";
import { judged } from "../../src/vendors/verdict.ts";
import { createTestClock, minute } from "../support/test-clock.ts";

const clock = createTestClock();
const now = clock.now();
const well: StoreHealth = { writable: true, full: false, unrouted: 0, bytes: 1 };

const destination = (over: Partial<DestinationView>): DestinationView =>
  judged({
    name: "desk",
    channel: "telegram",
    recipients: ["-100"],
    health: "ok",
    reason: "",
    definedAt: "tocsin.yaml:4",
    counts: {},
    ...over,
  });

function troublesOf(over: Partial<TroublesDeps> & { views?: DestinationView[]; store?: StoreHealth } = {}) {
  const { look, forget } = createTroubles({
    destinations: async () => over.views ?? [],
    lastAlertAt: async () => undefined,
    watches: () => [],
    silence: () => [],
    canary: () => undefined,
    canPutBack: () => false,
    health: async () => over.store ?? well,
    readerProblem: () => undefined,
    clock,
    ...over,
  });
  return { list: async () => (await look()).troubles, look, forget };
}

const wordsOf = async (troubles: ReturnType<typeof troublesOf>) =>
  (await troubles.list()).map(({ what, notes }) => [what, ...notes].join(", "));

it("what is wrong now is nothing while all is well, however much was held or sent", async () => {
  const views = [
    destination({ counts: { sent: 9, held: 3, muted: 2 } }),
    destination({ name: "new" }),
    destination({ name: "shaky", health: "degraded", since: now - minute, reason: "500" }),
    destination({ name: "quiet", counts: { held: 4 }, oldestWaitingAt: now - 600 * minute }),
    destination({ name: "paced", counts: { queued: 4 }, oldestWaitingAt: now - minute }),
  ];
  const store = { ...well, unrouted: 3, oldestUnroutedAt: now - 1_000 };
  const heartbeat = { name: "heartbeat", verdict: "unknown" as const, summary: "it was not sent yet", troubles: [] };
  const night = { watch: "route:night", of: "route", name: "night", since: 0, quietMs: 185 * minute } as const;
  const silence = (["muted", "watching", "learning"] as const).map((state) => ({ ...night, state, alertKey: "k" }));
  const troubles = troublesOf({ views, store, watches: () => [heartbeat], silence: () => silence });
  expect(await troubles.list()).toEqual([]);
});

it("what is wrong now is what is resent, until it has arrived", async () => {
  const resending = { made: 1_042, arrived: 7, since: now - 5_000 };
  const views = [
    destination({ counts: { queued: 40 }, oldestWaitingAt: now - 5_000, resending }),
    destination({ name: "gone", health: "down", since: now - minute, reason: "500", resending }),
  ];
  const troubles = troublesOf({ views });
  expect(await wordsOf(troubles)).toEqual(["gone is down, 7 of 1,042 resent", "7 of 1,042 resent to desk"]);
  expect((await troubles.list())[1]).toMatchObject({ kind: "resending", level: "warn", since: now - 5_000 });
});

it("what is wrong now is amber where a watch has seen it once, red where it is certain, with when and what was answered", async () => {
  const refused = { name: "account", verdict: "trouble" as const, summary: "the key is refused", troubles: ["…"] };
  const said = { since: now - minute, reason: "The API key has expired" };
  const [first] = await troublesOf({
    watches: () => [{ ...refused, ...said, level: "warn", note: "it is asked again" }],
  }).list();
  expect(first).toMatchObject({ level: "warn", ...said, notes: ["it is asked again"] });
  const [certain] = await troublesOf({ watches: () => [{ ...refused, ...said }] }).list();
  expect(certain).toMatchObject({ level: "bad", ...said, notes: [] });
});

it("what is wrong now is a full disk once, as the store says it", async () => {
  const disk = { name: "disk", verdict: "trouble" as const, summary: "The disk of Tocsin is full", troubles: ["…"] };
  const of = (full: boolean) => wordsOf(troublesOf({ watches: () => [disk], store: { ...well, full } }));
  expect(await of(true)).toEqual(["The disk is full, new alerts are answered 503 until there is room"]);
  expect(await of(false)).toEqual(["The disk of Tocsin is full"]);
});

it("what is wrong now is what the spool cannot read back, and the files where that is kept, though nothing waits", async () => {
  const spool = { alerts: 0, bytes: 0, maxBytes: 1, stuck: 0, unreadable: 2, damagedFiles: ["/spool/1.damaged"] };
  expect(await wordsOf(troublesOf({ spool: () => spool }))).toEqual([
    "2 alerts in the spool of this relay cannot be read: the disk is damaged, what is left is in /spool/1.damaged: look there, then move it away",
  ]);
  const earlier = { ...spool, unreadable: 0 };
  expect(await wordsOf(troublesOf({ spool: () => earlier }))).toHaveLength(1);
  expect(await wordsOf(troublesOf({ spool: () => ({ ...earlier, damagedFiles: [] }) }))).toEqual([]);
});

it("what is wrong now is said with what comes of it, worst first and the longest first of a kind", async () => {
  const views = [
    destination({ name: "slow", counts: { waiting: 1_200 }, oldestWaitingAt: now - 11 * minute }),
    destination({
      name: "shaky",
      health: "degraded",
      since: now - 6 * minute,
      lastSentAt: now - minute,
      reason: "500",
    }),
    destination({ name: "mute", health: "degraded", since: now - 5.5 * minute, lastSentAt: now - 9 * minute }),
    destination({ name: "mail", health: "paused", since: now - minute, counts: { waiting: 2 } }),
    destination({ name: "moved", paused: { at: now - 9 * minute, by: "page" }, counts: { queued: 6 } }),
    destination({ name: "picky", counts: { sent: 8, failed: 1, expired: 1 }, lastFailedAt: now - 23 * 60 * minute }),
    destination({ name: "deaf", counts: { failed: 1 }, lastFailedAt: now - minute }),
    destination({ name: "old", counts: { sent: 8, failed: 3 }, lastFailedAt: now - 24 * 60 * minute }),
    destination({ health: "dead", since: now - 5 * minute, counts: { failed: 2, expired: 1 }, reason: "kicked" }),
  ];
  const troubles = troublesOf({
    views,
    store: { ...well, full: true, writable: false, unrouted: 7, oldestUnroutedAt: now - 2 * minute },
    watches: () => [{ name: "account", verdict: "trouble", summary: "the webhook is off", troubles: ["…"] }],
    canPutBack: (source) => source === undefined,
    canary: () => ({ schedule: "every 1 h", state: "fails", nextAt: now, since: now, stage: "tls", detail: "old" }),
    silence: () => [{ watch: "hook", of: "hook", state: "silent", since: 0, quietMs: 185 * minute, alertKey: "k" }],
    readerProblem: () => "no threads",
  });
  expect(await wordsOf(troubles)).toEqual([
    "The disk is full, new alerts are answered 503 until there is room",
    "Alerts cannot be read: no threads, they are sent as received",
    "desk is dead, 3 not delivered",
    "mail is refused, 2 waiting",
    "2 messages were not delivered to picky",
    "1 message was not delivered to deaf, nothing has arrived there yet",
    "the webhook is off",
    "Tests do not get through the public address",
    "Nothing has come for 3 h 5 min",
    "1,200 messages wait for slow",
    "7 alerts are not routed yet",
    "moved is paused, 6 waiting",
    "shaky fails at times",
    "mute has taken no message",
  ]);
  const [, , dead, , , , watch] = await troubles.list();
  expect(dead).toMatchObject({ name: "desk", since: now - 5 * minute, failed: 3, reason: "kicked", level: "bad" });
  expect(watch).toMatchObject({ kind: "watch", canPutBack: true });
});

it("what is wrong now tells a log without an alert from one that could not be looked at", async () => {
  const lastOf = async (lastAlertAt: TroublesDeps["lastAlertAt"]) =>
    (await troublesOf({ lastAlertAt }).look()).lastAlertAt;
  expect(await lastOf(async () => undefined)).toBeNull();
  expect(await lastOf(() => Promise.reject(new Error("busy")))).toBeUndefined();
});

it("what is wrong now is also said when the database does not answer, without keeping a page waiting for it", async () => {
  const own = createTestClock();
  const troubles = troublesOf({
    clock: own,
    health: () => new Promise(() => {}),
    destinations: () => Promise.reject(new Error("closed")),
  });
  const asked = troubles.list();
  await own.advance(1_000);
  expect((await asked).map(({ what }) => what)).toEqual(["The database does not answer"]);
});

it("what is wrong now asks each second, however many look", async () => {
  const own = createTestClock();
  let looks = 0;
  const troubles = troublesOf({
    clock: own,
    destinations: async () => {
      looks += 1;
      return [];
    },
  });
  for (let reader = 0; reader < 50; reader += 1) await troubles.list();
  expect(looks).toBe(1);
  await own.advance(1_000);
  await troubles.list();
  expect(looks).toBe(2);
  troubles.forget();
  await troubles.list();
  expect(looks).toBe(3);
});
