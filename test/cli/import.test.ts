import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { firstIdAt } from "../../src/core/id.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { runTocsin } from "../support/cli.ts";
import { killAtEachStep } from "../support/killed-runs.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createRelayWorld } from "./relay-world.ts";

const lines = (path: string) =>
  readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

/** A log of several kinds of alerts, exported. */
async function exported() {
  const world = await createRelayWorld();
  const ids = [
    ...(await world.post({ title: "TVL fell", severity: "critical", token: "USDC" })),
    ...(await world.post([
      { title: "first of two", severity: "warning" },
      { title: "second of two", severity: "info" },
    ])),
    ...(await world.post(
      { title: "known by its key", severity: "warning" },
      { "idempotency-key": "k1", "content-type": "application/json" },
    )),
  ];
  for (const id of ids) await world.ended(id);
  const file = join(world.dataDir, "all.ndjson");
  const argv = ["alerts", "export", "--format", "ndjson", "--full", "--output", file];
  const run = await world.run([...argv, "--json"]);
  expect(run.stderr).toBe("");
  expect(run.json().data).toMatchObject({ alerts: ids.length });
  return { world, ids, file, argv };
}

function elsewhere() {
  const dataDir = makeTempFolder();
  // No relay is asked: another one may run on this machine, at the usual port.
  const env = { DATA_DIR: dataDir, PORT: "9" };
  const run = (...argv: string[]) => runTocsin([...argv, "--json"], { env, cwd: dataDir });
  const open = () => openLocalStore({ path: join(dataDir, "tocsin.db"), ballastBytes: 0 });
  return { dataDir, run, open };
}

