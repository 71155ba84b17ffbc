import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { checkDatabase, checkLeftSecrets, checkSpool } from "../../src/cli/doctor/check-machine.ts";
import type { RelayRun } from "../../src/cli/relay/connect-relay.ts";
import { loadOrCreateSecrets, rotateSecret } from "../../src/config/generated-secrets.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import type { Finding } from "../../src/core/finding.ts";
import { keptFiles } from "../../src/store/kept-files.ts";
import { openSpoolDatabase } from "../../src/store/spool/spool-database.ts";
import { withKept } from "../../src/store/with-kept.ts";
import { createServiceSandbox } from "../../workshop/service/service.ts";
import { request as spooledRequest } from "../conformance/store/scene-samples.ts";
import { runTocsin } from "../support/cli.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { makePostgresDatabase, runSql } from "../support/postgres.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import { startSpoilingProxy } from "../support/spoiling-proxy.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startFakeService } from "../upstream/fake-service.ts";
import { createRelayWorld, deskChat, mailAddress, opsChat, type RelayWorld, yaml } from "./relay-world.ts";

async function examine(world: RelayWorld, env: Record<string, string> = {}) {
  const run = await world.run("doctor --json", { env: { ...world.env, ...env } });
  const findings: Finding[] = run.json().data.findings;
  return { run, of: (check: string) => findings.filter((finding) => finding.check === check) };
}

/** Nothing is said of the clock where the service takes five seconds to answer, as on a busy machine: it is looked at again. */
async function untilClockIsSeen(look: () => Promise<Finding[]>): Promise<Finding[]> {
  for (;;) {
    const found = (await look()).filter(({ check }) => check === "clock");
    if (found.length > 0) return found;
  }
}

async function startService() {
  // It sends no alerts of its own here: one that its market brings would be counted as a message of this test.
  const service = await createServiceSandbox({ now: Date.now, random: () => 0.5, metricCount: 500, tickMs: 0 });
  onTestFinished(() => service.close());
  return { ALERTING_URL: service.alertingUrl, ALERTING_API_KEY: service.apiKey };
}

/** As somebody sets the account's webhook by another program. */
async function setWebhook(service: Awaited<ReturnType<typeof startService>>, webhookUrl: string | null) {
  const headers = { authorization: service.ALERTING_API_KEY, "content-type": "application/json" };
  await fetch(`${service.ALERTING_URL}/account`, { method: "PUT", headers, body: JSON.stringify({ webhookUrl }) });
}

it("finds nothing where all is well, and sends nothing to anybody", async () => {
  const world = await createRelayWorld();
  const env = { ...(await startService()), PUBLIC_URL: world.relay.localUrl };
  expect((await world.run("setup --yes", { env: { ...world.env, ...env } })).status).toBe(0);
  const sent = () => [world.chat.messages(deskChat), world.mailbox.mails(mailAddress)].map(({ length }) => length);
  // The test that setup sends.
  expect(sent()).toEqual([1, 1]);
  const { run, of } = await examine(world, env);
  expect(run.json().data).toMatchObject({ ok: true, problems: 0 });
  expect(run.status).toBe(0);
  for (const check of ["relay", "public URL", "registration", "permissions", "destination desk", "destination mail"])
    expect(of(check)).toMatchObject([{ verdict: "ok" }]);
  const clock = await untilClockIsSeen(async () =>
    of("clock").length > 0 ? of("clock") : (await examine(world, env)).of("clock"),
  );
  expect(clock).toMatchObject([{ verdict: "ok" }]);
  expect(of("restarts")).toMatchObject([{ verdict: "warning", mend: expect.stringContaining("deploy/tocsin.socket") }]);
  expect(sent()).toEqual([1, 1]);
  expect((await world.run("doctor", { env: { ...world.env, ...env } })).stdout).toMatch(/^✓ Node: /);
});

