import { setTimeout as sleep } from "node:timers/promises";
import type { Contender, Scenario } from "../harness/bench.ts";
import { firstAccepted, sendAlerts } from "../harness/loads.ts";
import { inFolder, memoryOf } from "../harness/processes.ts";
import { alertmanagers, bareNode } from "../servers/peers.ts";
import { contend, type Measure, type Server } from "../servers/server.ts";
import { allRouted, lookUp, tocsins } from "../servers/tocsin.ts";

/** The start on an existing log, as after an upgrade. */
export const startUp: Scenario = {
  name: "start",
  what: "from the start of the process to the first 202, and the memory of one that waits",
  run(bench) {
    const own = tocsins(bench, undefined, { isCounted: false });
    const others = [bareNode, ...alertmanagers("webhook", true)];
    return bench.compare({
      title: "start",
      rounds: Math.max(5, bench.rounds),
      contenders: [...own, ...others].map((server) => timeStart(server, own.includes(server))),
      figures: [
        { of: "took", label: "to the first 202", unit: "ms", aim: "≤ 250 ms" },
        { of: "memory", label: "idle memory", unit: "MB", aim: "≤ 90 MB" },
      ],
    });
  },
};

const timeStart = ({ name, launch }: Server, hasLog: boolean): Contender => ({
  name,
  run: () =>
    inFolder(async (folder) => {
      // Nobody receives messages there.
      const at = { folder, port: 9 };
      if (hasLog) {
        const before = await launch("server", at);
        await before.ready();
        await before.stop();
      }
      const startedAt = performance.now();
      const { target, stop } = await launch("server", at);
      try {
        const took = (await firstAccepted(target)) - startedAt;
        await sleep(2_000);
        return { took, memory: memoryOf(target.pid).now };
      } finally {
        await stop();
      }
    }),
});

/** Memory per alert shows only after many alerts. Alertmanager holds all of them. */
export const memory: Scenario = {
  name: "memory",
  what: "memory after 100,000 alerts at once, when all are routed",
  run(bench) {
    const alerts = 100_000;
    const measure: Measure = async (server, { folder }) => {
      const sent = await sendAlerts(server.target, alerts);
      const isTocsin = server.target.dialect === "tocsin";
      if (isTocsin) await allRouted(server);
      await sleep(3_000);
      return { ...sent, ...(isTocsin && lookUp(folder, sent.accepted)), ...memoryOf(server.target.pid) };
    };
    return bench.compare({
      title: `after ${alerts.toLocaleString("en")} alerts`,
      rounds: Math.min(2, bench.rounds),
      limit: 240,
      contenders: [
        ...contend(tocsins(bench), "telegram", "server", measure),
        ...contend(alertmanagers("webhook", true), "webhook", "server", measure),
      ],
      figures: [
        { of: "now", label: "memory", unit: "MB", aim: "≤ 200 MB" },
        { of: "most", label: "memory at most", unit: "MB" },
      ],
    });
  },
};
