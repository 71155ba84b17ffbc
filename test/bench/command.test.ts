import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { compare, type Remark, type Report, type Sample } from "../../bench/harness/bench.ts";
import { joinRuns, mergeRuns, type Run, replaceTable, toMarkdown } from "../../bench/harness/report.ts";
import { quantile, spreadOf } from "../../bench/harness/statistics.ts";
import { lookUp } from "../../bench/harness/stored.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

beforeEach(() => {
  // What it says as it goes.
  vi.spyOn(console, "error").mockImplementation(() => {});
});

function bench(...input: string[]) {
  return spawnSync(process.execPath, ["--import", "tsx", "bench/main.ts", ...input], { encoding: "utf8" });
}

test.each([
  ["--only relay,intake", "--only: relay is none of relay-webhook, "],
  ["--rounds none", "--rounds none is no number from 1 on"],
  ["--against /nowhere", "there is no folder /nowhere"],
  ["--quickly", "Unknown option '--quickly'"],
])("says what is wrong with %s, and measures nothing", (input, message) => {
  const { status, stdout, stderr } = bench(...input.split(" "));
  expect(stderr).toContain(`error: ${message}`);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
});

test("refuses to measure where a sync costs nothing", () => {
  const { status, stderr } = bench("--folder", "/dev/shm");
  expect(stderr).toContain("/dev/shm is on a tmpfs, where a sync costs nothing");
  expect(status).toBe(2);
});

test("puts the table where it belongs and keeps what people wrote", () => {
  const document = readFileSync("docs/measurements.md", "utf8");
  const once = replaceTable(document, "| a table |");
  expect(once).toContain("\n| a table |\n");
  expect(replaceTable(once, "| another |")).toBe(once.replace("| a table |", "| another |"));
  const [head = "", tail = ""] = once.split("\n| a table |\n");
  expect(document.startsWith(head) && document.endsWith(tail)).toBe(true);
  expect(() => replaceTable("no place", "| a table |")).toThrow("it has no place for the table");
});

function inTurn(...samples: Sample[]) {
  let round = -1;
  return () => {
    round += 1;
    return Promise.resolve(samples[round] ?? {});
  };
}

test("compares what ran in the same round, with the spread", async () => {
  const report: Report = { rows: [], notes: [], errors: [], failures: [] };
  await compare(report, "some", {
    title: "relay",
    rounds: 3,
    contenders: [
      { name: "Tocsin", run: inTurn({ rate: 10 }, { rate: 30 }, { rate: 20 }) },
      { name: "peer", run: inTurn({ rate: 10 }, { rate: 10 }, { rate: 40 }) },
    ],
    figures: [
      { of: "rate", label: "alerts/s" },
      { of: "absent", label: "absent" },
    ],
  });
  expect(report.rows).toMatchObject([
    {
      subject: { median: 20, least: 10, most: 30 },
      beside: [{ name: "peer", ratio: { median: 1, least: 0.5, most: 3 } }],
    },
  ]);
  expect(report.errors).toEqual([]);
});

test("a lost or doubled alert of Tocsin is an error, and 503s are told", async () => {
  const report: Report = { rows: [], notes: [], errors: [], failures: [] };
  await compare(report, "some", {
    title: "relay",
    rounds: 1,
    contenders: [
      { name: "Tocsin", run: inTurn({ missing: 2, doubled: 1, refused: 7 }) },
      { name: "peer", run: inTurn({ missing: 3 }) },
    ],
    figures: [],
  });
  const textsOf = (remarks: Remark[]) => remarks.map(({ text }) => text);
  expect(textsOf(report.errors)).toEqual([
    "relay, Tocsin, round 1: 2 alerts lost",
    "relay, Tocsin, round 1: 1 alerts doubled",
  ]);
  expect(textsOf(report.notes)).toEqual([
    "relay, Tocsin, round 1: 7 alerts answered 503, not counted as accepted",
    "relay, peer, round 1: 3 alerts lost",
  ]);
});

/** A run of one comparison, Tocsin's part of which is this; its peer always has a rate of 10. */
async function runOf(scenario: string, startedAt: string, run: () => Promise<Sample>): Promise<Run> {
  const report: Report = { rows: [], notes: [], errors: [], failures: [] };
  await compare(report, scenario, {
    title: `the ${scenario}`,
    rounds: 2,
    contenders: [
      { name: "Tocsin", run },
      { name: "peer", run: inTurn({ rate: 10 }, { rate: 10 }) },
    ],
    figures: [{ of: "rate", label: "alerts/s" }],
  });
  // How busy this machine's host is.
  for (const row of report.rows) row.steal = 0;
  const machine = { processor: "", cores: 2, memoryGb: 1, load: 0, kernel: "", node: "", tocsin: "", commit: "abc" };
  const sync = { median: 1, least: 1, most: 1 };
  return {
    machine: { ...machine, alertmanager: "" },
    sync,
    startedAt,
    seconds: 60,
    rounds: 2,
    scenarios: [scenario],
    report,
  };
}