it("goes on to the end where the secrets cannot be read", async () => {
  const cwd = makeTempFolder();
  writeFileSync(join(cwd, "file"), "");
  const service = await startService();
  await setWebhook(service, "https://alerts.example/hooks/abcdefghijklmnopqrstuvwx");
  const env = { ...service, DATA_DIR: join(cwd, "file/data"), PUBLIC_URL: "http://127.0.0.1:9", PORT: "9" };
  const run = await runTocsin(["doctor", "--json"], { env, cwd });
  expect(run.status).toBe(1);
  const { findings } = run.json().data;
  expect(findings).toContainEqual(expect.objectContaining({ check: "data folder", verdict: "problem" }));
  expect(findings).toContainEqual(expect.objectContaining({ check: "alerting service", verdict: "ok" }));
  // Where the account sends is not known for the same reason, which is said once.
  const detail = expect.stringContaining("webhook-secret cannot be read");
  const ofSecret = findings.filter((finding: Finding) => finding.detail.includes("webhook-secret"));
  expect(ofSecret).toMatchObject([{ check: "public URL", verdict: "problem", detail }]);
});

it("says what is wrong and how to mend it, all at once", async () => {
  const world = await createRelayWorld({ yaml: yaml.replace(opsChat, "-1009") });
  world.chat.faults.next({ kind: "flood_unsaid", chat: deskChat, times: 9 });
  chmodSync(join(world.dataDir, "secrets/admin-token"), 0o644);
  const env = { ...(await startService()), PUBLIC_URL: "http://127.0.0.1:9", SMTP_URL: "smtp://127.0.0.1:9" };
  const { run, of } = await examine(world, env);
  expect(run.status).toBe(1);
  expect(of("permissions")).toMatchObject([{ verdict: "problem", detail: expect.stringContaining("admin-token") }]);
  expect(of("public URL")).toMatchObject([{ verdict: "problem", mend: expect.stringContaining("proxy") }]);
  expect(of("registration")).toMatchObject([{ verdict: "problem", mend: "register this relay with: tocsin setup" }]);
  expect(of("destination ops")).toMatchObject([{ verdict: "problem", mend: expect.stringContaining("add the bot") }]);
  expect(of("destination mail")).toMatchObject([{ verdict: "problem", mend: expect.stringContaining("network") }]);
  expect(of("destination desk")).toMatchObject([{ verdict: "warning", detail: expect.stringContaining("429") }]);
  expect(run.stdout + run.stderr).not.toContain("canary");
});

it("knows an account that sends to this relay with an old secret", async () => {
  const world = await createRelayWorld();
  const env = { ...(await startService()), PUBLIC_URL: world.relay.localUrl };
  await world.run("setup --yes", { env: { ...world.env, ...env } });
  const { of } = await examine(world, { ...env, WEBHOOK_SECRET: "another-webhook-secret-0123456789abcdef" });
  expect(of("registration")).toMatchObject([
    { verdict: "problem", detail: "The account sends its alerts here with a secret that this relay does not take" },
  ]);
  expect(of("public URL")).toMatchObject([
    { verdict: "problem", detail: expect.stringContaining("does not know this secret") },
  ]);
});

it("names the way back where somebody has changed what setup left, and calls what setup has turned off no problem", async () => {
  const world = await createRelayWorld();
  const service = await startService();
  const env = { ...service, PUBLIC_URL: world.relay.localUrl };
  const setup = (...argv: string[]) =>
    world.run(["setup", "--yes", "--skip-proof", ...argv], { env: { ...world.env, ...env } });
  await setup();
  const look = async (webhookUrl: string | null) => {
    await setWebhook(service, webhookUrl);
    return (await examine(world, env)).of("registration");
  };
  const putBack = "ut it back on the page Account, or with: tocsin setup --take-over.";
  const lost = { verdict: "problem", mend: `No alert of the account arrives here until that is fixed. P${putBack}` };
  expect(await look(null)).toMatchObject([{ ...lost, detail: "The account's webhook was switched off" }]);
  expect(await look("https://other.example/in")).toMatchObject([
    { ...lost, detail: "The account sends its alerts to https://other.example/… and no longer here" },
  ]);
  const other = await startSpoilingProxy(world.relay.localUrl, (body) => body);
  const secret = readFileSync(join(world.dataDir, "secrets/webhook-secret"), "utf8").trim();
  expect(await look(`${other}/hooks/${secret}`)).toMatchObject([
    {
      verdict: "warning",
      detail: expect.stringContaining("another address than the registered one; this relay answers there"),
      mend: `Its host may keep alerts for itself. If it is meant, set PUBLIC_URL to it and run: tocsin setup. If not: P${putBack}`,
    },
  ]);
  await setup("--webhook-off", "--take-over");
  const { of } = await examine(world, env);
  expect(of("registration")).toMatchObject([
    { verdict: "warning", detail: expect.stringContaining("setup has turned"), mend: expect.stringMatching(/setup$/) },
  ]);
});

