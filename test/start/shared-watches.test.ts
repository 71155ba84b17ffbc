import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { registrationRecord } from "../../src/config/account-records.ts";
import { loadOrCreateSecrets, type ServerSecrets } from "../../src/config/generated-secrets.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { silentLog } from "../../src/core/log.ts";
import { type Relay, startRelay } from "../../src/start/relay.ts";
import { withKept } from "../../src/store/with-kept.ts";
import { listenOnLoopback } from "../support/loopback.ts";
import { postgresDatabaseOf, runSql } from "../support/postgres.ts";
import { readingThreadEntry } from "../support/reader.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock, minute, second } from "../support/test-clock.ts";
import { startSandbox } from "../workshop/service-fixture.ts";

const publicUrl = "http://alerts.example:9";
const hookSecret = "canary-hook-secret-of-all-relays";
const here = `${publicUrl}/hooks/${hookSecret}`;

interface TestRelay extends Relay {
  secrets: ServerSecrets;
  post(body: object, path?: string): Promise<Response>;
}

/** Relays in this process on one database, at one clock that stands still until the test moves it. */
async function createWorld({ yaml = "", env = {} }: { yaml?: string; env?: Record<string, string> } = {}) {
  const clock = createTestClock(Date.now());
  const url = await postgresDatabaseOf(makeTempFolder());
  const running: Relay[] = [];

  /** What was woken asks the database, which takes its real time. */
  async function step(ms: number): Promise<void> {
    await clock.advance(ms);
    for (let turn = 0; turn < 5; turn += 1) for (const { store } of running) await store.listRelays();
  }

  async function start(): Promise<TestRelay> {
    const dataDir = makeTempFolder();
    const path = join(dataDir, "tocsin.yaml");
    writeFileSync(path, yaml);
    const config = loadConfig({
      env: {
        ...{ DATA_DIR: dataDir, DATABASE_URL: url, PORT: "0", DRAIN_TIME: "0s", TOCSIN_CONFIG: path },
        ...{ PUBLIC_URL: publicUrl, WEBHOOK_SECRET: hookSecret, ADMIN_TOKEN: "canary-admin-token-of-all" },
        ...env,
      },
      cwd: dataDir,
    });
    config.server.port = 0;
    const secrets = await withKept(config, (kept) => loadOrCreateSecrets(kept, config), { isExisting: false });
    const relay = await startRelay({ config, secrets, log: silentLog, clock, readingThreadEntry });
    running.push(relay);
    // The database's clock orders them by when they began.
    await step(10);
    return {
      ...relay,
      secrets,
      post: (body, hook = hookSecret) =>
        fetch(`${relay.localUrl}/hooks/${hook}`, { method: "POST", body: JSON.stringify(body) }),
    };
  }

  async function stop(relay: Relay): Promise<void> {
    const index = running.findIndex(({ store }) => store === relay.store);
    if (index < 0) return;
    running.splice(index, 1);
    const stopped = relay.stop().then(() => true);
    // Its lease is by this clock, too: the database has to keep up with it.
    const move = () =>
      clock.advance(250).then(() =>
        relay.store.listRelays().then(
          () => false,
          () => false,
        ),
      );
    while (!(await Promise.race([stopped, move()])));
  }
  onTestFinished(async () => {
    for (const relay of [...running]) await stop(relay);
  });

  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 2 * second) await step(Math.min(2 * second, left));
  }

  async function until(wished: () => boolean | Promise<boolean>, what: string): Promise<void> {
    // Leases end by the database's clock, which nobody moves.
    for (const startedAt = Date.now(); !(await wished()); ) {
      if (Date.now() - startedAt > 120_000) throw new Error(`not within two minutes: ${what}`);
      await step(500);
    }
  }

  /** What people were told, the oldest first. */
  async function notices(): Promise<string[]> {
    const sql = "SELECT facts FROM alerts WHERE origin = 'notice' ORDER BY seq";
    const rows = await runSql<{ facts: string }>(url, sql);
    return rows.map(({ facts }) => (JSON.parse(facts) as { title: string }).title);
  }

  return {
    clock,
    url,
    running,
    start,
    stop,
    pass,
    until,
    notices,
    told: (count: number) => until(async () => (await notices()).length >= count, `${count} notices`),
    /** A watch of this relay is as wished. */
    verdict: (relay: Relay, verdict: string) =>
      until(() => relay.operations.watches()[0]?.verdict === verdict, `the verdict ${verdict}`),
    /** Who has the duties, by the order in which the relays began. */
    async owner(): Promise<number> {
      const rows = await runSql<{ mine: boolean }>(
        url,
        `SELECT coalesce(l.owner = r.id, false) AS mine FROM relays r
         LEFT JOIN lanes l ON l.lane_group = 'duties' AND l.lease_until > clock_timestamp() ORDER BY r.started_at`,
      );
      return rows.findIndex(({ mine }) => mine);
    },
    /** As when the owner had stood still for longer than its lease: the lane is the other's, and it does not know. */
    async takeAway(from: number): Promise<void> {
      await runSql(
        url,
        `UPDATE lanes SET fence = nextval('lane_fences'), owner = (SELECT id FROM relays ORDER BY started_at OFFSET $1 LIMIT 1)
         WHERE lane_group = 'duties'`,
        [1 - from],
      );
    },
  };
}

