import { type Bench, type Contender, inFolder, type Scenario } from "../harness/bench.ts";
import { syncCost } from "../harness/machine.ts";
import { canPin, type Place } from "../harness/processes.ts";
import { lookUp } from "../harness/stored.ts";
import { alertmanagers, tocsins, withServer } from "../servers/contenders.ts";
import { type BenchedServer, startHono } from "../servers/server.ts";
import { readStatus } from "../servers/tocsin.ts";

interface Shape {
  connections: number;
  keepAlive?: boolean;
  aims?: Partial<Record<Place, string>>;
}

const shapes: Shape[] = [
  { connections: 1 },
  {
    connections: 64,
    aims: { server: "ratio to Hono ≥ 0.60", anywhere: "ratio to Hono ≥ 0.75" },
  },
  { connections: 64, keepAlive: false },
];

/** Only accepting, as senders see it. The alerts that are not routed at the end of the load are shown too. */
export const intake: Scenario = {
  name: "intake",
  what: "alerts accepted and fsynced, against a server that reads their JSON and keeps nothing",
  async run(bench) {
    for (const place of canPin ? (["server", "anywhere"] as const) : (["anywhere"] as const)) {
      for (const shape of shapes) await measure(bench, place, shape);
    }
  },
};

async function measure(bench: Bench, place: Place, { connections, keepAlive = true, aims }: Shape) {
  const load = { connections, keepAlive, warmUpMs: 700, ms: 1_000 };
  const isLone = connections === 1 && keepAlive;
  const floodOf = async ({ target }: BenchedServer) => {
    const { serials: _, ...sample } = await bench.driver.call("flood", { target, ...load });
    return sample;
  };
  const contenders: Contender[] = [
    ...tocsins(bench, { kind: "telegram", place }, async (server, { folder }) => {
      const { serials, ...sample } = await bench.driver.call("flood", { target: server.target, ...load });
      const { queue } = await readStatus(server);
      return { ...sample, ...lookUp(folder, serials), unrouted: queue.unrouted };
    }),
    { name: "Hono", run: withServer(bench, "webhook", () => startHono(place), floodOf) },
    ...(keepAlive ? alertmanagers(bench, { kind: "webhook", place, isGrouped: true }, floodOf) : []),
  ];
  if (isLone) contenders.push({ name: "a sync alone", run: () => inFolder(bench, async (folder) => syncCost(folder)) });
  const cores = place === "server" ? "one core" : "two cores";
  const kept = keepAlive ? "kept" : "new";
  await bench.compare({
    title: `accept, ${cores}, ${connections} ${kept} connection${connections === 1 ? "" : "s"}`,
    contenders,
    figures: [
      { of: "rate", label: "alerts/s", aim: aims?.[place] },
      { of: "cpu", label: "CPU an alert", unit: "µs" },
      ...(isLone ? [{ of: "p50", label: "wait p50", unit: "ms", aim: "≤ 0.45 ms" }] : []),
      { of: "p99", label: "wait p99", unit: "ms", aim: isLone ? "≤ 3 ms" : aims && "≤ 12 ms" },
      { of: "unrouted", label: "not yet routed at the end" },
    ],
  });
}
