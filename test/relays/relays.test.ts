import { expect, it } from "vitest";
import { runKillJourney } from "./kill-journey.ts";
import { runRolling } from "./rolling.ts";

/** `npm run test:relays` does so for five minutes, at random and with relays that stand still, and replaces all relays as often as one likes. */
it("delivers all that three relays have taken, through a kill, a cut and a restart of PostgreSQL", async () => {
  const outcome = await runKillJourney({
    seed: 20261123,
    seconds: 10,
    perSecond: 12,
    faults: ["restartPostgres", "sever", "kill"],
  });
  expect(outcome.findings).toEqual([]);
  expect(outcome.accepted).toBeGreaterThan(100);
});

it("loses and doubles nothing of a sender that never repeats while both relays are replaced and put back", async () => {
  const { sent, findings } = await runRolling({ seed: 20261123, rounds: 1, perSecond: 10, relays: 2 });
  expect(findings).toEqual([]);
  expect(sent).toBeGreaterThan(100);
});