async function createAccountWorld() {
  const { sandbox, setOutputs, call } = await startSandbox({ at: Date.now() });
  onTestFinished(() => sandbox.close());
  const env = { ALERTING_URL: sandbox.alertingUrl, ALERTING_API_KEY: sandbox.apiKey };
  const world = await createWorld({ yaml: "watch: { every: 10s, gaps: 5m }\n", env });
  const { body } = await call(`${sandbox.alertingUrl}/account`);
  const { data } = body as { data: { id: string } };
  await setOutputs({ webhookUrl: here });
  /** As setup leaves it for all of them. */
  const register = async () => {
    const kept = world.running[0]?.store.kept;
    if (kept === undefined) throw new Error("no relay runs on PostgreSQL");
    await registrationRecord(kept).write({ accountId: data.id, publicUrl, at: world.clock.now() });
  };
  return { ...world, setOutputs, register };
}

it("tells once what the account has become, whichever relay has the duties, and shows it on all of them", async () => {
  const { start, stop, until, notices, told, verdict, pass, setOutputs, register } = await createAccountWorld();
  const [one, other] = [await start(), await start()];
  await register();
  await verdict(one, "well");
  await setOutputs({ webhookUrl: "https://other.example/in" });
  await told(1);
  await verdict(other, "trouble");
  await pass(30 * second);
  expect(await notices()).toHaveLength(1);
  for (const relay of [one, other]) {
    const { account, watches, troubles } = await relay.operations.status();
    expect([account.answer?.webhook, account.canPutBack, watches[0]?.verdict]).toEqual(["elsewhere", true, "trouble"]);
    expect(troubles.map(({ kind }) => kind)).toEqual(["watch"]);
  }

  // The next owner knows what people were told.
  await stop(one);
  const lookedAt = other.operations.watches()[0]?.lookedAt ?? 0;
  await until(() => (other.operations.watches()[0]?.lookedAt ?? 0) > lookedAt, "a look of the next owner");
  await pass(30 * second);
  expect(other.operations.watches()[0]?.verdict).toBe("trouble");
  expect(await notices()).toHaveLength(1);
  expect(await other.operations.putBackOutputs()).toBe("put-back");
  await told(2);
  await verdict(other, "well");

  // At each moment one of them ran.
  await pass(2 * minute);
  expect(await other.store.loadWatchState("running")).toMatchObject({ downtimes: [] });
});

