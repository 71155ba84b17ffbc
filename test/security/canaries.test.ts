import { setMaxListeners } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, it, vi } from "vitest";
import { buildProgram } from "../../src/cli/program.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { secretTextsOf } from "../../src/config/secret-texts.ts";
import type { KeptRecords } from "../../src/core/ports/kept-records.ts";
import { Secret } from "../../src/core/secret.ts";
import { withKept } from "../../src/store/with-kept.ts";
import { findCanaries, makeCanary } from "../support/canaries.ts";
import { createTestContext, runTocsin } from "../support/cli.ts";
import { makePostgresDatabase, runSql } from "../support/postgres.ts";
import { type RelayProcess, startRelayProcess, waitUntil } from "../support/relay-process.ts";
import { createWebFixture } from "../support/web-fixture.ts";
import { type CanaryWorld, canaries, canaryNames, createCanaryWorld, sendersCanaries } from "./canary-world.ts";

/**
 * Item 12 and P10, over the whole program: every secret option, every kind of success and failure, every place that is
 * seen.
 */
it("shows no secret anywhere, whatever succeeds or fails, at the loudest log level", async () => {
  const world = await createCanaryWorld();
  expectEverySecretIsACanary(world);
  const places = createPlaces();
  const relay = await startRelayProcess(world.dataDir, { ...world.env, LOG_LEVEL: "trace" });

  await sendAsStranger(relay);
  const id = await sendAlert(relay);
  await waitForAttempts(relay, id, world.destinations.length);
  await lookAtHttp(relay, id, places);
  await lookAtCommands(world, relay, id, places);
  places.lookAtFiles(world.dataDir, "while it runs");
  expect(await relay.stop()).toBe(0);
  places.lookAtFiles(world.dataDir, "after it has ended");
  places.look("standard error of serve", relay.log());
  expectOneJsonLineAnEvent(relay.log());

  expect(places.found()).toEqual([]);
  expect(places.count()).toBeGreaterThan(70);
});

/** What is given is in no table; what was made, or set up, is kept in one alone. */
it("leaves no secret in PostgreSQL but those that are kept there, each in its own row", async () => {
  const world = await createCanaryWorld();
  const url = await makePostgresDatabase();
  const database = makeCanary("database", "_-");
  const withPassword = new URL(url);
  // The tests' own server asks for none, and takes any.
  if (withPassword.password === "") withPassword.password = database.value;
  const made = makeCanary("made", "-x7Qp-mW2k-Vd9z");
  const env = { ...world.env, DATABASE_URL: withPassword.href, LOG_LEVEL: "trace", WEBHOOK_SECRET: "" };
  const keep = (kept: KeptRecords) => kept.write("secrets/webhook-secret", `${made.value}\n`);
  await withKept({ databaseUrl: new Secret(url), dataDir: undefined }, keep, { isExisting: false });
  const relay = await startRelayProcess(world.dataDir, env);
  await sendAsStranger(relay);
  const id = await sendAlert(relay, made.value);
  // Those that never answer take longest, and leave what the others leave.
  const isEnough = ({ data }: Delivered) =>
    data.deliveries.filter(({ attempts }) => attempts.length > 0).length > 0.7 * world.destinations.length;
  const readAlert = async () => (await fetch(`${relay.url}/api/alerts/${id}`, { headers: asAdmin })).json();
  await waitUntil(readAlert as () => Promise<Delivered>, isEnough, "an attempt at most destinations");
  const { look, lookAtFiles, found } = createPlaces([...canaryNames, database.name, made.name]);
  const tables = await runSql<{ name: string }>(
    url,
    "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
  );
  for (const { name } of tables) {
    for (const { row } of await runSql<{ row: string }>(url, `SELECT t::text AS row FROM ${name} t`))
      look(`${name}: ${row.slice(0, 60)}`, row);
  }
  const sessions = await runSql<{ row: string }>(
    url,
    "SELECT t::text AS row FROM pg_stat_activity t WHERE datname = current_database()",
  );
  for (const { row } of sessions) look("what the server shows of sessions", row);
  look("/api/status", JSON.stringify(await (await fetch(`${relay.url}/api/status`, { headers: asAdmin })).json()));
  look("/system", await (await fetch(`${relay.url}/api/relays`, { headers: asAdmin })).text());
  await relay.kill();
  look("standard error of serve", relay.log());
  lookAtFiles(world.dataDir, "after a kill");
  expect(found()).toEqual([expect.stringMatching(/^made in kept_records: \(secrets\/webhook-secret,/)]);
  expect(tables.length).toBeGreaterThan(20);
});

/** A new secret option without a canary makes this test fail, so that it is not forgotten. */
function expectEverySecretIsACanary({ env, dataDir }: CanaryWorld): void {
  const config = loadConfig({ env, cwd: dataDir });
  const secrets = { webhookSecret: new Secret(canaries.hook.value), adminToken: new Secret(canaries.admin.value) };
  expect(secretTextsOf(config, secrets).filter((text) => findCanaries(text, canaryNames).length === 0)).toEqual([]);
  const shown = Object.values(canaries).flatMap(({ name }) =>
    Object.values(env).some((value) => findCanaries(value, [name]).length > 0) ? [] : [name],
  );
  expect(shown).toEqual([]);
}

function createPlaces(names = canaryNames) {
  const found: string[] = [];
  let count = 0;
  function look(place: string, content: string | Uint8Array): void {
    count += 1;
    for (const name of findCanaries(content, names)) found.push(`${name} in ${place}: ${excerptOf(content, name)}`);
  }
  function lookAtFiles(folder: string, when: string): void {
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const path = join(folder, name);
      // A relay that runs puts one file in the place of another.
      const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
      if (isFile && existsSync(path)) look(`${name} ${when}`, readFileSync(path));
    }
  }
  return { look, lookAtFiles, found: () => found, count: () => count };
}

