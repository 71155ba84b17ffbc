import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { loadOrCreateSecrets, rotateSecret } from "../../src/config/generated-secrets.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Destination, Route } from "../../src/core/rules.ts";
import { type Relay, type RelayOptions, startRelay } from "../../src/start/relay.ts";
import { keptFiles } from "../../src/store/kept-files.ts";
import { mute } from "../conformance/store/common/mutes.ts";
import { ntfyTo } from "../delivery/engine-fixture.ts";
import { route as routeTo } from "../routing/sample.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { probesAsDocumented } from "../support/documented-probes.ts";
import { createFailingProxy } from "../support/failing-proxy.ts";
import { makePostgresDatabase } from "../support/postgres.ts";
import { exchangeRaw } from "../support/raw-http.ts";
import { readingThreadEntry } from "../support/reader.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock } from "../support/test-clock.ts";
import { startSandbox } from "../workshop/service-fixture.ts";

const route = routeTo("all", ["nobody"], { isDefault: true });

interface Changes extends Pick<RelayOptions, "clock"> {
  destinations?: Destination[];
  routes?: Route[];
  log?: RelayOptions["log"];
  env?: Record<string, string>;
  /** Of a relay before. */
  dataDir?: string;
}

async function start(changes: Changes) {
  const { destinations = [], routes = [], log = silentLog, clock, env, dataDir = makeTempFolder() } = changes;
  const config = loadConfig({ env: { ...env, DATA_DIR: dataDir, PORT: "0" }, cwd: dataDir });
  const secrets = await loadOrCreateSecrets(keptFiles(dataDir), config);
  config.rules.destinations = destinations;
  config.rules.routes = routes;
  const relay = await startRelay({
    config,
    secrets,
    log,
    clock,
    storeThreadEntry: compiledThread(),
    readingThreadEntry,
  });
  return { relay, dataDir, secrets };
}

/** What keeps a process from ending: listening sockets, threads. */
const countHeld = (): number =>
  process.getActiveResourcesInfo().filter((kind) => /^(TCPServerWrap|MessagePort|Worker)$/.test(kind)).length;

it.each([
  ["the rules", { routes: [route] }, "unknown destination nobody"],
  [
    "the last part",
    {
      log: {
        ...silentLog,
        info(event: string) {
          if (event === "relay.started") throw new Error("the log is gone");
        },
      },
    },
    "the log is gone",
  ],
])("leaves nothing running when %s cannot be started, so that the process ends", async (_what, broken, why) => {
  const before = countHeld();
  await expect(start(broken)).rejects.toThrow(why);
  expect(countHeld()).toBe(before);
});

it("names a token that an alert gives by its address in what comes later, and still does after a restart", async () => {
  const clock = createTestClock();
  const { sandbox, call } = await startSandbox({ at: clock.now() });
  onTestFinished(() => sandbox.close());
  const { body } = await call(`${sandbox.alertingUrl}/metrics?chainId=eth&page=1`);
  const { data } = body as { data: { key: string; type: string; tokenSymbol: string }[] };
  const metric = data.find(({ type }) => type === "token_price");
  const alert = JSON.stringify({ metricKey: metric?.key, value: 3.5, unit: "USD", threshold: 4 });
  const env = { ALERTING_URL: sandbox.alertingUrl, ALERTING_API_KEY: sandbox.apiKey };
  const destinations = [ntfyTo("desk")];
  const routes = [{ ...route, to: ["desk"] }];
  const { relay, dataDir, secrets } = await start({ destinations, routes, env, clock });
  const textOf = async ({ operations }: Relay) => {
    const tried = await operations.tryBody(new TextEncoder().encode(alert), "application/json");
    return JSON.stringify(tried.alerts);
  };
  expect(await textOf(relay)).not.toContain(metric?.tokenSymbol);
  await fetch(`${relay.localUrl}/hooks/${secrets.webhookSecret.reveal()}`, { method: "POST", body: alert });
  // With its address, where many a token would take the symbol.
  const named = new RegExp(`${metric?.tokenSymbol}(?: 0x.{4}….{4})? price`);
  const untilNamed = async (one: Relay) => {
    while (!named.test(await textOf(one))) await clock.advance(250);
  };
  const end = async (one: Relay) => {
    const stopped = one.stop().then(() => true);
    while (!(await Promise.race([stopped, clock.advance(1_000)])));
  };
  await untilNamed(relay);
  await end(relay);
  sandbox.faults.next({ kind: "status", status: 500, route: "*", times: "always" });
  const { relay: next } = await start({ destinations, routes, env, clock, dataDir });
  await untilNamed(next);
  await end(next);
});

