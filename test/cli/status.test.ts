import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { expectWords } from "../support/expect-words.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
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