type Places = ReturnType<typeof createPlaces>;

function excerptOf(content: string | Uint8Array, name: string): string {
  const text = Buffer.from(content).toString("latin1");
  const at = Math.max(0, text.indexOf(`CANARY${name}`));
  return text.slice(Math.max(0, at - 100), at + 60);
}

/** With what a careless sender and its proxies put into headers. */
async function sendAlert(relay: RelayProcess, hook = canaries.hook.value): Promise<string> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "x-original-uri": `/hooks/${hook}?a=b`,
    referer: `https://alerts.example/hooks/${hook}`,
  };
  for (const [header, { value }] of Object.entries(sendersCanaries)) headers[header] = value;
  const response = await fetch(`${relay.url}/hooks/${hook}`, {
    method: "POST",
    body: JSON.stringify({ title: "TVL of GHO fell", severity: "critical", token: "GHO" }),
    headers,
  });
  expect(response.status).toBe(202);
  return ((await response.json()) as { data: { id: string } }).data.id;
}

/** To a source, with what only its sender's own headers should hold, and without its key. */
async function sendAsStranger(relay: RelayProcess): Promise<void> {
  const headers = {
    authorization: `Basic ${canaries.sourceCheck.value}`,
    "x-original-uri": `/hooks/${canaries.sourceHook.value}`,
  };
  const address = `${relay.url}/hooks/${canaries.sourceHook.value}`;
  const response = await fetch(address, { method: "POST", body: "forged", headers });
  expect(response.status).toBe(401);
  expect(await response.text()).not.toContain("CANARY");
}

const asAdmin = { authorization: `Bearer ${canaries.admin.value}` };

type Delivered = { data: { deliveries: { destination: string; state: string; attempts: { outcome: string }[] }[] } };

/** Until each has had an attempt; what is rejected for its rendering has a second one. */
async function waitForAttempts(relay: RelayProcess, id: string, count: number): Promise<void> {
  const { data } = await waitUntil(
    async () => (await (await fetch(`${relay.url}/api/alerts/${id}`, { headers: asAdmin })).json()) as Delivered,
    ({ data }) =>
      data.deliveries.length === count &&
      data.deliveries.every(({ attempts, state }) => attempts.length > 0 && state !== "sending"),
    "an attempt at every destination",
  );
  const outcomes = new Set(data.deliveries.flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome)));
  expect([...outcomes].sort()).toEqual(["ambiguous", "rejected", "retry", "sent"]);
}

/** Every route of the table that reads, as an administrator, as a logged-in reader and as a stranger. */
async function lookAtHttp(relay: RelayProcess, id: string, places: Places): Promise<void> {
  const login = await fetch(`${relay.url}/login`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: relay.url },
    body: new URLSearchParams({ token: canaries.admin.value }),
  });
  expect(login.status).toBe(303);
  const cookie = login.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  places.look("the login's headers", JSON.stringify([...login.headers]));
  const paths = (await createWebFixture()).web.routes
    .filter((route) => route.startsWith("GET ") && route !== "GET /api/stream")
    .map((route) => route.slice("GET ".length).replace("/:id", `/${id}`).replace("/:file", "/none"));
  const readers: Record<string, Record<string, string>> = { administrator: asAdmin, reader: { cookie }, stranger: {} };
  for (const path of [...paths, "/?q=GHO", "/?state=failed", "/no-such-page", `/api/alerts/none`]) {
    for (const [who, headers] of Object.entries(readers)) {
      const response = await fetch(`${relay.url}${path}`, { headers, redirect: "manual" });
      const shown = `${JSON.stringify([...response.headers])}\n${await response.text()}`;
      places.look(`GET ${path} as ${who} (${response.status})`, shown);
    }
  }
  const stream = await fetch(`${relay.url}/api/stream`, { headers: { ...asAdmin, "last-event-id": "0" } });
  const reader = stream.body?.getReader();
  places.look("the first events of the stream", (await reader?.read())?.value ?? "");
  await reader?.cancel();
}

