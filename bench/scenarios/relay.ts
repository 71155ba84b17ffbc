import type { Bench, Contender, Figure, Scenario } from "../harness/bench.ts";
import { type Phase, relayInPhases } from "../harness/loads.ts";
import { memoryOf } from "../harness/processes.ts";
import type { StandInKind } from "../harness/stand-ins.ts";
import { alertmanagers, floorIn } from "../servers/peers.ts";
import { contend, type Measure } from "../servers/server.ts";
import { relayConfig, sharedConfig, tocsins } from "../servers/tocsin.ts";

/** Tocsin and, where possible, Alertmanager. Each sends one message for each alert to a stand-in of this kind. */
const relayServers = ({ checkouts }: Bench, kind: StandInKind) => [
  ...tocsins({ checkouts }, (port) => relayConfig(kind, port)),
  ...(kind === "mail" ? [] : alertmanagers(kind, false)),
];

const names: Record<StandInKind, string> = { webhook: "a webhook", telegram: "a Telegram chat", mail: "a mailbox" };

/** The code of a new relay is not compiled yet. Both states are measured, and single alerts. */
const phases: Phase[] = [
  { name: "cold", alerts: 2_000, connections: 64 },
  { name: "", alerts: 6_000, connections: 64 },
  { name: "warm", alerts: 6_000, connections: 64 },
  { name: "", alerts: 500, connections: 1 },
  { name: "lone", alerts: 1_500, connections: 1 },
];

/** The aims are those of a webhook. */
const relayFigures: Figure[] = [
  { of: "cold.rate", label: "the first 2,000, alerts/s" },
  { of: "cold.cpu", label: "the first 2,000, CPU an alert", unit: "µs", aim: "≤ 2.5 of the floor" },
  { of: "warm.rate", label: "6,000 behind 8,000, alerts/s", aim: "≥ 0.8 of Alertmanager" },
  { of: "warm.cpu", label: "6,000 behind 8,000, CPU an alert", unit: "µs", aim: "≤ 2.0 of the floor" },
  { of: "warm.written", label: "6,000 behind 8,000, written an alert", unit: "KB", aim: "≤ 1.6 of the floor" },
  { of: "warm.statements", label: "6,000 behind 8,000, statements an alert", aim: "-" },
  { of: "lone.cpu", label: "1,500 one after another, CPU an alert", unit: "µs", aim: "≤ 1.6 of the floor" },
  { of: "lone.written", label: "1,500 one after another, written an alert", unit: "KB" },
  { of: "lone.statements", label: "1,500 one after another, statements an alert", aim: "-" },
  { of: "lone.wait", label: "1,500 one after another, p50 of the answer", unit: "ms" },
  { of: "memory", label: "memory at most", unit: "MB" },
];

function figuresOf(kind: StandInKind): Figure[] {
  if (kind === "webhook") return relayFigures;
  const isAimed = ({ of }: Figure) => kind === "telegram" && of === "warm.rate";
  return relayFigures.map((one) => ({ ...one, aim: isAimed(one) ? "≥ 1.3 of Alertmanager" : undefined }));
}

/** One message for each alert, without a pace: the limit of the way from hook to chat. */
function createRelayScenario(kind: StandInKind): Scenario {
  return {
    name: `relay-${kind}`,
    what: `alerts in to messages out, one message each, to ${names[kind]}: cold, warm, and one after another`,
    run(bench) {
      const floors = bench.floor === undefined || kind !== "webhook" ? [] : [floorIn(bench.floor)];
      const measure: Measure = async ({ target }) => {
        const sample = await relayInPhases(target, phases);
        return { ...sample, memory: memoryOf(target.pid).most };
      };
      return bench.compare({
        title: `relay to ${names[kind]}`,
        contenders: contend([...relayServers(bench, kind), ...floors], kind, "server", measure),
        figures: figuresOf(kind),
        limit: 240,
      });
    },
  };
}

/** Routes before the matching one that do not take the alert. */
const others = Array.from({ length: 200 }, (_, index) => ({
  name: `other-${index}`,
  match: { title: { equals: [`another alert ${index}`] } },
  to: ["desk"],
}));

