import { expect, it, onTestFinished } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { findLastingPort } from "../support/lasting-port.ts";
import {
  adminToken,
  type RelayProcess,
  startRelayProcess,
  waitUntil,
  webhookSecret,
} from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startSandbox } from "../workshop/service-fixture.ts";

const minute = 60_000;
const hour = 60 * minute;
const recordEvery = 5 * minute;

interface Entry {
  verdict: string;
  metricKey: string;
  condition: string;
  status: string;
  fromAt: string;
  toAt: string;
}
interface Gaps {
  missing: Entry[];
  crossings: number;
  answered: number;
}
interface Sent {
  metricKey: string;
  condition: string;
  threshold: number;
  status: string;
  timestamp: string;
}

/**
 * The sandbox's time begins 20 hours ago and is moved on from there, so that its past lies in the past of the relay,
 * whose clock nobody moves. It looks at its market right behind its records: else it would miss now and then, as the hour
 * of the day has it, a crossing that they show. It never repeats. Besides its own subscriptions, near to where the market
 * stands, there are four far from it: their metrics are pushed over the threshold and come back after a while.
 */
async function startWorld() {
  const at = Math.floor((Date.now() - 20 * hour) / recordEvery) * recordEvery + 1;
  const { sandbox, pass, setOutputs, call } = await startSandbox({ at, deliveryAttempts: 1 });
  onTestFinished(() => sandbox.close());
  const listed = await call(`${sandbox.alertingUrl}/metrics?chainId=eth&page=1`);
  const metrics = (listed.body as { data: { key: string; value: number }[] }).data.slice(30, 34);
  const rules = metrics.map(({ key, value }, index) => {
    const kind = index % 2 === 0 ? ("above" as const) : ("below" as const);
    return { key, kind, threshold: Number((value * (kind === "above" ? 3 : 0.3)).toPrecision(6)) };
  });
  for (const { key, kind, threshold } of rules) {
    await sandbox.subscribe({ metricKey: key, condition: { kind, threshold } });
  }
  let pushes = 0;
  const dataDir = makeTempFolder();
  const PORT = String(await findLastingPort());
  const env = { ALERTING_URL: sandbox.alertingUrl, ALERTING_API_KEY: sandbox.apiKey, PORT };
  return {
    pushed: new Set(metrics.map(({ key }) => key)),
    /** One push after the other, each 20 minutes. */
    async live(hours: number): Promise<void> {
      for (let step = 0; step < (hours * hour) / recordEvery; step += 1) {
        const rule = step % 4 === 0 ? rules[pushes++ % rules.length] : undefined;
        if (rule !== undefined) sandbox.moveMetric(rule.key, rule.kind === "above" ? 900 : -97, 17 * minute);
        await pass(recordEvery);
      }
    },
    lost: (): Sent[] => sandbox.listNotifications({ state: "failed", limit: 1000 }).map(({ body }) => JSON.parse(body)),
    async start(): Promise<RelayProcess> {
      const relay = await startRelayProcess(dataDir, env);
      await setOutputs({ webhookUrl: relay.hookUrl });
      return relay;
    },
    untilRouted: (relay: RelayProcess) =>
      waitUntil(
        async () => (await relay.getJson<{ data: { queue: { unrouted: number } } }>("/api/status")).data.queue.unrouted,
        (unrouted) => unrouted === 0,
        { what: "all alerts routed" },
      ),
    async gaps(): Promise<Gaps> {
      const context = {
        env: {
          ...env,
          DATA_DIR: dataDir,
          WEBHOOK_SECRET: webhookSecret,
          ADMIN_TOKEN: adminToken,
        },
        cwd: dataDir,
        now: Date.now,
      };
      const run = await runTocsin(["gaps", "--json"], context);
      expect(run).toMatchObject({ status: 0 });
      return run.json().data;
    },
  };
}

function speaksOf({ metricKey, condition, status, fromAt, toAt }: Entry, sent: Sent): boolean {
  const at = Date.parse(sent.timestamp);
  return (
    metricKey === sent.metricKey &&
    condition === `${sent.condition} ${sent.threshold}` &&
    status === sent.status &&
    at > Date.parse(fromAt) &&
    at <= Date.parse(toAt) + recordEvery
  );
}

it("finds what an hour without the relay lost, says nothing of what came, and needs no relay for it", async () => {
  const world = await startWorld();
  const first = await world.start();
  await world.live(14);
  expect(world.lost()).toEqual([]);
  await world.untilRouted(first);
  const before = await world.gaps();
  expect(before.missing.filter(({ verdict }) => verdict === "sure")).toEqual([]);
  expect(before.crossings).toBeGreaterThan(80);

  await first.kill();
  await world.live(1);
  const lost = world.lost();
  const second = await world.start();
  // Longer than an hour: by the clock of the relay each alert of this world is 20 hours late, so only others that happened
  // an hour later show that what is missing is not on its way.
  await world.live(1.5);
  await world.untilRouted(second);
  expect(world.lost()).toHaveLength(lost.length);

  const pushed = lost.filter(({ metricKey }) => world.pushed.has(metricKey));
  expect(pushed.length).toBeGreaterThanOrEqual(5);
  const asked = await world.gaps();
  await second.stop();
  const read = await world.gaps();
  for (const { missing } of [asked, read]) {
    const sure = missing.filter(({ verdict }) => verdict === "sure");
    expect(sure.filter((entry) => !lost.some((sent) => speaksOf(entry, sent)))).toEqual([]);
    expect(pushed.filter((sent) => !sure.some((entry) => speaksOf(entry, sent)))).toEqual([]);
  }
});