describe("alerts export --full and alerts import", () => {
  it("take a whole log over into an empty one: the same ids, bodies, decisions and attempts, found by search", async () => {
    const { ids, file } = await exported();
    const there = elsewhere();
    expect((await there.run("alerts", "import", file)).json().data).toMatchObject({
      imported: ids.length,
      present: 0,
      unrouted: 0,
      ended: 0,
    });
    const again = join(there.dataDir, "again.ndjson");
    const before = await there.run("alerts", "export", "--format", "ndjson", "--full", "--output", again);
    expect(before.status).toBe(0);
    // Of pictures only the relay that sends them knows.
    const comparable = (alert: { version: number; url: string; deliveries: object[] }) => ({
      ...alert,
      version: 0,
      url: "",
      deliveries: alert.deliveries.map((delivery) => ({ ...delivery, picture: undefined })),
    });
    expect(lines(again).map(comparable)).toEqual(lines(file).map(comparable));
    const store = there.open();
    await store.maintain(0);
    expect((await store.listAlerts({ limit: 9, q: "second of two" })).map(({ id }) => id)).toEqual([ids[2]]);
    expect(await store.listUnrouted(9, Number.MAX_SAFE_INTEGER)).toEqual([]);
    expect(await store.countAlerts()).toMatchObject({ total: ids.length, kept: ids.length });
    await store.close();
    expect((await there.run("alerts", "import", file)).json().data).toMatchObject({ imported: 0, present: ids.length });
  });

  it("put each alert at the place of its time among those of another log", async () => {
    const { world, ids, file } = await exported();
    await world.stopRelay();
    const [newest, ...older] = lines(file);
    const there = elsewhere();
    const [even, odd] = [0, 1].map((rest) => {
      const path = join(there.dataDir, `${rest}.ndjson`);
      const part = [newest, ...older].filter((_, index) => index % 2 === rest);
      writeFileSync(path, part.map((alert) => `${JSON.stringify(alert)}\n`).join(""));
      return path;
    }) as [string, string];
    await there.run("alerts", "import", even);
    await there.run("alerts", "import", odd);
    const store = there.open();
    await store.maintain(0);
    const listed = await store.listAlerts({ limit: 9 });
    expect(listed.map(({ id }) => id)).toEqual([...ids].sort().reverse());
    const [third] = listed.slice(1);
    const since = await store.listAlerts({ limit: 9, fromAt: third?.receivedAt });
    expect(since.map(({ id }) => id)).toContain(third?.id);
    const found = await store.listAlerts({ limit: 9, q: "of two" });
    expect(found.map(({ id }) => id).sort()).toEqual([ids[1], ids[2]].sort());
    for (const id of ids) {
      const detail = await store.getAlert(id);
      expect(detail?.deliveries.length).toBe(lines(file).find((alert) => alert.id === id).deliveries.length);
    }
    await store.close();
  });

  it("send nothing: what had not ended is expired, and what was not routed is left out", async () => {
    const { file } = await exported();
    const [alert, other] = lines(file);
    const open = { ...alert.deliveries[0], state: "waiting", dueAt: alert.receivedAt, finishedAt: undefined };
    const ofThen = [{ route: "r", result: "sent", reason: "" }];
    const changed = [
      { ...alert, decisions: ofThen, deliveries: [{ ...open, channel: "pager" }] },
      { ...other, routedAt: null, facts: null, title: null, severity: null, status: null, deliveries: [] },
    ];
    const there = elsewhere();
    const path = join(there.dataDir, "open.ndjson");
    writeFileSync(path, changed.map((one) => `${JSON.stringify(one)}\n`).join(""));
    const { data } = (await there.run("alerts", "import", path)).json();
    expect(data).toMatchObject({ imported: 1, unrouted: 1, ended: 1 });
    const store = there.open();
    expect(await store.listDue("ops", Number.MAX_SAFE_INTEGER, 9)).toEqual([]);
    expect((await store.getAlert(alert.id))?.deliveries[0]).toMatchObject({ state: "expired" });
    await store.close();
  });

  it("change nothing for a file with a bad line, and beside a running relay", async () => {
    const { world, file } = await exported();
    const beside = await world.run(["alerts", "import", file, "--json"]);
    expect(beside).toMatchObject({ status: 1 });
    expect(beside.json().error).toMatchObject({ code: "store_locked" });
    const there = elsewhere();
    const path = join(there.dataDir, "bad.ndjson");
    for (const bad of ["{", "{}", JSON.stringify({ ...lines(file)[0], decisions: undefined }), "\0".repeat(99)]) {
      writeFileSync(path, `${JSON.stringify(lines(file)[1])}\n${bad}\n`);
      const run = await there.run("alerts", "import", path);
      expect(run.status).toBe(1);
      expect(run.json().error.message).toMatch(/bad\.ndjson, line 2: /);
    }
    const store = there.open();
    expect((await store.countAlerts()).total).toBe(0);
    await store.close();
    expect((await there.run("alerts", "import", "missing.ndjson")).json().error.message).toMatch(
      /cannot be read \(ENOENT\)/,
    );
    const csv = await there.run("alerts", "export", "--format", "csv", "--full", "--output", "x.csv");
    expect(csv.status).toBe(2);
  });

  it("refuse a file that was cut, edited or is another program's, and say what is wrong in one line", async () => {
    const { world, file } = await exported();
    await world.stopRelay();
    const there = elsewhere();
    const path = join(there.dataDir, "edited.ndjson");
    const all = lines(file);
    const [newest] = all;
    const sent = all.find((alert) => alert.deliveries.length > 0);
    const write = (...alerts: unknown[]) =>
      writeFileSync(path, alerts.map((one) => `${JSON.stringify(one)}\n`).join(""));
    const whole = readFileSync(file, "utf8");
    const cases: [RegExp, () => void][] = [
      [/line 4: it: /, () => writeFileSync(path, whole.slice(0, -200))],
      [/line 1: its id is of another time/, () => write({ ...newest, receivedAt: "2020-01-01T00:00:00.000Z" })],
      [/line 1: its id is none/, () => write({ ...newest, id: `${newest.id.slice(0, 14)}4${newest.id.slice(15)}` })],
      [
        /line 1: it cannot be alert 7 of 3/,
        () => write({ ...newest, request: { ...newest.request, item: 7, items: 3 } }),
      ],
      [/cannot be alert 1 of 1000000000/, () => write({ ...newest, request: { ...newest.request, items: 1e9 } })],
      [
        /alert \S+: UNIQUE constraint failed: deliveries.id/,
        () => write(...all.slice(0, 2).map((alert) => ({ ...alert, deliveries: sent.deliveries.slice(0, 1) }))),
      ],
      [/line 1: it is longer than any alert/, () => writeFileSync(path, "x".repeat(33 * 1024 * 1024))],
      [/line 1: /, () => writeFileSync(path, readFileSync(join(world.dataDir, "tocsin.db")))],
    ];
    for (const [wanted, make] of cases) {
      make();
      const run = await there.run("alerts", "import", path);
      expect.soft(run.status, String(wanted)).toBe(1);
      expect.soft(run.json().error.message).toMatch(wanted);
      expect.soft(run.json().error.code, String(wanted)).toBe("invalid_request");
    }
    const store = there.open();
    expect((await store.countAlerts()).total).toBe(0);
    await store.close();
  });

  it("take a file with a byte order mark, the lines of another system, and the same alert twice", async () => {
    const { ids, file } = await exported();
    const there = elsewhere();
    const path = join(there.dataDir, "edited.ndjson");
    const text = readFileSync(file, "utf8").replaceAll("\n", "\r\n");
    writeFileSync(path, `\ufeff${text}\r\n${text}`);
    const { data } = (await there.run("alerts", "import", path)).json();
    expect(data).toMatchObject({ imported: ids.length, present: ids.length });
  });

  it("say how many are older than what is kept, since they are removed again", async () => {
    const { file } = await exported();
    const there = elsewhere();
    const old = lines(file).map((alert) => {
      const at = "2025-01-01T00:00:00.000Z";
      const id = `${firstIdAt(Date.parse(at)).slice(0, 14)}${alert.id.slice(14)}`;
      return { ...alert, id, receivedAt: at, deliveries: [] };
    });
    const path = join(there.dataDir, "old.ndjson");
    writeFileSync(path, old.map((one) => `${JSON.stringify(one)}\n`).join(""));
    expect((await there.run("alerts", "import", path)).json().data).toMatchObject({ imported: 4, old: 4 });
    const told = await runTocsin(["alerts", "import", path], { env: { DATA_DIR: elsewhere().dataDir } });
    expect(told.stdout).toMatch(/4 alerts of them are removed again soon after the start: kept is 90 days/);
  });

  it("leave no note of what was being read, since it names alerts by places that are others now", async () => {
    const { file } = await exported();
    const there = elsewhere();
    const [newest, ...older] = lines(file);
    const paths = [newest, ...older].map((alert, index) => {
      const path = join(there.dataDir, `${index}.ndjson`);
      writeFileSync(path, `${JSON.stringify(alert)}\n`);
      return path;
    });
    const note = join(there.dataDir, "tocsin.db.reading");
    await there.run("alerts", "import", paths[0] as string);
    writeFileSync(note, "1;");
    await there.run("alerts", "import", paths[0] as string);
    expect(existsSync(note)).toBe(true);
    await there.run("alerts", "import", paths[1] as string);
    expect(existsSync(note)).toBe(false);
  });

  it("leave the log as it was when killed at any step, and work the next time", async () => {
    const { ids, file } = await exported();
    const seen = new Set<number>();
    const idsOf = async (dataDir: string) => {
      const store = openLocalStore({ path: join(dataDir, "tocsin.db"), ballastBytes: 0 });
      const listed = await store.listAlerts({ limit: 9 });
      await store.close();
      return listed.map(({ id }) => id);
    };
    const half = join(makeTempFolder(), "half.ndjson");
    writeFileSync(half, `${JSON.stringify(lines(file)[0])}\n`);
    const { dataDir, run } = elsewhere();
    await run("alerts", "import", half);
    await killAtEachStep(["alerts", "import", file, "--json"], dataDir, async (when) => {
      const found = await idsOf(dataDir);
      seen.add(found.length);
      expect(when === "done" ? [ids.length] : [1, ids.length]).toContain(found.length);
    });
    expect(seen).toEqual(new Set([1, ids.length]));
  });
});
