import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, inFolder, type Scenario } from "../harness/bench.ts";
import { end, memoryOf } from "../harness/processes.ts";
import { lookUp } from "../harness/stored.ts";
import { launchTocsin, relayConfig, startTocsin, workedOff } from "../servers/tocsin.ts";

/** Killed while the receiver is silent and everything waits; then it is started again, and the receiver answers. */
export const recovery: Scenario = {
  name: "recovery",
  what: "killed while 100,000 deliveries wait: to the first 202 and to the first message",
  run(bench) {
    const alerts = bench.quick ? 1_000 : 100_000;
    return bench.compare({
      title: `killed while ${alerts.toLocaleString("en")} deliveries wait`,
      rounds: Math.min(2, bench.rounds),
      limit: 240,
      contenders: bench.checkouts.map(({ name, folder: checkout }) => ({
        name,
        run: () => inFolder(bench, (folder) => measure(bench, { checkout, folder, alerts })),
      })),
      figures: [
        { of: "accepts", label: "to the first 202", unit: "ms" },
        { of: "tells", label: "to the first message", unit: "ms" },
        { of: "memory", label: "memory at most in the 3 s after", unit: "MB" },
      ],
    });
  },
};

async function measure(
  { driver }: Bench,
  { checkout, folder, alerts }: { checkout: string; folder: string; alerts: number },
) {
  const port = await driver.call("openStandIn", "webhook", { isSilent: true });
  // What hangs is not given up while the rest is being accepted.
  const { destinations } = relayConfig("webhook", port);
  const config = { destinations, delivery: { lease: "15m", sendTimeout: "10m" } };
  const options = { place: "server", checkout, folder, config } as const;
  const before = await startTocsin(options);
  const { serials, ...sent } = await driver.call("sendAlerts", { target: before.target, alerts });
  await workedOff(before, "routed");
  await end(before.process, "SIGKILL");

  await driver.call("closeStandIn");
  await driver.call("openStandIn", "webhook", { port });
  const startedAt = performance.timeOrigin + performance.now();
  const server = await launchTocsin(options);
  try {
    const first = await driver.call("firstAccepted", server);
    let counts = await driver.call("standInCounts");
    while (counts.firstAt === 0) {
      await sleep(5);
      counts = await driver.call("standInCounts");
    }
    await sleep(3_000);
    return {
      ...sent,
      ...lookUp(folder, [...serials, ...first.serials]),
      accepts: first.at - startedAt,
      tells: counts.firstAt - startedAt,
      memory: memoryOf(server.target.pid).most,
    };
  } finally {
    await server.stop();
    await driver.call("closeStandIn");
  }
}
