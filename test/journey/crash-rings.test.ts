import { expect, it } from "vitest";
import { createJourneyWorld, deskChat, mailAddress, readAlerts } from "../support/journey-world.ts";
import { postUntilKilled } from "../support/posting.ts";
import { type RelayProcess, waitUntil } from "../support/relay-process.ts";
import { createSeededRandom } from "../support/seeded-random.ts";

/** `npm run test:long -- sweeps` makes 50. */
const rounds = Number(process.env.TOCSIN_RING_KILLS ?? 5);

interface Alert {
  id: string;
  title: string | null;
  routedAt: string | null;
  deliveries: { destination: string; state: string; damped?: { by?: string; count: number } }[];
}

/** Alerts of one key from three senders, and a SIGKILL at a random moment, again and again: what rang, what is held back and what is counted agree. */
it(`rings four times through ${rounds} kills, and counts each other alert once`, async () => {
  const random = createSeededRandom(20261127);
  const world = await createJourneyWorld({
    chat: { limited: false },
    yaml: `
destinations:
  desk: { type: telegram, chatId: "${deskChat}", chart: false }
  mail: { type: email, to: [${mailAddress}], chart: false }
routes:
  - { name: all, to: [desk, mail] }
delivery: { ambiguous: { wait: 1s } }
`,
  });
  const acknowledged: string[] = [];

  const onyx = { title: "ONYX price", severity: "warning", status: "firing", threshold: 1_000, alertKey: "onyx" };
  const bodyOf = () => ({ ...onyx, value: 999 + random.below(9) / 10 });
  const sendUntilKilled = (relay: RelayProcess) => postUntilKilled(relay, acknowledged, bodyOf, () => random.below(15));

  for (let round = 0; round < rounds; round += 1) {
    const relay = await world.start({ LOG_LEVEL: "error" });
    const before = acknowledged.length;
    const sending = Array.from({ length: 3 }, () => sendUntilKilled(relay));
    await expect.poll(() => acknowledged.length).toBeGreaterThanOrEqual(before + 1 + random.below(20));
    await relay.kill();
    await Promise.all(sending);
  }

  const relay = await world.start({ LOG_LEVEL: "error" });
  const alerts = await waitUntil(
    () => readAlerts<Alert>(relay),
    (all) =>
      all.every(({ routedAt, deliveries }) => routedAt !== null && deliveries.every(({ state }) => isOver(state))),
    "an end of all but what is held",
  );
  const stored = new Set(alerts.map(({ id }) => id));
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  // What was being read at three kills goes out as it came, and is of no key (docs/adr/0009).
  const ofKey = alerts.filter(({ title }) => title === "ONYX price");
  expect(alerts.length - ofKey.length).toBeLessThanOrEqual(1);
  for (const destination of ["desk", "mail"]) {
    const own = ofKey.map(({ deliveries }) => deliveries.filter((one) => one.destination === destination));
    expect(own.filter(({ length }) => length === 0)).toEqual([]);
    const damped = own.filter((deliveries) => deliveries.some(({ damped }) => damped?.by !== undefined));
    // In the chat quick repeats only change its first message, which is neither.
    if (destination === "mail") expect(damped).toHaveLength(ofKey.length - 4);
    // One summary waits, and counts all of them.
    const held = own.flat().filter(({ state }) => state === "held");
    expect(held.map(({ damped }) => damped?.count)).toEqual([damped.length]);
  }
  const sounds = world.chat
    .messages(deskChat)
    .filter(({ silent, text }) => !silent && !text.includes("possible repeat"));
  expect(sounds.length).toBeLessThanOrEqual(4);
}, 1_200_000);

/** A mail that may have arrived waits for minutes. */
const isOver = (state: string): boolean => ["sent", "digested", "held", "waiting"].includes(state);
