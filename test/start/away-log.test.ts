import { expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { createAwayLog } from "../../src/start/away-store.ts";
import { createTestClock } from "../support/test-clock.ts";

const gone = new AppError("store_unavailable", "The database does not answer (ECONNREFUSED).", { hint: "look" });

function open() {
  const clock = createTestClock();
  const lines: { event: string; [field: string]: unknown }[] = [];
  const debugged: string[] = [];
  let refused = 7;
  const write = (event: string, fields?: object) => void lines.push({ ...fields, event });
  const log = { info: write, warn: write, error: write, debug: (event: string) => void debugged.push(event) };
  const awayLog = createAwayLog({ log, clock, refused: () => refused, spooled: () => undefined });
  const refuse = (source?: string) => {
    awayLog.noteAway(gone);
    refused += 1;
    awayLog.log.error("alert.not_stored", { source, error: gone.message });
  };
  const said = () => lines.splice(0);
  return { ...awayLog, clock, refuse, said, debugged };
}

it("the log while the database is away has a line when it begins, one each 30 s, and one at its end, with all that was refused by source", async () => {
  const { log, refuse, noteStored, clock, said, debugged } = open();
  for (let second = 0; second < 40; second += 1) {
    refuse(second % 4 === 0 ? "git" : undefined);
    log.error("routing.failed", { error: `AppError: ${gone.message}` });
    await clock.advance(1_000);
  }
  expect(said()).toEqual([
    { event: "store.away", error: gone.message, hint: "look" },
    expect.objectContaining({ event: "store.still_away", error: gone.message, awayMs: 30_000, refused: 30 }),
  ]);
  noteStored();
  await clock.advance(10_000);
  expect(said()).toEqual([
    {
      event: "store.back",
      awayMs: 40_000,
      refused: 40,
      refusedOf: { git: 10, hook: 30 },
      leftOut: { "alert.not_stored": 40, "routing.failed": 40 },
    },
  ]);
  expect(debugged).toHaveLength(80);
});

it("the log while the database is away keeps what has another reason, or none, and everything once it is back", async () => {
  const { log, refuse, noteStored, clock, said } = open();
  refuse();
  log.error("alert.not_stored", { error: "whether it has is unknown" });
  log.warn("lane.lost", { why: "its lease" });
  log.info("alert.routed");
  const kept = ["alert.not_stored", "lane.lost", "alert.routed"];
  expect(said().map(({ event }) => event)).toEqual(["store.away", ...kept]);
  noteStored();
  await clock.advance(6_000);
  log.error("routing.failed", { error: gone.message });
  expect(said().map(({ event }) => event)).toEqual(["store.back", "routing.failed"]);
});

it("the log while the database is away does not call it back while some of what is asked fails, and says at a stop what was not said yet", async () => {
  const { refuse, noteStored, clock, said, close, log } = open();
  for (let turn = 0; turn < 8; turn += 1) {
    refuse();
    noteStored();
    await clock.advance(3_000);
  }
  expect(said().map(({ event }) => event)).toEqual(["store.away"]);
  close();
  expect(said()).toEqual([expect.objectContaining({ event: "store.still_away", refused: 8 })]);
  log.error("alert.not_stored", { error: gone.message });
  expect(said()).toHaveLength(1);
});
