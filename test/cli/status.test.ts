import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { expectWords } from "../support/expect-words.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { type FakeStatus, runBeside } from "./fake-status.ts";
import { createRelayWorld, passTimeWhen } from "./relay-world.ts";

it("says what a stopped relay has left, and fails", async () => {
  const world = await createRelayWorld({ env: { SMTP_URL: "smtp://127.0.0.1:9" } });
  const [id = ""] = await world.post({ title: "One", severity: "critical" });
  const time = passTimeWhen(async () => {
    const counted = await world.relay.store.countByDestination();
    return counted.find(({ destination }) => destination === "mail")?.counts.waiting === 2;
  });
  await world.run("test --severity critical --timeout 2s", time);
  await world.stopRelay();
  const run = await world.run("status");
  expect(run).toMatchObject({ status: 1, stdout: expect.stringMatching(/^relay +not running/) });
  expectWords(run.stdout, [/kept +2, the oldest /, /mail +email +failing: no message taken +0 +2 +0 +0/]);
  expect(id).not.toBe("");
  const data = await world.data("status");
  expect(data).toMatchObject({ running: false, alerts: { total: 2 }, queue: { waiting: 2 } });
  expect(Object.keys(data.disk)).toEqual(["databaseBytes", "freeBytes"]);
  expect(data).not.toHaveProperty("relay");
});

it("asks the relay, and does not look into a database file", async () => {
  const world = await createRelayWorld({ env: { PUBLIC_URL: "https://alerts.example.com" } });
  await world.post({ title: "One", severity: "critical" });
  const elsewhere = makeTempFolder();
  writeFileSync(join(elsewhere, "tocsin.db"), "no database");
  const token = readFileSync(join(world.dataDir, "secrets", "admin-token"), "utf8").trim();
  const env = { PORT: world.env.PORT ?? "", DATA_DIR: elsewhere, ADMIN_TOKEN: token };
  for (const argv of [["status"], ["status", "--url", world.relay.localUrl]]) {
    const run = await runTocsin([...argv, "--json"], { env, cwd: elsewhere });
    expect(run.status).toBe(0);
    expect(run.json().data).toMatchObject({
      publicUrl: "https://alerts.example.com",
      hook: "https://alerts.example.com/hooks/***",
      store: { alerts: 1, freeBytes: expect.any(Number), databaseBytes: expect.any(Number) },
    });
  }
});

it("says the mistake of a broken file, and how the relay is that runs with the one before it", async () => {
  const world = await createRelayWorld();
  const cwd = makeTempFolder();
  writeFileSync(join(cwd, "tocsin.yaml"), "routes:\n  - { to: desk, matches: a=b }\n");
  const run = (argv: string[]) => runTocsin(argv, { env: { ...world.env, TOCSIN_CONFIG: "tocsin.yaml" }, cwd });
  const status = await run(["status"]);
  expect(status.status).toBe(0);
  expectWords(status.stdout, [/Refused: tocsin\.yaml:2:\d+: .*did you mean match/, /^relay +running at .*, ready$/m]);
  expect((await run(["status", "--json"])).json().data).toMatchObject({
    running: true,
    mistakes: expect.arrayContaining([expect.stringContaining("tocsin.yaml:2:")]),
  });
  const doctor = await run(["doctor"]);
  expect(doctor.status).toBe(1);
  expectWords(doctor.stdout, [/✗ configuration: tocsin\.yaml:2:\d+: .*matches/, /✓ relay: running at .*, ready/]);
  expect((await run(["alerts", "list"])).status).toBe(0);
  await world.stopRelay();
  expect((await run(["status"])).stdout).toMatch(/no relay starts with it\.\n(?:.*\n)*relay +not running/m);
});

it("says why nothing is known where neither a relay answers nor its database can be read", async () => {
  const folder = makeTempFolder();
  writeFileSync(join(folder, "tocsin.db"), "no database");
  const run = await runTocsin(["status"], { env: { PORT: "9", DATA_DIR: folder }, cwd: folder });
  expect(run).toMatchObject({ status: 1, stdout: expect.stringMatching(/^relay +not running/) });
  expect(run.stderr).toContain(join(folder, "tocsin.db"));
});

const ask = (state: FakeStatus) => runBeside(state, ["status"]);

