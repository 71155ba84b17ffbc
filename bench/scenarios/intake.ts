import type { Bench, Scenario } from "../harness/bench.ts";
import { flood } from "../harness/loads.ts";
import { syncCost } from "../harness/machine.ts";
import { inFolder } from "../harness/processes.ts";
import { alertmanagers, hono } from "../servers/peers.ts";
import { contend, type Measure } from "../servers/server.ts";
import { countUnrouted, lookUp, tocsins } from "../servers/tocsin.ts";

/** Only accepting, as senders see it. The alerts that are not routed at the end of the load are shown too. */
export const intake: Scenario = {
  name: "intake",
  what: "alerts accepted and fsynced, against a server that reads their JSON and keeps nothing",
  async run(bench) {
    for (const place of places) {
      for (const connections of [1, 64]) await measure(bench, place, connections);
    }
  },
};

const places = ["server", "anywhere"] as const;
const cores = { server: "one core", anywhere: "two cores" };
const ratioAims = { server: "ratio to Hono ≥ 0.60", anywhere: "ratio to Hono ≥ 0.75" };

function measure(bench: Bench, place: "server" | "anywhere", connections: number): Promise<void> {
  const isLone = connections === 1;
  const floodOf: Measure = async (server, { folder }) => {
    const sample = await flood({ targets: [server.target], connections, warmUpMs: 700, ms: 1_000 });
    // Only Tocsin counts its statements, and has alerts to look up.
    if (server.target.statements === undefined) return sample;
    return { ...sample, ...lookUp(folder, sample.accepted), unrouted: await countUnrouted(server) };
  };
  const sync = { name: "a sync alone", run: () => inFolder(async (folder) => syncCost(folder)) };
  return bench.compare({
    title: `accept, ${cores[place]}, ${connections} kept connection${isLone ? "" : "s"}`,
    contenders: [
      ...contend(tocsins(bench), "telegram", place, floodOf),
      ...contend([hono, ...alertmanagers("webhook", true)], "webhook", place, floodOf),
      ...(isLone ? [sync] : []),
    ],
    figures: [
      { of: "rate", label: "alerts/s", aim: isLone ? undefined : ratioAims[place] },
      { of: "cpu", label: "CPU an alert", unit: "µs" },
      ...(isLone ? [{ of: "p50", label: "wait p50", unit: "ms", aim: "≤ 0.45 ms" }] : []),
      { of: "p99", label: "wait p99", unit: "ms", aim: isLone ? "≤ 3 ms" : "≤ 12 ms" },
      { of: "unrouted", label: "not yet routed at the end" },
    ],
  });
}

/** The rate of routing under an endless flood. The load waits when more than a second's alerts are unrouted. */
export const routing: Scenario = {
  name: "routing",
  what: "alerts accepted and routed without end, so that the backlog does not grow",
  async run(bench) {
    for (const place of places) {
      const measure: Measure = (server) => {
        const backlog = { window: 5_000, countUnrouted: () => countUnrouted(server) };
        return flood({ targets: [server.target], connections: 64, warmUpMs: 2_000, ms: 3_000, ...backlog });
      };
      await bench.compare({
        title: `accept and route without end, ${cores[place]}`,
        contenders: contend(tocsins(bench), "telegram", place, measure),
        figures: [
          { of: "rate", label: "alerts/s", aim: place === "server" ? "≥ 5,000" : undefined },
          { of: "cpu", label: "CPU an alert", unit: "µs" },
        ],
      });
    }
  },
};
