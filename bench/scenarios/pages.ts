import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Figure, Sample, Scenario } from "../harness/bench.ts";
import { Load } from "../harness/load.ts";
import { readPages } from "../harness/loads.ts";
import { memoryOf } from "../harness/processes.ts";
import { sampleWords } from "../sample-alerts.ts";
import { type BenchedServer, withServers } from "../servers/server.ts";
import { adminToken, allRouted, tocsinIn } from "../servers/tocsin.ts";

/** The wait of a reader, alone and under full intake. The aims are for each length of the log. */
export const pages: Scenario = {
  name: "pages",
  what: "pages, searches and API at 10 thousand and at 1 million stored alerts, alone and in a flood",
  async run(bench) {
    for (const alerts of [10_000, 1_000_000]) await measure(bench, alerts);
  },
};

async function measure(bench: Bench, alerts: number): Promise<void> {
  const { checkouts } = bench;
  const launchOnLog = (checkout: string, folder: string, port: number) => {
    const generator = ["--import", "tsx", "bench/stored-log.ts", String(alerts), "--keep", folder];
    execFileSync(process.execPath, generator, { stdio: "inherit" });
    return tocsinIn(checkout)("server", { folder, port });
  };
  await withServers(
    "telegram",
    ({ folder, port }) => checkouts.map((one, index) => launchOnLog(one.folder, join(folder, `${index}`), port)),
    async (servers) => {
      const readers = await Promise.all(servers.map(createReader));
      await bench.compare({
        title: `${alerts.toLocaleString("en")} stored alerts`,
        rounds: Math.min(2, bench.rounds),
        limit: 180,
        contenders: readers.map((run, index) => ({ name: checkouts[index]?.name ?? "", run })),
        figures: figuresOf(readingsOf([])),
      });
    },
  );
}

const quick = ["p95 ≤ 10 ms", "p95 ≤ 25 ms"] as const;
const search = ["≤ 100 ms", ""] as const;

/** `aims`: alone, and in a flood. */
const readingsOf = (ids: string[]) => [
  { name: "log page", paths: ["/"], aims: quick },
  {
    name: "filters",
    paths: ["/?severity=critical", "/?state=failed", "/?destination=risk", "/?destination=pager&severity=info"],
    aims: quick,
  },
  { name: "searches", paths: Object.values(sampleWords).map((word) => `/?q=${word}`), aims: search },
  // Most alerts have the word, and hardly any meet the rest: much is read and little found.
  { name: "worst search", paths: [`/?q=${sampleWords.everywhere}&destination=pager&severity=info`], aims: search },
  { name: "alert page", paths: ids.map((id) => `/alerts/${id}`), aims: quick },
  { name: "event stream, to its first byte", paths: ["/api/stream"], aims: quick },
  { name: "API list", paths: ["/api/alerts?limit=50"], aims: quick },
];

function figuresOf(readings: ReturnType<typeof readingsOf>): Figure[] {
  const figure = (of: string, label: string, aim: string) => ({ of, label: `${label}, p95`, unit: "ms", aim });
  return [
    ...readings.map(({ name, aims }) => figure(name, name, aims[0])),
    ...readings.map(({ name, aims }) => figure(`${name} flooded`, `${name}, in a flood`, aims[1])),
    { of: "rate", label: "accepted meanwhile, alerts/s" },
    { of: "memory", label: "memory before any flood", unit: "MB", aim: "≤ 250 MB" },
    { of: "most", label: "memory at most", unit: "MB" },
  ];
}

const ms = 500;

async function createReader(server: BenchedServer): Promise<() => Promise<Sample>> {
  const { target, origin } = server;
  const cookie = await logIn(origin);
  const answer = await fetch(`${origin}/api/alerts?limit=20&state=sent`, { headers: { cookie } });
  const { data } = (await answer.json()) as { data: { id: string }[] };
  const readings = readingsOf(data.map(({ id }) => id));
  const urlsOf = (paths: string[]) => paths.map((path) => origin + path);
  const p95 = (paths: string[]) => readPages(urlsOf(paths), cookie, ms);
  let calmMemory: number | undefined;
  return async () => {
    const sample: Sample = {};
    await allRouted(server);
    for (const { name, paths } of readings) {
      await p95(paths);
      sample[name] = await p95(paths);
    }
    calmMemory ??= memoryOf(target.pid).now;
    const startedAt = performance.now();
    const accepted = await Load.run(async (load) => {
      load.send({ target, connections: 64 });
      await sleep(ms);
      for (const { name, paths } of readings) sample[`${name} flooded`] = await p95(paths);
      return load.accepted();
    });
    const rate = (1000 * accepted) / (performance.now() - startedAt);
    return { ...sample, rate, memory: calmMemory, most: memoryOf(target.pid).most };
  };
}

/** The cookie of a session. Without one a page answers 303. */
async function logIn(origin: string): Promise<string> {
  const body = new URLSearchParams({ token: adminToken, next: "/" });
  const answer = await fetch(`${origin}/login`, { method: "POST", headers: { origin }, body, redirect: "manual" });
  return answer.headers.getSetCookie()[0]?.split(";")[0] ?? "";
}
