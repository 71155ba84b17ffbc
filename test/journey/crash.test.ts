import { expect, it } from "vitest";
import type { StandInMessage } from "../../workshop/chat/world.ts";
import { type ApiAlert, createHookWorld, deskChat } from "../support/journey-world.ts";
import { postUntilKilled } from "../support/posting.ts";
import type { RelayProcess } from "../support/relay-process.ts";
import { createSeededRandom } from "../support/seeded-random.ts";

/** `npm run test:long -- sweeps` makes 200, and a fourth as many between commit and call. */
const rounds = Number(process.env.TOCSIN_CRASH_KILLS ?? 12);
const seed = 20261121;
const killBeforeCall = new URL("../support/kill-before-call.mjs", import.meta.url).href;

/**
 * P1, P4 and P5 under SIGKILL at random moments: everything acknowledged is delivered, and it is repeated only where an
 * attempt was ambiguous, and marked so. Two planted bugs make this fail: answering before the commit, and repeating
 * without the mark.
 */
it(`delivers everything it acknowledged through ${rounds} kills, and marks each repeat`, async () => {
  const random = createSeededRandom(seed).next;
  const { receiver, ...world } = await createHookWorld({
    longestMs: 25,
    chat: { limited: false },
    more: `  desk: { type: telegram, chatId: "${deskChat}", digestOver: 1000 }
routes:
  - { name: sample, match: { payload.sample: true }, to: [desk, hook] }
  - { name: rest, to: [hook] }
delivery:
  ambiguous: { wait: 1s, repeats: 10 }
  schedule: [1s]
  thenEvery: 1s
  webhook: { schedule: [1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s] }
  breaker: { failures: 1000 }
`,
  });
  const env = { LOG_LEVEL: "error" };
  const acknowledged: string[] = [];
  let serial = 0;

  const bodyOf = () => {
    serial += 1;
    return { title: `Alert ${serial}`, eventId: `crash-${serial}`, sample: serial % 100 === 0 };
  };
  const sendUntilKilled = (relay: RelayProcess) => postUntilKilled(relay, acknowledged, bodyOf, () => random() * 20);

  for (let round = 0; round < rounds; round += 1) {
    const relay = await world.start(env);
    const before = acknowledged.length;
    const sending = Array.from({ length: 4 }, () => sendUntilKilled(relay));
    await new Promise((resolve) => setTimeout(resolve, 30 + random() * 250));
    // On a busy machine nothing has come by then: each other round goes on until something has.
    if (round % 2 === 1) await expect.poll(() => acknowledged.length).toBeGreaterThanOrEqual(before + 3);
    await relay.kill();
    await Promise.all(sending);
  }

  const relay = await world.start(env);
  await expect.poll(() => countUnsettled(relay)).toBe(0);
  expect(acknowledged.length).toBeGreaterThan(rounds);

  const seen = new Map<string, { times: number; marked: number }>();
  for (const { alertIds, markedRepeat } of receiver.received) {
    for (const id of alertIds) {
      const entry = seen.get(id) ?? { times: 0, marked: 0 };
      seen.set(id, { times: entry.times + 1, marked: entry.marked + (markedRepeat ? 1 : 0) });
    }
  }
  const lost = acknowledged.filter((id) => !seen.has(id));
  expect(await Promise.all(lost.map((id) => relay.getJson(`/api/alerts/${id}`)))).toEqual([]);
  const unmarked = [...seen].filter(([, { times, marked }]) => times - marked > 1);
  expect(unmarked).toEqual([]);
  for (const [id, { times, marked }] of seen) {
    if (times === 1 && marked === 0) continue;
    const { data } = await relay.getJson<{ data: ApiAlert }>(`/api/alerts/${id}`);
    const attempts = data.deliveries.find(({ destination }) => destination === "hook")?.attempts ?? [];
    expect(attempts.some(({ outcome }) => outcome === "ambiguous")).toBe(true);
  }
  expectMarkedInChat(world.chat.messages(deskChat), acknowledged);
}, 1_200_000);

it("marks nothing whose call had not left, through kills between the commit and the call", async () => {
  const { receiver, ...world } = await createHookWorld({ longestMs: 1 });
  const env = { LOG_LEVEL: "error" };
  const acknowledged: string[] = [];
  for (let round = 0; round < rounds / 4; round += 1) {
    const relay = await world.start({ ...env, NODE_OPTIONS: `--import ${killBeforeCall}` });
    relay.process.kill("SIGUSR2");
    while (relay.process.exitCode === null && relay.process.signalCode === null) {
      const body = JSON.stringify({ title: `Alert ${round}`, severity: "critical" });
      const answer = await relay.post(body).catch(() => undefined);
      if (answer?.status === 202) acknowledged.push(...answer.ids);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  const relay = await world.start(env);
  await expect.poll(() => countUnsettled(relay)).toBe(0);
  const arrived = receiver.arrived();
  expect(acknowledged.filter((id) => !arrived.includes(id))).toEqual([]);
  expect(new Set(arrived).size).toBe(arrived.length);
  expect(arrived.length).toBeGreaterThanOrEqual(rounds / 4);
  expect(receiver.received.filter(({ markedRepeat }) => markedRepeat)).toEqual([]);
}, 1_200_000);

async function countUnsettled(relay: RelayProcess): Promise<number> {
  // In this order: what is routed between the two questions is counted by the second.
  const unrouted = await relay.getJson<{ data: unknown[] }>("/api/alerts?state=unrouted&limit=1");
  const { data } = await relay.getJson<{ data: { counts: Record<string, number> }[] }>("/api/destinations");
  const waiting = data.map(({ counts }) => (counts.queued ?? 0) + (counts.waiting ?? 0) + (counts.sending ?? 0));
  return unrouted.data.length + waiting.reduce((sum, count) => sum + count, 0);
}

function expectMarkedInChat(messages: StandInMessage[], acknowledged: string[]): void {
  for (const id of acknowledged) {
    const about = messages.filter(({ entities }) => JSON.stringify(entities).includes(`/alerts/${id}`));
    expect(about.filter(({ text }) => !text.includes("possible repeat")).length).toBeLessThanOrEqual(1);
  }
}
