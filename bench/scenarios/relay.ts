import type { Bench, Contender, Figure, Sample, Scenario } from "../harness/bench.ts";
import type { Phase } from "../harness/loads.ts";
import { memoryOf } from "../harness/processes.ts";
import type { StandInKind } from "../harness/stand-ins.ts";
import { alertmanagers, type Measure, tocsins, withServer } from "../servers/contenders.ts";
import { type BenchedServer, startFloor } from "../servers/server.ts";
import { quickDesk, relayConfig } from "../servers/tocsin.ts";

/** Tocsin and, where possible, Alertmanager. Each sends one message for each alert to a stand-in of this kind. */
export function relayContenders(bench: Bench, kind: StandInKind, measure: Measure): Contender[] {
  const own = tocsins(bench, { kind, configOf: (port) => relayConfig(kind, port) }, measure);
  return kind === "mail" ? own : [...own, ...alertmanagers(bench, { kind }, measure)];
}

const names: Record<StandInKind, string> = { webhook: "a webhook", telegram: "a Telegram chat", mail: "a mailbox" };

/** The code of a new relay is not compiled yet. Both states are measured, and single alerts. */
const phasesOf = (kind: StandInKind): Phase[] => {
  const few = kind === "mail";
  return [
    { name: "cold", alerts: few ? 1_000 : 2_000, connections: 64 },
    { name: "", alerts: few ? 2_000 : 6_000, connections: 64 },
    { name: "warm", alerts: few ? 2_000 : 6_000, connections: 64 },
    { name: "", alerts: few ? 100 : 500, connections: 1 },
    { name: "lone", alerts: few ? 500 : 1_500, connections: 1 },
  ];
};

async function relayInPhases(bench: Bench, kind: StandInKind, { target }: BenchedServer): Promise<Sample> {
  const sample = await bench.driver.call("relayInPhases", { target, phases: phasesOf(kind) });
  return { ...sample, memory: memoryOf(target.pid).most };
}

const relayFigures: Figure[] = [
  { of: "cold.rate", label: "the first 2,000, alerts/s" },
  { of: "cold.cpu", label: "the first 2,000, CPU an alert", unit: "µs" },
  { of: "warm.rate", label: "6,000 behind 8,000, alerts/s" },
  { of: "warm.cpu", label: "6,000 behind 8,000, CPU an alert", unit: "µs" },
  { of: "warm.written", label: "6,000 behind 8,000, written an alert", unit: "KB" },
  { of: "warm.statements", label: "6,000 behind 8,000, statements an alert" },
  { of: "lone.cpu", label: "1,500 one after another, CPU an alert", unit: "µs" },
  { of: "lone.written", label: "1,500 one after another, written an alert", unit: "KB" },
  { of: "lone.statements", label: "1,500 one after another, statements an alert" },
  { of: "lone.wait", label: "1,500 one after another, p50 of the answer", unit: "ms" },
  { of: "memory", label: "memory at most", unit: "MB" },
];

const aims: Partial<Record<StandInKind, Record<string, string>>> = {
  webhook: {
    "cold.cpu": "≤ 2.5 of the floor",
    "warm.rate": "≥ 0.8 of Alertmanager",
    "warm.cpu": "≤ 2.0 of the floor",
    "warm.written": "≤ 1.6 of the floor",
    "warm.statements": "-",
    "lone.statements": "-",
    "lone.cpu": "≤ 1.6 of the floor",
  },
  telegram: { "warm.rate": "≥ 1.3 of Alertmanager" },
};

function figuresOf(kind: StandInKind): Figure[] {
  return relayFigures.map(({ label, ...figure }) => ({
    ...figure,
    label:
      kind === "mail"
        ? label.replace("2,000", "1,000").replace("6,000 behind 8,000", "2,000 behind 3,000").replace("1,500", "500")
        : label,
    aim: aims[kind]?.[figure.of],
  }));
}

