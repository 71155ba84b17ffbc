import { expect, it } from "vitest";
import { RefusalCounts } from "../../src/intake/door/refusals.ts";

it("what is turned away is counted by why and by the hour, and forgotten after a day", () => {
  const hour = 3_600_000;
  let at = Date.UTC(2026, 10, 21, 12);
  const counts = new RefusalCounts(() => at);
  const of = (reason: string) => counts.view().find((one) => one.reason === reason);
  expect(of("too_large")).toEqual({ reason: "too_large", total: 0, day: 0, lastAt: undefined });
  counts.note("unknown_secret");
  at += 10 * hour;
  counts.note("unknown_secret");
  counts.note("compressed");
  expect(of("unknown_secret")).toEqual({ reason: "unknown_secret", total: 2, day: 2, lastAt: at });
  at += 14 * hour;
  expect(of("unknown_secret")).toMatchObject({ total: 2, day: 1 });
  at += 40 * hour;
  expect(of("unknown_secret")).toMatchObject({ total: 2, day: 0 });
  counts.note("unknown_secret");
  expect([of("unknown_secret")?.day, of("compressed")?.total]).toEqual([1, 1]);
});