test("a run that fails is named, and takes no figure from the others", async () => {
  let calls = 0;
  const run = await runOf("relay", "2026-11-22T08:00:00Z", async () => {
    calls += 1;
    if (calls === 1) throw new Error("the load's process ended");
    return { rate: 30 };
  });
  expect(run.report.rows).toMatchObject([
    { failed: 1, subject: { median: 30 }, beside: [{ spread: { median: 10 }, ratio: { median: 3 } }] },
  ]);
  const table = toMarkdown(run);
  expect(table).toContain("| 30.0 (1 round FAILED) |");
  expect(table).toContain("**FAILED: the relay, Tocsin, round 1: the load's process ended**");
});

test("who never ends is too late, and is not asked again", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const never = vi.fn(() => new Promise<Sample>(() => {}));
  const running = runOf("relay", "2026-11-22T08:00:00Z", never);
  await vi.runAllTimersAsync();
  const { report } = await running;
  expect(never).toHaveBeenCalledOnce();
  expect(report.failures).toMatchObject([{ isLate: true, text: "the relay, Tocsin, round 1: not done in 120 s" }]);
  expect(report.rows).toMatchObject([{ failed: 2, beside: [{ spread: { median: 10 } }] }]);
});

test("puts the last run of each scenario in the table, as its files hold them", async () => {
  const broken = await runOf("storm", "2026-11-22T08:00:00Z", () => Promise.reject(new Error("broken")));
  const relay = await runOf("relay", "2026-11-22T08:10:00Z", inTurn({ rate: 20 }, { rate: 20 }));
  const storm = await runOf("storm", "2026-11-22T08:20:00Z", inTurn({ rate: 50 }, { rate: 50 }));
  const read = (run: Run) => JSON.parse(JSON.stringify(run)) as Run;
  expect(toMarkdown(read(broken))).toContain("| - (2 rounds FAILED) |");
  const merged = mergeRuns([read(broken), read(relay), read(storm)], ["relay", "storm"]);
  expect(merged.report.failures).toEqual([]);
  expect(merged.report.rows.map(({ title, subject }) => [title, subject.median])).toEqual([
    ["the relay", 20],
    ["the storm", 50],
  ]);
  expect(toMarkdown(merged)).toContain("by itself: storm, 2026-11-22 08:20 UTC");
});

test("a figure of several runs has the least and the most of all their rounds", async () => {
  const one = await runOf("relay", "2026-11-22T08:10:00Z", inTurn({ rate: 20 }, { rate: 30 }));
  const other = await runOf("relay", "2026-11-23T09:00:00Z", inTurn({ rate: 5 }, { rate: 15 }));
  const joined = joinRuns([one, JSON.parse(JSON.stringify(other))]);
  expect(joined.report.rows).toMatchObject([
    {
      subject: { median: 17.5, least: 5, most: 30 },
      beside: [{ spread: { median: 10, least: 10, most: 10 }, ratio: { median: 1.75, least: 0.5, most: 3 } }],
    },
  ]);
  expect(toMarkdown(joined)).toContain("- and 2026-11-23 09:00 UTC, 2 rounds, at abc");
});

test("the median of two is between them, and the 99th of a hundred has one above it", () => {
  expect(spreadOf([4, Number.NaN, 1])).toEqual({ median: 2.5, least: 1, most: 4 });
  expect(spreadOf([]).median).toBeNaN();
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
  expect([quantile(hundred, 0.5), quantile(hundred, 0.99), quantile(hundred, 0.95)]).toEqual([50, 99, 95]);
});

test("looks each alert up by its number, so that another that is there hides none that is lost", async () => {
  const folder = makeTempFolder();
  const store = openLocalStore({ path: join(folder, "tocsin.db"), ballastBytes: 0 });
  const named = (serial: number) => ({ title: `Alert bench-${String(serial).padStart(12, "0")}` });
  const bodies = [named(1), [named(2), named(3)], { title: "A notice" }, named(5)];
  for (const [index, body] of [...bodies, named(5)].entries()) {
    const ids = (Array.isArray(body) ? body : [body]).map(
      (_, item) => `01a20000-0000-7000-8000-${String(10 * index + item).padStart(12, "0")}`,
    );
    const request = { receivedAt: 1_795_000_000_000 + index, headers: "[]", ids, origin: "hook" as const };
    await store.acceptRequest({ ...request, body: Buffer.from(JSON.stringify(body)), dedupeWindowMs: 0 });
  }
  expect(lookUp(folder, [1, 2, 3, 4, 5])).toEqual({ missing: 1, doubled: 1 });
  await store.close();
});