/** One message for each alert, without a pace: the limit of the way from hook to chat. */
export function createRelayScenario(kind: StandInKind): Scenario {
  return {
    name: `relay-${kind}`,
    what: `alerts in to messages out, one message each, to ${names[kind]}: cold, warm, and one after another`,
    async run(bench) {
      const measure = (server: BenchedServer) => relayInPhases(bench, kind, server);
      const contenders = relayContenders(bench, kind, measure);
      const { floor: file } = bench;
      if (file !== undefined && kind === "webhook") {
        const run = withServer(bench, kind, ({ folder, port }) => startFloor(file, folder, port), measure);
        contenders.push({ name: "the floor", run });
      }
      await bench.compare({ title: `relay to ${names[kind]}`, contenders, figures: figuresOf(kind), limit: 240 });
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
export const growth: Scenario = {
  name: "growth",
  what: "relaying to webhooks with 201 routes, and to 50 destinations, beside one of each",
  async run(bench) {
    const phases = phasesOf("webhook").slice(0, 3);
    const [own] = bench.checkouts;
    const contend = (name: string, configOf: (port: number) => Record<string, unknown>): Contender[] =>
      tocsins({ ...bench, checkouts: [{ ...own, name }] }, { kind: "webhook", configOf }, ({ target }) =>
        bench.driver.call("relayInPhases", { target, phases }),
      );
    const figures = relayFigures.filter(({ of }) => /^(cold|warm)\.(cpu|written)$/.test(of));
    const one = (port: number) => ({
      ...relayConfig("webhook", port),
      routes: [{ name: "all", to: ["desk"], default: true }],
    });
    const behind = (routes: object[]) => (port: number) => ({ ...one(port), routes: [...routes, ...one(port).routes] });
    const withAll = (port: number) => ({ ...behind(richOthers)(port), inhibit });
    await bench.compare({
      title: "relay to a webhook, 201 routes",
      contenders: [...contend("Tocsin", behind(others)), ...contend("one route", one)],
      figures: figures.map((figure) => (figure.of === "warm.cpu" ? { ...figure, aim: "≤ 40 µs more" } : figure)),
    });
    await bench.compare({
      title: "relay to a webhook, 201 routes with all that a route can say",
      contenders: [...contend("Tocsin", withAll), ...contend("201 plain routes", behind(others))],
      figures: figures.map((figure) => (figure.of === "warm.cpu" ? { ...figure, aim: "ratio ≤ 1.1" } : figure)),
    });
    await bench.compare({
      title: "relay to 50 webhooks by 50 routes, one each",
      contenders: [...contend("Tocsin", toFifty), ...contend("one route", one)],
      figures,
    });
  },
};

/** The last two digits of the alert's number decide the desk. */
function toFifty(port: number): Record<string, unknown> {
  const desks = Array.from({ length: 50 }, (_, index) => `desk-${index}`);
  return {
    ...relayConfig("webhook", port),
    destinations: Object.fromEntries(desks.map((name) => [name, quickDesk("webhook", port)])),
    routes: desks.map((name, index) => {
      const digits = [index, index + 50].map((number) => String(number).padStart(2, "0"));
      return { name, match: { title: { matches: `(${digits.join("|")})$` } }, to: [name] };
    }),
  };
}

/** The wait of a single alert, from the first byte of its POST to the last of its message. */
export function createLatencyScenario(kind: "webhook" | "telegram"): Scenario {
  const name = kind === "webhook" ? "a webhook" : "a Telegram chat";
  return {
    name: `latency-${kind}`,
    what: `one alert each 50 ms, from the POST to the arrival at ${name}`,
    run: (bench) =>
      bench.compare({
        title: `one alert each 50 ms, POST to ${name}`,
        contenders: relayContenders(bench, kind, ({ target }) =>
          bench.driver.call("pacedAlerts", { target, everyMs: 50, warmUp: 500, count: 80 }),
        ),
        figures: [
          { of: "p50", label: "p50", unit: "ms", aim: "≤ 3.2 ms" },
          { of: "p99", label: "p99", unit: "ms", aim: "≤ 8 ms" },
        ],
      }),
  };
}