it("what the relay says of itself is shown with the reasons why it is not ready, and is a failure", async () => {
  const reasons = ["the disk is full: new alerts are answered 503", "alerts cannot be read: no threads"];
  const run = await ask({ relay: { ready: false, reasons, unreadableAlerts: 2 } });
  expect(run).toMatchObject({ status: 1, stdout: expect.stringContaining(`NOT READY, running at ${run.url}`) });
  expectWords(run.stdout, [`Not ready: ${reasons.join("; ")}.`, /unreadable +2 since the start/]);
  expect(run.stdout).toMatch(/^this command +Tocsin \d/m);
});

it("what the relay says of itself says how it hears of other relays, where there can be some", async () => {
  expect((await ask({})).stdout).not.toContain("hear of each other");
  const listening = await ask({ relay: { hearing: { by: "listen", isPooled: false } } });
  expect(listening.stdout).toMatch(/^Relays hear of each other at once \(LISTEN\)\./m);
});

it("what the relay says of itself has a line for each relay and each trouble", async () => {
  const at = "2026-11-21T12:00:00.000Z";
  const relay = (name: string) => ({
    ...{ id: name, name, version: "0.0.9", startedAt: at, seenAt: at, isSelf: name === "fra-1", watches: false },
    ...{ configuration: "newest" as const, configurationVersion: 1, ready: true, reasons: [], destinations: [] },
  });
  const troubles = ["desk is down", "night is down"].map((what) => ({
    ...{ kind: "destination" as const, level: "bad" as const, what, notes: [] },
    name: what.split(" ")[0],
  }));
  const relays = [relay("fra-1"), { ...relay("fra-2"), unheardMs: 9_000 }];
  const { stdout } = await ask({ relays, troubles });
  expectWords(stdout, [/^✕ desk is down → \S*tocsin destinations try desk\n/, /^Also wrong\n- night is down\n/m]);
  expect(stdout).toMatch(/^fra-1 \(this one\) +ready; .*\nfra-2 +not heard of for 9 s; /m);
});

it("what the relay says of itself cannot be had of one that is too old to say it", async () => {
  const run = await ask(undefined);
  expect(run).toMatchObject({ status: 1, stdout: "" });
  expectWords(run.stderr, [`the relay at ${run.url} is older than this command`, "restart it with this version"]);
});

it("what the relay says of itself says what each watch finds, what to do, and when the key ends", async () => {
  const at = "2026-11-21T11:58:00.000Z";
  const keyExpiresAt = "2026-11-27T00:00:00.000Z";
  const summary = "The account's webhook was switched off";
  const troubles = [`${summary}. Put it back with: tocsin setup --take-over.`];
  const { stdout } = await ask({
    account: { serviceConfigured: true, canPutBack: true, answer: { at, webhook: "nowhere", keyExpiresAt } },
    watches: [{ name: "account", verdict: "trouble", summary, troubles, lookedAt: at }],
  });
  expect(stdout).toMatch(
    /^account +trouble\. The account's webhook was switched off\. Put it back with: \S*tocsin setup --take-over\. Account not said; sends to no webhook; .*; key expires \S+ \(in 6 d\); looked 2 min ago$/m,
  );
});

it("what the relay says of itself says of each watch of silence what it knows, in a line however long its name is", async () => {
  const common = { since: "2026-11-01T12:00:00.000Z", quietMs: 60_000 };
  const learning = { days: 42, daysNeeded: 14, arrivals: 6, arrivalsNeeded: 30, isReading: false };
  const weekly = { watch: "source:x", of: "source", name: `Weekly \u001b[31m${"report ".repeat(9)}` } as const;
  const { stdout } = await ask({
    silence: [
      { ...common, watch: "hook", of: "hook", state: "silent", lastAt: "2026-11-21T12:00:00.000Z", afterMs: 60_000 },
      { ...common, ...weekly, state: "learning", learning },
    ],
    canary: { schedule: "every 1 h", state: "waiting", nextAt: "2026-11-21T12:00:00.000Z" },
  });
  expect(stdout).toMatch(/^The account's hook +silent; last alert .*; notice sent not yet$/m);
  expect(stdout).toMatch(
    /^source Weekly \\x1b\[31mreport .*… {2}learning; last alert none since .*\. Learning since .* too rare for auto: write a time\.$/m,
  );
  expect(stdout).toMatch(/^The way from the public address +waiting; last arrived not yet; next /m);
  expect(Math.max(...stdout.split("\n").map((line) => line.search(/ {2}\S/)))).toBeLessThanOrEqual(50);
});
