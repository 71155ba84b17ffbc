import { expect, it } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { silentLog } from "../../src/core/log.ts";
import { openConfigurationWatch } from "../../src/watch/configuration.ts";
import { createTestClock } from "../support/test-clock.ts";

const second = 1_000;

it("tells once that the file is gone, and not while an editor puts another in its place", async () => {
  const clock = createTestClock();
  let onDisk: "same" | "gone" = "same";
  const told: AlertFacts[] = [];
  const watch = await openConfigurationWatch({
    look: () => ({ file: "/etc/tocsin.yaml", onDisk }),
    store: { loadWatchState: async () => undefined, saveWatchState: async () => {} },
    notify: async (facts) => void told.push(facts),
    publicUrl: "https://tocsin.example",
    clock,
    log: silentLog,
  });
  const ending = new AbortController();
  const running = watch.run(ending.signal);
  const leave = async (state: typeof onDisk, ms: number) => {
    onDisk = state;
    await clock.advance(ms);
  };
  await leave("gone", 3 * second);
  await leave("same", 10 * second);
  expect(told).toEqual([]);
  await leave("gone", 60 * second);
  expect(told).toMatchObject([{ title: "The configuration file is gone, or cannot be read", severity: "warning" }]);
  expect(told[0]?.text).toContain("/etc/tocsin.yaml: the configuration that was read before stays in force");
  expect(watch.view()).toMatchObject({ verdict: "trouble" });
  await leave("same", 10 * second);
  expect(told.slice(1)).toMatchObject([{ title: "The configuration file on disk is in force", status: "resolved" }]);
  ending.abort();
  await running;
});
