import { type Scenario, windowOf } from "../harness/bench.ts";
import { memoryOf } from "../harness/processes.ts";
import { lookUp } from "../harness/stored.ts";
import { adminToken, digestConfig, startTocsin, toldIn, workedOff } from "../servers/tocsin.ts";
import { withServer } from "../servers/with-server.ts";

/** Without end and without a pace: what telling many at once costs an alert. */
export const relayDigests: Scenario = {
  name: "relay-digests",
  what: "alerts in to digests out, to a Telegram chat without a pace",
  run: (bench) =>
    bench.compare({
      title: "relay in digests, no pace",
      contenders: bench.checkouts.map(({ name, folder: checkout }) => ({
        name,
        run: withServer(
          bench,
          "telegram",
          ({ folder, port }) =>
            startTocsin({ place: "server", checkout, folder, config: digestConfig({}), standInPort: port }),
          (server) =>
            bench.driver.call("keepBacklog", {
              target: server.target,
              until: "delivered",
              most: 5_000,
              statusUrl: `${server.origin}/api/status`,
              token: adminToken,
              ...windowOf(bench, 3, 2),
            }),
        ),
      })),
      figures: [
        { of: "rate", label: "alerts/s" },
        { of: "cpu", label: "CPU an alert", unit: "µs" },
      ],
    }),
};

/** In real minutes, at the pace that Telegram allows a group; a bot is slower than its group only in what it may send. */
export const storm: Scenario = {
  name: "storm",
  what: "10,000 alerts at once to a Telegram group at 20 messages a minute, until all are told",
  run(bench) {
    const alerts = bench.quick ? 100 : 10_000;
    return bench.compare({
      title: `storm of ${alerts.toLocaleString("en")} at 20 messages a minute`,
      rounds: 1,
      limit: 240,
      contenders: bench.checkouts.map(({ name, folder: checkout }) => ({
        name,
        run: withServer(
          bench,
          "telegram",
          ({ folder, port }) => {
            const config = digestConfig({ perSecond: 1, perMinute: 20 });
            return startTocsin({ place: "server", checkout, folder, config, standInPort: port });
          },
          async (server, { folder }) => {
            const { serials, ...sent } = await bench.driver.call("sendAlerts", { target: server.target, alerts });
            const status = await workedOff(server);
            const { messages, lastAt } = await bench.driver.call("standInCounts");
            const { missing, doubled } = lookUp(folder, serials);
            return {
              ...sent,
              missing: Math.max(missing, sent.accepted - toldIn(status)),
              doubled,
              told: (lastAt - sent.startedAt) / 1000,
              messages,
              memory: memoryOf(server.target.pid).most,
            };
          },
        ),
      })),
      figures: [
        { of: "told", label: "until all are told", unit: "s" },
        { of: "messages", label: "messages" },
        { of: "memory", label: "memory at most", unit: "MB" },
      ],
    });
  },
};
