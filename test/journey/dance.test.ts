import { expect, it } from "vitest";
import type { ClockedRelay } from "../support/clocked-relay.ts";
import { openRingingWorld } from "../support/ringing-world.ts";

const minute = 60_000;
const hour = 60 * minute;
/** Thirty crossings within 89 seconds. */
const crossings = 30;
const stepMs = 1_480;

interface Found {
  data: {
    deliveries: { destination: string; state: string; reason: string }[];
    decisions: { result: string; reason: string }[];
  };
}

/** A price that sits on its threshold: below it by a little more or less, and above it again. */
async function dance(relay: ClockedRelay): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < crossings; index += 1) {
    const below = 0.2 + ((index * 7) % 5) / 10;
    for (const [status, value] of [
      ["firing", 1_000 - below],
      ["resolved", 1_000 + below / 2],
    ] as const) {
      const body = {
        title: "ONYX price",
        severity: "warning",
        status,
        value,
        threshold: 1_000,
        alertKey: "onyx:price",
      };
      ids.push(...(await relay.post(JSON.stringify(body))).ids);
      await relay.advance(stepMs);
    }
  }
  return ids;
}

it.each([
  ["by default", "", { mails: 12, messages: 12, rings: 6 }, 1],
  ["with again and rearm", ", again: { furtherBy: 5% }, rearm: { backBy: 2% }", { mails: 2, messages: 2, rings: 2 }, 0],
])(
  "a price that dances on its threshold rings seldom %s, and all of it is on record",
  async (_, ringing, most, summaries) => {
    const rules = `routes: [{ name: all, to: [desk, mail, work]${ringing} }]`;
    const { relay, slack, rings, ...world } = await openRingingWorld({ rules });
    const ids = await dance(relay);
    const mails = () => world.mails().filter(({ subject }) => subject.includes("ONYX"));
    await relay.advance(minute);
    expect(mails().length).toBeLessThanOrEqual(most.mails);
    expect(slack.seen.length).toBeLessThanOrEqual(most.messages);
    expect(rings()).toBeLessThanOrEqual(most.rings);

    const found = await Promise.all(ids.map((id) => relay.getJson<Found>(`/api/alerts/${id}`)));
    expect(found).toHaveLength(2 * crossings);
    const held = found.filter(({ data }) => data.decisions.some(({ result }) => result === "damped"));
    expect(held.length).toBeGreaterThan(40);
    for (const { data } of held) {
      for (const { reason } of data.decisions) expect(reason).toMatch(/does not ring: ./);
      expect(data.deliveries.length).toBeGreaterThanOrEqual(3);
    }

    const before = mails().length;
    await relay.set(7 * hour);
    await relay.advance(minute);
    const states = await Promise.all(ids.map((id) => relay.getJson<Found>(`/api/alerts/${id}`)));
    expect(new Set(states.flatMap(({ data }) => data.deliveries.map(({ state }) => state)))).toEqual(
      new Set(["sent", "digested"]),
    );
    expect(mails().length - before).toBe(summaries);
    expect(mails().length).toBeLessThanOrEqual(most.mails);
    expect(slack.seen.length).toBeLessThanOrEqual(most.messages);

    // What no message told is told by the next one, and what a summary told is not told again.
    await relay.post(
      JSON.stringify({ title: "ONYX price", severity: "warning", value: 999.8, alertKey: "onyx:price" }),
    );
    await relay.advance(minute);
    expect(mails().at(-1)?.text.includes("🔕 Before it, 29 since")).toBe(summaries === 0);
    await relay.stop();
  },
);