it("notices a clock that is off", async () => {
  const world = await createRelayWorld();
  const headers = { date: "Sat, 21 Nov 2026 12:00:00 GMT" };
  const { url } = await startFakeService(() => ({ status: 404, text: "", headers }));
  const env = { ...world.env, ALERTING_URL: url, ALERTING_API_KEY: "k" };
  // A header of whole seconds stands for the middle of one.
  const now = () => Date.UTC(2026, 10, 21, 12, 5, 0, 500);
  const clock = await untilClockIsSeen(
    async () => (await world.run("doctor --json", { env, now })).json().data.findings,
  );
  expect(clock).toMatchObject([{ verdict: "problem", detail: "this machine is 300 s ahead of the service" }]);
});

it("finds the mistakes of a configuration, and that nothing runs", async () => {
  const folder = makeTempFolder();
  const env = { DATA_DIR: folder, PORT: "9", TELEGRAM_CHAT_IDS: "-1" };
  const broken = await runTocsin(["doctor"], { env, cwd: folder });
  expect(broken.status).toBe(1);
  expect(broken.stdout).toMatch(/✗ configuration: TELEGRAM_CHAT_IDS: .*\n {4}→ set TELEGRAM_BOT_TOKEN/);
  const idle = await runTocsin(["doctor"], { env: { DATA_DIR: folder, PORT: "9" }, cwd: folder });
  expect(idle.status).toBe(1);
  expect(idle.stdout).toMatch(/✗ relay: no relay answers at .*\n {4}→ start it with: tocsin serve/);
});

it("looks at the account of a source by its own key, hook and variable, and at who is refused there", async () => {
  const service = await startService();
  const sources = `
sources:
  treasury: { account: { url: "${service.ALERTING_URL}", apiKey: "\${TREASURY_KEY}" } }
  forge: { check: { type: bearer, token: "\${FORGE}" } }
`;
  const keys = { TREASURY_KEY: service.ALERTING_API_KEY, FORGE: "canary-forge-token" };
  const world = await createRelayWorld({ yaml: yaml + sources, env: keys });
  const env = { PUBLIC_URL: world.relay.localUrl };
  const before = await examine(world, env);
  expect(before.of("registration of treasury")).toMatchObject([
    { verdict: "problem", mend: "register this relay with: tocsin setup --source treasury" },
  ]);
  expect(before.of("alerting service of treasury")).toMatchObject([{ verdict: "ok" }]);
  expect(before.of("source forge")).toEqual([]);
  expect((await world.run("setup --source treasury --yes", { env: { ...world.env, ...env } })).status).toBe(0);
  const secret = readFileSync(join(world.dataDir, "secrets", "source-forge"), "utf8").trim();
  const post = (token: string) => {
    const init = { method: "POST", body: "x", headers: { authorization: `Bearer ${token}` } };
    return fetch(`${world.relay.localUrl}/hooks/${secret}`, init);
  };
  expect((await post("wrong-token")).status).toBe(401);
  expect((await examine(world, env)).of("registration of treasury")).toMatchObject([{ verdict: "ok" }]);
  const refusedBy = async () => (await examine(world, env)).of("source forge");
  const mend = "see what was refused: tocsin refused list --source forge";
  expect(await refusedBy()).toMatchObject([{ mend, detail: expect.stringContaining("none has passed after it") }]);
  expect((await post(keys.FORGE)).status).toBe(202);
  expect(await refusedBy()).toMatchObject([{ mend, detail: expect.stringContaining("its sender passes") }]);
  writeFileSync(join(world.dataDir, "tocsin.yaml"), `${yaml}${sources}  added: {}\n`);
  expect((await examine(world, env)).of("source added")).toMatchObject([
    { verdict: "problem", detail: expect.stringContaining("does not know it") },
  ]);

  const asked = await world.run("upstream account --source treasury --json");
  expect(asked.json().data.alertOutputs.webhookUrl).toContain("/hooks/***");
  const slip = await world.run("upstream account --source forge");
  expect(slip).toMatchObject({ status: 2, stderr: expect.stringContaining("has no account of its own") });
});

