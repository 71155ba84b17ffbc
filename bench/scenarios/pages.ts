import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, type Figure, inFolder, type Sample, type Scenario } from "../harness/bench.ts";
import { startDriver } from "../harness/drive.ts";
import { memoryOf, start } from "../harness/processes.ts";
import { sampleWords } from "../sample-alerts.ts";
import type { BenchedServer } from "../servers/server.ts";
import { adminToken, allRouted, digestConfig, readStatus, startTocsin } from "../servers/tocsin.ts";

/** The wait of a reader, alone and under full intake. The aims are for each length of the log. */
export const pages: Scenario = {
  name: "pages",
  what: "pages, searches and API at 10 thousand and at 1 million stored alerts, alone and in a flood",
  async run(bench) {
    for (const alerts of [10_000, 1_000_000]) {
      await inFolder(bench, async (folder) => {
        await layDownLog(bench, alerts, folder);
        await measure(bench, alerts, folder);
      });
    }
  },
};

/** The cache holds logs of this schema only. */
const schema = readdirSync("src/store/sqlite/migrations").sort().at(-1);

async function layDownLog({ cache }: Bench, alerts: number, folder: string): Promise<void> {
  const kept = cache && join(resolve(cache), `log-${alerts}-${schema}`);
  if (kept !== undefined && existsSync(kept)) return cpSync(kept, folder, { recursive: true });
  const generator = [process.execPath, "--import", "tsx", "bench/stored-log.ts", String(alerts), "--keep", folder];
  const child = start(generator, { place: "anywhere", mayEnd: true });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`a log of ${alerts} alerts could not be written to ${folder}`);
  if (kept === undefined) return;
  mkdirSync(resolve(cache ?? ""), { recursive: true });
  // Copied under another name first, so a partial copy is never used.
  cpSync(folder, `${kept}-${process.pid}`, { recursive: true });
  renameSync(`${kept}-${process.pid}`, kept);
}

interface Reading {
  name: string;
  paths: string[];
  aims: [alone: string, flooded: string];
}

const quick: Reading["aims"] = ["p95 ≤ 10 ms", "p95 ≤ 25 ms"];
const search: Reading["aims"] = ["≤ 100 ms", ""];

async function readingsOf(server: BenchedServer, cookie: string): Promise<Reading[]> {
  const answer = await fetch(`${server.origin}/api/alerts?limit=20&state=sent`, { headers: { cookie } });
  const { data } = (await answer.json()) as { data: { id: string }[] };
  return [
    { name: "log page", paths: ["/"], aims: quick },
    {
      name: "filters",
      paths: ["/?severity=critical", "/?state=failed", "/?destination=risk", "/?destination=pager&severity=info"],
      aims: quick,
    },
    { name: "searches", paths: Object.values(sampleWords).map((word) => `/?q=${word}`), aims: search },
    // Most alerts have the word, and hardly any meet the rest: much is read and little found.
    { name: "worst search", paths: [`/?q=${sampleWords.everywhere}&destination=pager&severity=info`], aims: search },
    { name: "alert page", paths: data.map(({ id }) => `/alerts/${id}`), aims: quick },
    { name: "event stream, to its first byte", paths: ["/api/stream"], aims: quick },
    { name: "API list", paths: ["/api/alerts?limit=50"], aims: quick },
  ];
}

async function measure(bench: Bench, alerts: number, folder: string): Promise<void> {
  const ms = 500;
  const port = await bench.driver.call("openStandIn", "telegram");
  const place = "server";
  const servers: BenchedServer[] = [];
  const figures: Figure[] = [];
  try {
    const contenders = [];
    for (const { name, folder: checkout } of bench.checkouts) {
      const own = join(folder, String(servers.length));
      if (bench.checkouts.length > 1) cpSync(join(folder, "tocsin.db"), join(own, "tocsin.db"), { recursive: true });
      const data = bench.checkouts.length > 1 ? own : folder;
      const server = await startTocsin({ place, checkout, folder: data, config: digestConfig, standInPort: port });
      servers.push(server);
      const cookie = await logIn(server);
      const readings = await readingsOf(server, cookie);
      const read = (paths: string[]) =>
        bench.driver.call("readPages", { urls: paths.map((path) => server.origin + path), cookie, ms });
      let calmMemory: number | undefined;
      if (figures.length === 0) figures.push(...figuresOf(readings));
      contenders.push({
        name,
        async run() {
          const sample: Sample = {};
          await allRouted(server);
          for (const { name, paths } of readings) {
            await read(paths);
            sample[name] = (await read(paths)).p95;
          }
          calmMemory ??= memoryOf(server.target.pid).now;
          const before = (await readStatus(server)).alerts.total;
          const startedAt = performance.now();
          const flooder = startDriver();
          // The process ends when all is read, and the load with it.
          flooder.call("flood", { target: server.target, connections: 64, warmUpMs: 0, ms: 3_600_000 }).catch(() => {});
          await sleep(ms);
          for (const { name, paths } of readings) sample[`${name} flooded`] = (await read(paths)).p95;
          await flooder.end();
          const seconds = (performance.now() - startedAt) / 1000;
          const rate = ((await readStatus(server)).alerts.total - before) / seconds;
          return { ...sample, rate, memory: calmMemory, most: memoryOf(server.target.pid).most };
        },
      });
    }
    const title = `${alerts.toLocaleString("en")} stored alerts`;
    await bench.compare({ title, rounds: Math.min(2, bench.rounds), limit: 180, contenders, figures });
  } finally {
    for (const server of servers) await server.stop();
    await bench.driver.call("closeStandIn");
  }
}

function figuresOf(readings: Reading[]): Figure[] {
  return [
    ...readings.map(({ name, aims: [aim] }) => ({ of: name, label: `${name}, p95`, unit: "ms", aim })),
    ...readings.map(({ name, aims: [, aim] }) => ({
      of: `${name} flooded`,
      label: `${name}, in a flood, p95`,
      unit: "ms",
      aim,
    })),
    { of: "rate", label: "accepted meanwhile, alerts/s" },
    { of: "memory", label: "memory before any flood", unit: "MB", aim: "≤ 250 MB" },
    { of: "most", label: "memory at most", unit: "MB" },
  ];
}

async function logIn({ origin }: BenchedServer): Promise<string> {
  const answer = await fetch(`${origin}/login`, {
    method: "POST",
    headers: { origin },
    body: new URLSearchParams({ token: adminToken, next: "/" }),
    redirect: "manual",
  });
  const [cookie] = answer.headers.getSetCookie();
  if (cookie === undefined) throw new Error(`the login answered ${answer.status} without a cookie`);
  return cookie.split(";", 1)[0] ?? "";
}
