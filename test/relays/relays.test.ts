import { expect, it } from "vitest";
import { runKillJourney } from "./kill-journey.ts";
import { runRolling } from "./rolling.ts";

/** `npm run test:relays` does so for five minutes, at random, and replaces all relays as often as one likes. */
it("delivers all that three relays have taken, through kills, a restart of PostgreSQL and a relay that stands still", async () => {
  const outcome = await runKillJourney({
    seed: 20261123,
    seconds: 50,
    perSecond: 8,
    faults: ["restartPostgres", "sever", "kill", "breakWhileFrozen"],
  });
  expect(outcome.findings).toEqual([]);
  expect(outcome.accepted).toBeGreaterThan(100);
});

it("loses and doubles nothing of a sender that never repeats while all relays are replaced and put back", async () => {
  const { sent, findings } = await runRolling({ seed: 20261123, rounds: 1, perSecond: 10 });
  expect(findings).toEqual([]);
  expect(sent).toBeGreaterThan(100);
});