it("names the secrets that a folder has of before, where those of the database are others", async () => {
  const dataDir = makeTempFolder();
  const env = { DATA_DIR: dataDir, DATABASE_URL: await makePostgresDatabase() };
  const load = (more: Record<string, string> = {}) => loadConfig({ env: { ...env, ...more }, cwd: dataDir });
  const look = async (more?: Record<string, string>) => checkLeftSecrets({} as RelayRun, load(more));
  expect(await look()).toEqual([]);
  // The first start takes them over.
  await loadOrCreateSecrets(keptFiles(dataDir), {});
  const secrets = await withKept(load(), (kept) => loadOrCreateSecrets(kept, {}), { isExisting: false });
  expect(await look()).toEqual([]);
  await withKept(load(), (kept) => rotateSecret(kept, "webhook-secret"));
  const found = await look();
  const detail = expect.stringContaining(join(dataDir, "secrets/webhook-secret"));
  expect(found).toMatchObject([{ check: "secrets", verdict: "warning", detail }]);
  for (const other of ["admin-token", secrets.webhookSecret.reveal()])
    expect(JSON.stringify(found)).not.toContain(other);
  expect(await look({ WEBHOOK_SECRET: "k3Jd-92mXq_0aLzPw7TtYbRs" })).toEqual([]);
});

const noRun = {} as RelayRun;

it("with PostgreSQL, warns of a standby that no commit waits for, also where the user may not see what copies from the server", async () => {
  const server = await startPostgresServer();
  onTestFinished(server.end);
  await runSql(server.url, "CREATE ROLE tocsin LOGIN");
  await runSql(server.url, "CREATE DATABASE tocsin OWNER tocsin");
  const load = (user: string) => {
    const url = new URL(server.url);
    url.username = user;
    url.pathname = "/tocsin";
    return loadConfig({ env: { DATABASE_URL: url.href }, cwd: makeTempFolder() });
  };
  const config = load("tocsin");
  // The first start makes the tables.
  await withKept(config, (kept) => kept.list(), { isExisting: false });
  const failover = async (user: string) =>
    (await checkDatabase(noRun, load(user))).find(({ check }) => check === "failover");
  expect(await failover("tocsin")).toMatchObject({ verdict: "ok", detail: expect.stringContaining("no standby") });
  const standby = new pg.Client({ connectionString: server.url, replication: "true" } as pg.ClientConfig);
  await standby.connect();
  onTestFinished(() => standby.end());
  const risk = "a failover may lose alerts that were answered in the last moments";
  const asynchronous = { verdict: "warning", detail: `the server has a standby that no commit waits for: ${risk}` };
  expect(await failover("postgres")).toMatchObject(asynchronous);
  expect(await failover("tocsin")).toMatchObject({
    verdict: "warning",
    detail: expect.stringMatching(/this user may not see whether it is a standby .* a failover may lose/),
    mend: expect.stringContaining("synchronous_standby_names"),
  });
  await runSql(server.url, "GRANT pg_read_all_stats TO tocsin");
  expect(await failover("tocsin")).toMatchObject(asynchronous);
});

it("with PostgreSQL, says whether there is a spool, whether it can be written, and what waits in it", async () => {
  const folder = makeTempFolder();
  const dir = join(folder, "spool");
  const look = async (env: Record<string, string>) =>
    checkSpool(noRun, loadConfig({ env: { DATABASE_URL: "postgres://db/tocsin", ...env }, cwd: folder }));
  expect(await checkSpool(noRun, loadConfig({ env: {}, cwd: folder }))).toEqual([]);
  expect(await look({})).toMatchObject([{ verdict: "warning", detail: expect.stringMatching(/not set: .* 503/) }]);
  expect(await look({ SPOOL_DIR: dir })).toMatchObject([
    { verdict: "ok", detail: expect.stringContaining("nothing waits there") },
  ]);
  const threadEntry = compiledThread();
  const spool = await openSpoolDatabase({ dir, maxBytes: 1e6, threadEntry });
  for (const _ of [1, 2]) await spool.append(spooledRequest());
  // As a relay has it that runs.
  expect(await look({ SPOOL_DIR: dir })).toMatchObject([
    { verdict: "warning", detail: expect.stringMatching(/^2 requests in .*spool .* has not taken yet/) },
  ]);
  await spool.close();
  writeFileSync(join(folder, "file"), "");
  expect(await look({ SPOOL_DIR: join(folder, "file") })).toMatchObject([
    { verdict: "problem", detail: expect.stringContaining("is a file, not a folder") },
  ]);
});
