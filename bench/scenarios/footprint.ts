import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, type Contender, inFolder, type Scenario } from "../harness/bench.ts";
import { memoryOf } from "../harness/processes.ts";
import { lookUp } from "../harness/stored.ts";
import { hasAlertmanager, launchAlertmanager } from "../servers/alertmanager.ts";
import { alertmanagers, type Measure, tocsins } from "../servers/contenders.ts";
import { type BenchedServer, launchBareNode } from "../servers/server.ts";
import { allRouted, digestConfig, launchTocsin, startTocsin } from "../servers/tocsin.ts";

/** The start on an existing log, as after an upgrade. */
export const startUp: Scenario = {
  name: "start",
  what: "from the start of the process to the first 202, and the memory of one that waits",
  run(bench) {
    const contenders: Contender[] = [
      ...bench.checkouts.map(({ name, folder: checkout }) => ({
        name,
        run: () =>
          inFolder(bench, async (folder) => {
            const options = { place: "server", checkout, folder, config: digestConfig } as const;
            const before = await startTocsin(options);
            await before.stop();
            return timeStart(bench, () => launchTocsin(options));
          }),
      })),
      { name: "bare Node", run: () => timeStart(bench, launchBareNode) },
    ];
    if (hasAlertmanager) {
      const run = () =>
        inFolder(bench, (folder) => {
          const receiver = { kind: "webhook", port: 9 } as const;
          return timeStart(bench, () => launchAlertmanager({ place: "server", folder, receiver, isGrouped: true }));
        });
      contenders.push({ name: "Alertmanager", run });
    }
    return bench.compare({
      title: "start",
      rounds: Math.max(5, bench.rounds),
      contenders,
      figures: [
        { of: "took", label: "to the first 202", unit: "ms", aim: "≤ 250 ms" },
        { of: "memory", label: "idle memory", unit: "MB", aim: "≤ 90 MB" },
      ],
    });
  },
};

async function timeStart(bench: Bench, launch: () => Promise<BenchedServer>) {
  const startedAt = performance.timeOrigin + performance.now();
  const server = await launch();
  try {
    const took = (await bench.driver.call("firstAccepted", server)).at - startedAt;
    await sleep(2_000);
    return { took, memory: memoryOf(server.target.pid).now };
  } finally {
    await server.stop();
  }
}

/** Memory per alert shows only after many alerts. Alertmanager holds all of them. */
export const memory: Scenario = {
  name: "memory",
  what: "memory after 100,000 alerts at once, when all are routed",
  run(bench) {
    const alerts = 100_000;
    const measure: Measure = async (server, { folder }) => {
      const { serials, ...sent } = await bench.driver.call("sendAlerts", { target: server.target, alerts });
      const { dialect, pid } = server.target;
      const isTocsin = dialect === "tocsin";
      if (isTocsin) await allRouted(server);
      await sleep(3_000);
      const { now, most } = memoryOf(pid);
      return { ...sent, ...(isTocsin && lookUp(folder, serials)), now, most };
    };
    const contenders = [
      ...tocsins(bench, { kind: "telegram" }, measure),
      ...alertmanagers(bench, { kind: "webhook", isGrouped: true }, measure),
    ];
    return bench.compare({
      title: `after ${alerts.toLocaleString("en")} alerts`,
      rounds: Math.min(2, bench.rounds),
      limit: 240,
      contenders,
      figures: [
        { of: "now", label: "memory", unit: "MB", aim: "≤ 200 MB" },
        { of: "most", label: "memory at most", unit: "MB" },
      ],
    });
  },
};