it("does what people ask of a watch on every relay", async () => {
  const { start, until, verdict, setOutputs, register, clock } = await createAccountWorld();
  const [one, other] = [await start(), await start()];
  await register();
  await verdict(other, "well");
  await setOutputs({ webhookUrl: "https://other.example/in" });
  await verdict(other, "trouble");
  const askedAt = clock.now();
  expect(await other.operations.putBackOutputs()).toBe("put-back");
  await verdict(one, "well");
  await verdict(other, "well");
  // Sooner than the next look by itself.
  expect(clock.now() - askedAt).toBeLessThan(5 * second);

  expect(await other.operations.gaps()).toBeUndefined();
  let checked: unknown;
  void other.operations.checkGaps({}).then((report) => {
    checked = report;
  });
  await until(() => checked !== undefined, "a report");
  expect(await other.operations.gaps()).toEqual(checked);
  // Long before the owner looks by itself.
  await until(async () => (await one.operations.gaps()) !== undefined, "the report on the relay that watches");
  expect(await one.operations.gaps()).toEqual(checked);
  expect(clock.now() - askedAt).toBeLessThan(15 * second);
});

it("tells of no silence while another relay receives, and once of one and of its end", async () => {
  const { start, pass, notices, told, until, takeAway, owner } = await createWorld({ yaml: "silence: 5m\n" });
  const [one, other] = [await start(), await start()];
  for (let minutes = 0; minutes < 7; minutes += 1) {
    expect((await other.post({ title: `alert ${minutes}` })).status).toBe(202);
    await pass(minute);
  }
  expect(await notices()).toEqual([]);
  expect(one.operations.silence()[0]).toMatchObject({ state: "watching", lastId: expect.any(String) });
  await pass(4.5 * minute);
  await told(1);
  await until(() => other.operations.silence()[0]?.state === "silent", "the silence on the other relay");
  // Another has the duties, and their former owner does not know: it hears the first alert, and tells nobody.
  expect(await owner()).toBe(0);
  const { announceRelay } = one.store;
  const learns = new Promise<void>((resolve) => onTestFinished(() => resolve()));
  one.store.announceRelay = (...asked) => learns.then(() => announceRelay(...asked));
  await takeAway(0);
  await until(async () => (await owner()) === 1, "the duties of the other relay");
  await pass(2 * second);
  await one.post({ title: "the first again" });
  await pass(minute);
  expect(await owner()).toBe(1);
  expect(await notices()).toEqual([
    expect.stringMatching(/^No alert has come for \d min/),
    expect.stringMatching(/^Alerts arrive again/),
  ]);
  for (const relay of [one, other]) expect(relay.operations.silence()[0]?.state).toBe("watching");
});

const desk = `desk: { type: ntfy, server: "http://127.0.0.1:9", topic: canary-topic, allowInternal: ["127.0.0.1"] }`;

it("tells of a shape that another relay has seen, and shows the same of it on all of them", async () => {
  const { start, pass, notices, until } = await createWorld({
    yaml: `destinations: { ${desk} }
routes: [{ name: dear, match: { payload.price: { gt: 100 } }, to: desk }, { name: rest, default: true, to: desk }]
`,
  });
  const [one, other] = [await start(), await start()];
  for (let count = 0; count < 30; count += 1)
    await other.post({ title: `alert ${count}`, price: count, market: "ETH" });
  await pass(10 * second);
  for (let count = 0; count < 10; count += 1) await other.post({ title: `alert ${count}`, market: "ETH" });
  const ofShape = async () => (await notices()).filter((title) => title.startsWith("payload.price is gone"));
  await until(async () => (await ofShape()).length > 0, "a notice of the shape");
  const alertsOf = async (relay: Relay) =>
    (await relay.operations.shapes()).kinds.map(({ number, alerts, shapes }) => [number, alerts, shapes]);
  await until(async () => (await alertsOf(other))[0]?.[1] === 40, "all of them on the other relay");
  expect(await alertsOf(one)).toEqual(await alertsOf(other));
  expect(await ofShape()).toHaveLength(1);
});

