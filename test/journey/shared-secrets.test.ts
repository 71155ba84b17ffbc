import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { makePostgresDatabase, runSql } from "../support/postgres.ts";
import { type RelayProcess, startRelayProcess } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

/** Relays that have nothing but the address of a database, and a command line on yet another machine. */
async function createWorld() {
  const url = await makePostgresDatabase();
  const start = () => {
    const folder = makeTempFolder();
    writeFileSync(join(folder, "tocsin.yaml"), "sources: { forge: {} }\n");
    const nothing = { DATA_DIR: "", WEBHOOK_SECRET: "", ADMIN_TOKEN: "" };
    return startRelayProcess(folder, { ...nothing, DATABASE_URL: url }).then((relay) => ({ relay, folder }));
  };
  const elsewhere = makeTempFolder();
  writeFileSync(join(elsewhere, "tocsin.yaml"), "sources: { forge: {} }\n");
  const env = { DATABASE_URL: url, PUBLIC_URL: "https://alerts.example.com" };
  const run = (...argv: string[]) => runTocsin(argv, { env, cwd: elsewhere });
  return { url, start, run, elsewhere };
}

const postTo = async ({ url }: RelayProcess, secret: string) =>
  (await fetch(`${url}/hooks/${secret}`, { method: "POST", body: '{"title":"x"}' })).status;

it("relays without a folder make one set of secrets, follow a rotation, and write nothing to disk", async () => {
  const { url, start, run, elsewhere } = await createWorld();
  const started = await Promise.all([start(), start()]);
  const relays = started.map(({ relay }) => relay);
  const rows = await runSql<{ name: string; content: string }>(url, "SELECT name, content FROM kept_records");
  const kept = new Map(rows.map(({ name, content }) => [name, content.trim()]));
  expect([...kept.keys()].sort()).toEqual(["secrets/admin-token", "secrets/source-forge", "secrets/webhook-secret"]);
  const hook = kept.get("secrets/webhook-secret") ?? "";
  const token = kept.get("secrets/admin-token") ?? "";
  for (const relay of relays) {
    expect(await postTo(relay, hook)).toBe(202);
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${relay.url}/api/status`, { headers })).status).toBe(200);
    expect((await run("status", "--json", "--url", relay.url)).json().data).toMatchObject({ running: true });
  }

  const addressOf = async () => (await run("sources", "--reveal", "--json")).json().data[0].address as string;
  const secretIn = (address: string) => address.slice(address.lastIndexOf("/") + 1);
  const first = secretIn(await addressOf());
  expect(first).toBe(kept.get("secrets/source-forge"));
  expect((await run("sources", "--rotate", "forge")).status).toBe(0);
  const second = secretIn(await addressOf());
  expect(second).not.toBe(first);
  for (const relay of relays) {
    await expect.poll(() => postTo(relay, second)).toBe(202);
    expect(await postTo(relay, first)).toBe(202);
  }
  const third = await start();
  expect([await postTo(third.relay, first), await postTo(third.relay, second)]).toEqual([202, 202]);
  expect((await run("sources", "--retire", "forge")).stderr).toContain("404 from now on");
  for (const relay of [...relays, third.relay]) await expect.poll(() => postTo(relay, first)).toBe(404);

  expect((await run("check")).stdout).toMatch(/database +PostgreSQL tocsin_test_/);
  expect((await run("check", "--json")).json().data.server.dataDir).toBeUndefined();
  for (const { relay } of [...started, third]) expect(await relay.stop()).toBe(0);
  for (const { folder } of [...started, third]) expect(readdirSync(folder)).toEqual(["tocsin.yaml"]);
  expect(readdirSync(elsewhere)).toEqual(["tocsin.yaml"]);
  const logs = [...relays, third.relay].map((relay) => relay.log()).join("");
  for (const secret of [hook, token, first, second]) expect(logs).not.toContain(secret);
});

it("a relay goes on where it was killed, without a folder, once its leases have ended", async () => {
  const { url, start } = await createWorld();
  const killed = await start();
  const [{ content = "" } = {}] = await runSql<{ content: string }>(
    url,
    "SELECT content FROM kept_records WHERE name = 'secrets/webhook-secret'",
  );
  expect(await postTo(killed.relay, content.trim())).toBe(202);
  await killed.relay.kill();
  // As if it had ended between its answer and routing, under an identity that no process has again, and long ago.
  await runSql(url, "UPDATE alerts SET routed_at = NULL");
  await runSql(url, "UPDATE lanes SET lease_until = clock_timestamp()");
  const next = await start();
  await expect.poll(() => runSql(url, "SELECT 1 FROM alerts WHERE routed_at IS NULL")).toEqual([]);
  expect(await next.relay.stop()).toBe(0);
});

it.each([
  [["sources", "--reveal"]],
  [["sources", "--rotate", "forge"]],
  [["setup", "--dry-run"]],
  [["setup", "--restore"]],
  [["status"]],
  [["doctor"]],
  [["test"]],
])("%j says in one line that the database is away", async (argv) => {
  const folder = makeTempFolder();
  writeFileSync(join(folder, "tocsin.yaml"), "sources: { forge: {} }\n");
  const env = {
    DATABASE_URL: "postgres://tocsin:canary-password@127.0.0.1:1/tocsin",
    PORT: "1",
    ALERTING_URL: "http://127.0.0.1:1",
    ALERTING_API_KEY: "canary-key",
    PUBLIC_URL: "https://alerts.example.com",
  };
  const { status, stdout, stderr } = await runTocsin(argv, { env, cwd: folder });
  expect(status).not.toBe(0);
  expect((stdout + stderr).replaceAll(/\s+/g, " ")).toContain("The database tocsin at 127.0.0.1:1 cannot be used");
  expect(stdout + stderr).not.toMatch(/canary|\n {4}at /);
  expect(readdirSync(folder)).toEqual(["tocsin.yaml"]);
});