it("moves everything on by signals, before any poll looks", async () => {
  const clock = createTestClock();
  let onAdded = () => {};
  const hidden: string[] = [];
  const log = {
    ...silentLog,
    info: (event: string) => event === "hook.secrets_changed" && onAdded(),
    hide: (secrets: readonly string[]) => hidden.push(...secrets),
  };
  // Nobody listens there.
  const desk = ntfyTo("desk", { allowInternal: ["127.0.0.1"] });
  const routes = [{ ...route, to: ["desk"] }];
  const { relay, dataDir, secrets } = await start({ destinations: [desk], routes, log, clock });
  const { store, localUrl } = relay;
  onTestFinished(async () => {
    const stopped = relay.stop().then(() => true);
    while (!(await Promise.race([stopped, clock.advance(1_000)])));
  });

  /** Posts an alert and waits, commit by commit, until its delivery is in this state. */
  async function post(secret: string, title: string, state: string): Promise<void> {
    // Rounds of routing are 5 ms apart; the first poll looks after a second.
    await clock.advance(5);
    const body = JSON.stringify({ title });
    const answer = await fetch(`${localUrl}/hooks/${secret}`, { method: "POST", body });
    const { data } = (await answer.json()) as { data: { id: string } };
    for (;;) {
      const changed = new Promise<void>((resolve) => {
        store.subscribe("changed", resolve);
      });
      const alert = await store.getAlert(data.id);
      if (alert?.deliveries[0]?.state === state) return;
      await changed;
    }
  }

  const hook = secrets.webhookSecret.reveal();
  await post(hook, "is routed and tried", "waiting");

  const matchers = [{ field: "title", condition: { equals: ["is muted"], not: [] } }];
  const seen = new Promise<void>((resolve) => {
    const { listMutes } = store;
    store.listMutes = async (...asked) => {
      const mutes = await listMutes(...asked);
      if (mutes.some(({ id }) => id === "m1")) setImmediate(resolve);
      return mutes;
    };
  });
  await store.addMute(mute("m1", { matchers, startsAt: clock.now(), endsAt: clock.now() + 60_000 }));
  // The signal has the mutes listed anew; an alert that comes before the answer is not muted.
  await seen;
  await post(hook, "is muted", "muted");

  const added = new Promise<void>((resolve) => {
    onAdded = resolve;
  });
  const rotated = await rotateSecret(keptFiles(dataDir), "webhook-secret");
  await added;
  await post(rotated.reveal(), "is taken", "waiting");
  expect(hidden).toEqual([rotated.reveal()]);
});

it("says yes to every balancer that asks as its documents write it, as long as the hook answers 202, whatever its database does", async () => {
  const warnings: string[] = [];
  const note = (warning: Error) => warnings.push(String(warning));
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  const url = await makePostgresDatabase();
  const proxy = await createFailingProxy(url);
  const { relay, secrets } = await start({ env: { DATABASE_URL: proxy.url, SPOOL_DIR: makeTempFolder() } });
  onTestFinished(async () => {
    proxy.goOn();
    await relay.stop();
  });
  const hook = `${relay.localUrl}/hooks/${secrets.webhookSecret.reveal()}`;
  const post = async () => (await fetch(hook, { method: "POST", body: "{}" })).status;
  const probes = Object.values(probesAsDocumented).flat();
  const expectYes = async (state: string) => {
    const asked = [...probes, ...probes, ...probes].map((bytes) => exchangeRaw(relay.localUrl, bytes));
    for (const [index, answers] of (await Promise.all(asked)).entries())
      expect(answers[0]?.status, `${state}: ${probes[index % probes.length]}`).toBe(200);
  };
  for (const page of ["no page", "a page"]) {
    await expectYes(`${page} was opened`);
    const locker = new pg.Client(url);
    await locker.connect();
    await locker.query("BEGIN; LOCK TABLE alerts");
    const waits = post();
    await expectYes("a table is locked");
    expect(await waits).toBe(202);
    await locker.end();
    proxy.hang();
    const hangs = post();
    await expectYes("the database hangs");
    const metrics = `GET /metrics HTTP/1.0\r\nAuthorization: Bearer ${secrets.adminToken.reveal()}\r\n\r\n`;
    expect(await exchangeRaw(relay.localUrl, metrics)).toMatchObject([{ status: 200 }]);
    expect(await hangs).toBe(202);
    proxy.goOn();
    await (await fetch(`${relay.localUrl}/login`)).text();
  }
  expect(warnings).toEqual([]);
});