it("has a shape described again that the relay with the duties does not know", async () => {
  const { start, pass, until, url } = await createWorld();
  const [one, other] = [await start(), await start()];
  await runSql(
    url,
    `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN IF NEW.name = 'mail:duties' THEN NEW.state := '[]'; END IF; RETURN NEW; END $$;
     CREATE TRIGGER lose BEFORE INSERT ON watch_states FOR EACH ROW EXECUTE FUNCTION lose();`,
  );
  await other.post({ title: "alert", price: 1 });
  const hasSent = async () => (await runSql(url, "SELECT FROM watch_states WHERE name = 'mail:duties'")).length > 0;
  await until(hasSent, "a description that is lost");
  let posted = 0;
  await until(async () => {
    posted += (await other.post({ title: "alert", price: posted })).status === 202 ? 1 : 0;
    await pass(4 * second);
    return ((await one.operations.shapes()).kinds[0]?.alerts ?? 0) > 0;
  }, "the shape on the relay with the duties");
  expect(posted).toBeLessThan(10);
});

it("tells once that a source lets nobody in, whichever relay refuses it", async () => {
  const { start, pass, notices, told, verdict, until } = await createWorld({
    yaml: `sources: { forge: { check: { type: github, secret: "\${FORGE}" } } }\n`,
    env: { FORGE: "canary-forge-secret-0123456789" },
  });
  const [one, other] = [await start(), await start()];
  const third = await start();
  async function refuseAll(): Promise<void> {
    for (const relay of [one, other, other, third]) {
      const path = relay.secrets.sourceSecrets.get("forge")?.[0]?.reveal();
      expect((await relay.post({ title: "unsigned" }, path)).status).toBe(401);
    }
  }
  await refuseAll();
  await verdict(other, "trouble");
  await refuseAll();
  const trouble = () => third.operations.watches()[0]?.troubles[0];
  for (const relay of [one, other, third])
    await until(() => relay.operations.sources()[0]?.refused.no_signature === 8, "the count of all relays");
  await until(() => / 8 requests did not pass its check/.test(String(trouble())), "the sum of all");
  await told(1);
  await pass(40 * second);
  expect(await notices()).toEqual(["Requests to the source forge are refused"]);
});

it("tells once that the canary fails, whichever relay has the duties, and one of them at a time sends the heartbeat", async () => {
  const paths: (string | undefined)[] = [];
  const { url } = await listenOnLoopback(
    createServer((request, response) => {
      paths.push(request.url);
      request.resume();
      // To the canary it is a proxy that reaches no relay, and the service to the heartbeat.
      response.writeHead(request.url === "/beat" ? 200 : 503).end();
    }),
  );
  const world = await createWorld({
    yaml: `canary: { every: 1h }
heartbeat: { url: "\${HEARTBEAT_URL}", every: 30s, service: other, allowInternal: ["127.0.0.1"] }
`,
    env: { PUBLIC_URL: url, HEARTBEAT_URL: `${url}/beat` },
  });
  const { start, stop, pass, notices, until, owner } = world;
  const beats = () => paths.filter((path) => path === "/beat").length;
  const [one, other] = [await start(), await start()];
  await pass(minute + 10 * second);
  // The first has failed, and another minute decides.
  expect(await notices()).toEqual([]);
  await pass(minute);
  await until(() => other.operations.canary()?.state === "fails", "what has failed on the other relay");
  expect(await notices()).toEqual([expect.stringMatching(/^Alerts may not arrive/)]);
  expect(one.operations.canary()).toEqual(other.operations.canary());

  // In two minutes and some seconds; of two relays it would be twice as many.
  const beatsOfOne = beats();
  expect(beatsOfOne).toBeGreaterThanOrEqual(3);
  expect(beatsOfOne).toBeLessThanOrEqual(7);

  await stop(one);
  await until(async () => (await owner()) === 0, "the duties of the other relay");
  await pass(40 * second);
  expect(await notices()).toHaveLength(1);
  expect(other.operations.canary()).toMatchObject({ state: "fails", toldAt: expect.any(Number) });
  // Two canaries, each behind a large body and a small one that show whether bodies come whole.
  expect(paths.filter((path) => path !== "/beat")).toHaveLength(6);
  expect(beats()).toBeGreaterThan(beatsOfOne);
});