/** The same number of routes, with all kinds of conditions. None of them takes the alert. */
const richOthers = others.map(({ match: { title }, ...route }, index) => ({
  ...route,
  match: {
    any: [{ title }, { metric: { glob: "eth_*_tvl*" } }],
    all: [{ severity: ["warning", "critical"] }, "value>=1000 source!=staging"],
    not: { chain: "base" },
    changePercent: { gte: -50 - index },
    distancePercent: { lte: 50 + index },
    token: { glob: `Q${index}*` },
  },
  activeHours: { from: "00:00", to: "00:00", timeZone: "Europe/Zurich" },
  silent: ["info"],
  note: "call the risk officer",
  links: [{ label: "Chart", url: "https://example.com/{chain}/{token}" }],
  again: { furtherBy: "5%" },
  rearm: { backBy: "2%" },
  cooldown: "30m",
  group: { by: ["token", "chain"], wait: "20s" },
}));

const inhibit = others
  .slice(0, 20)
  .map(({ name, match }) => ({ name, while: match, hold: { chain: "base" }, equal: ["chain"] }));

/** The cost of a large configuration: the same relay with one route, or one destination, for comparison. */
const growth: Scenario = {
  name: "growth",
  what: "relaying to webhooks with 201 routes, and to 50 destinations, beside one of each",
  async run(bench) {
    const all = { name: "all", to: ["desk"], default: true };
    const one = (port: number) => ({ ...relayConfig("webhook", port), routes: [all] });
    const behind = (routes: object[]) => (port: number) => ({ ...one(port), routes: [...routes, all] });
    const withAll = (port: number) => ({ ...behind(richOthers)(port), inhibit });
    const contenderOf = (name: string, configOf: (port: number) => Record<string, unknown>) =>
      contend(tocsins({ checkouts: [{ name, folder: "." }] }, configOf), "webhook", "server", ({ target }) =>
        relayInPhases(target, phases.slice(0, 3)),
      );
    const figures = relayFigures.filter(({ of }) => /^(cold|warm)\.(cpu|written)$/.test(of));
    const compare = (title: string, contenders: Contender[], aim?: string) =>
      bench.compare({
        title: `relay to ${title}`,
        contenders,
        figures: figures.map((figure) => ({ ...figure, aim: figure.of === "warm.cpu" ? aim : undefined })),
      });
    const plain = contenderOf("201 plain routes", behind(others));
    const single = contenderOf("one route", one);
    await compare("a webhook, 201 routes", [...contenderOf("Tocsin", behind(others)), ...single], "≤ 40 µs more");
    const rich = "a webhook, 201 routes with all that a route can say";
    await compare(rich, [...contenderOf("Tocsin", withAll), ...plain], "ratio ≤ 1.1");
    await compare("50 webhooks by 50 routes, one each", [
      ...contenderOf("Tocsin", (port) => sharedConfig(port, 50)),
      ...single,
    ]);
  },
};

/** A new process is slow until its code is compiled. */
const pacedPhases: Phase[] = [
  { name: "", alerts: 500, connections: 4 },
  { name: "paced", alerts: 80, connections: 4, everyMs: 50 },
];

/** The wait of a single alert, from the first byte of its POST to the last of its message. */
const createLatencyScenario = (kind: "webhook" | "telegram"): Scenario => ({
  name: `latency-${kind}`,
  what: `one alert each 50 ms, from the POST to the arrival at ${names[kind]}`,
  run: (bench) =>
    bench.compare({
      title: `one alert each 50 ms, POST to ${names[kind]}`,
      contenders: contend(relayServers(bench, kind), kind, "server", ({ target }) =>
        relayInPhases(target, pacedPhases),
      ),
      figures: [
        { of: "paced.p50", label: "p50", unit: "ms", aim: "≤ 3.2 ms" },
        { of: "paced.p99", label: "p99", unit: "ms", aim: "≤ 8 ms" },
      ],
    }),
});

export const relaying: Scenario[] = [
  createRelayScenario("webhook"),
  createRelayScenario("telegram"),
  createRelayScenario("mail"),
  growth,
  createLatencyScenario("webhook"),
  createLatencyScenario("telegram"),
];