/** One line for each command; those of `notTried` serve, wait for ever, or need no secret. */
function commandLines(id: string, dataDir: string): string[][] {
  const pool = "0x0000000000000000000000000000000000000001";
  const elsewhere = `postgres://desk:${canaries.mailPassword.value}@127.0.0.1:1/tocsin`;
  const lines = [
    ...["check", "schema", "status", "doctor", `explain ${id}`, `backtest --config ${join(dataDir, "tocsin.yaml")}`],
    ...["alerts list", `alerts show ${id}`, "alerts export --format ndjson", "alerts export --format csv"],
    ...[`alerts resend ${id} --to discord-takes`, "alerts resend --failed --yes", "alerts release --yes"],
    ...["try", "pause", "resume"].map((act) => `destinations ${act} discord-takes`),
    ...["test --timeout 100ms", "test --to discord-takes --timeout 100ms", "chats --for 0s"],
    ...["mutes add --match token=USDC --for 1h --reason test", "mutes list"],
    ...["mutes release none --yes", "mutes remove none"],
    ...[`backup ${join(dataDir, "backup.db")}`, `restore ${join(dataDir, "backup.db")}`],
    // Refused, since the relay runs.
    "repair",
    `move --to ${elsewhere}`,
    ...["shapes --all", "sources", "refused list", `refused show ${id}`, `refused relay ${id}`],
    // Refused as well.
    "start --chat -1001700000009 --yes --no-serve",
    ...["gaps --since -1h", "setup --yes", "setup --restore", "setup --source second --yes"],
    ...["account", "outputs", "metrics --chain eth", "history key", "tokens --chain eth"].map((of) => `upstream ${of}`),
    ...["users", "subscriptions", `pool ${pool} --chain eth`, "ticker ETH/USD"].map((of) => `upstream ${of}`),
    ...["equities symbols", "equities price AAPL,USD", "assets add tether --no-wait"].map((of) => `upstream ${of}`),
  ];
  const leaves = leafCommands();
  const named = lines.map((line) => leaves.find((name) => line.startsWith(name)));
  expect(named).not.toContain(undefined);
  const tried = new Set([...named, ...notTried]);
  expect(leaves.filter((name) => !tried.has(name))).toEqual([]);
  return lines.map((line) => line.split(" "));
}

const notTried = ["serve", "sandbox", "demo", "alerts tail"];

function leafCommands(): string[] {
  const leaves = (command: Command, path: string[]): string[] =>
    command.commands.length === 0
      ? [path.join(" ")]
      : command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
  return leaves(buildProgram(createTestContext().context), []);
}

/** Each once for people and once for machines; what it writes past its own outputs counts as well. */
async function lookAtCommands(world: CanaryWorld, relay: RelayProcess, id: string, places: Places): Promise<void> {
  const env = { ...world.env, PORT: new URL(relay.url).port, DATA_DIR: world.dataDir, LOG_LEVEL: "trace" };
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const strays = [vi.spyOn(process.stdout, "write"), vi.spyOn(process.stderr, "write")];
  const forms = commandLines(id, world.dataDir).flatMap((argv) => [argv, [...argv, "--json"]]);
  // All at once: one of them waits for servers that do not answer.
  await Promise.all(
    forms.map(async (argv) => {
      const { stdout, stderr } = await runTocsin(argv, { env, cwd: world.dataDir, signal });
      expect(stdout + stderr).not.toBe("");
      places.look(`tocsin ${argv.join(" ")}`, `${stdout}\n${stderr}`);
    }),
  );
  const written = strays.flatMap(({ mock }) => mock.calls.map(([chunk]) => String(chunk)));
  vi.restoreAllMocks();
  places.look("what commands have written by themselves", written.join("\n"));
}

/** Item 13, under texts of vendors that hold line breaks and control characters. */
function expectOneJsonLineAnEvent(log: string): void {
  for (const line of log.trimEnd().split("\n")) {
    expect(JSON.parse(line)).toMatchObject({ level: expect.any(String), event: expect.any(String) });
    expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
  }
}
