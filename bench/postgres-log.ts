/**
 * `npx tsx bench/postgres-log.ts [--stored 1000000] [--url postgres://…] [--readings 100] [--remove 60 --rate 100]`: how long a relay
 * takes for its pages with so many alerts stored in PostgreSQL, and what that costs it and the server of processor time. Build first.
 *
 * Without `--url` it starts a PostgreSQL of its own below this folder, and fills it: `bench/stored-log.ts`, then `tocsin move`, some minutes for a million.
 * A database that `--url` names is filled when it is empty, and else taken as it is. `--remove` then removes the oldest alerts for so many
 * seconds, by the duty's own pace, two seconds with it and two without, while `--rate` alerts a second come in and the log is read; it says
 * what that costs either.
 */
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import pg from "pg";
import { systemClock } from "../src/core/clock.ts";
import { openPostgresDatabase } from "../src/store/postgres/store.ts";
import { createRemoving } from "../src/store/postgres/removing.ts";
import { postgresDialect } from "../src/store/postgres/tx.ts";
import { createRemoving as createOldRemoving } from "../src/store/transactions/removing.ts";
import { createRetention } from "../src/watch/retention.ts";
import { cleanUp, createFolder, removeFolder, start } from "./harness/processes.ts";
import { quantile } from "./harness/statistics.ts";
import { sampleDestinations, sampleWords } from "./sample-alerts.ts";
import { startBenchedPostgres } from "./servers/postgres.ts";
import { adminToken, type BenchedServer, startTocsin } from "./servers/tocsin.ts";

const { values } = parseArgs({
  options: {
    stored: { type: "string", default: "1000000" },
    url: { type: "string" },
    readings: { type: "string", default: "100" },
    only: { type: "string", default: "" },
    remove: { type: "string", default: "0" },
    rate: { type: "string", default: "100" },
  },
});

const day = 86_400_000;
const ago = (days: number) => encodeURIComponent(new Date(Date.now() - days * day).toISOString());

/** A month that lies in the middle of half a year. */
const month = `from=${ago(120)}&to=${ago(90)}`;

const pages: Record<string, string> = {
  "log, newest of each key": "/",
  "log, single alerts": "/?view=events",
  "log, 7 days of bars": "/?span=7d",
  "severity critical": "/?severity=critical",
  failed: "/?state=failed",
  "any problem": "/?state=problem",
  sent: "/?state=sent",
  "a destination": "/?destination=risk",
  "a destination of the oldest": "/?destination=left",
  "a destination and warning": "/?destination=risk&severity=warning",
  "a destination and a severity that it never gets": "/?destination=pager&severity=info",
  "a destination and failed": "/?destination=risk&state=failed",
  "critical and failed": "/?severity=critical&state=failed",
  "a month and failed": `/?${month}&state=failed`,
  "a month and a destination": `/?${month}&destination=risk`,
  ...Object.fromEntries(Object.entries(sampleWords).map(([name, word]) => [`word, ${name}`, `/?q=${word}`])),
  "worst search": `/?q=${sampleWords.everywhere}&destination=pager&severity=info`,
  Destinations: "/destinations",
  System: "/system",
  "event stream, to its first byte": "/api/stream",
  "API list": "/api/alerts?limit=50",
};

async function fill(url: string): Promise<void> {
  const folder = createFolder(resolve("."));
  const run = async (command: string[], env = {}) => {
    const child = start([process.execPath, ...command], { place: "anywhere", mayEnd: true, env });
    child.stdout?.resume();
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}`);
  };
  try {
    await run(["--import", "tsx", "bench/stored-log.ts", values.stored, "--keep", folder]);
    await run(["bin/tocsin.js", "move", "--to"], { DATA_DIR: folder, DATABASE_URL: url });
  } finally {
    removeFolder(folder);
  }
  await ask(url, "VACUUM ANALYZE");
}

async function ask<Row extends object>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Milliseconds that a process has used, all its threads. */
function usedMs(pid: number): number {
  let sum = 0;
  try {
    for (const task of readdirSync(`/proc/${pid}/task`))
      sum += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ", 1)[0]) / 1e6;
  } catch {
    // It has ended, or runs on another machine.
  }
  return sum;
}

async function logIn({ origin }: BenchedServer): Promise<string> {
  const answer = await fetch(`${origin}/login`, {
    method: "POST",
    headers: { origin },
    body: new URLSearchParams({ token: adminToken, next: "/" }),
    redirect: "manual",
  });
  return answer.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "";
}

/** Milliseconds until all of it is read, or the first byte of what does not end. */
async function readPage(server: BenchedServer, cookie: string, path: string): Promise<number> {
  const startedAt = performance.now();
  const answer = await fetch(server.origin + path, { headers: { cookie }, redirect: "manual" });
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
  const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream");
  const reader = answer.body?.getReader();
  for (let part = await reader?.read(); part?.done === false && !isStream; part = await reader?.read());
  const tookMs = performance.now() - startedAt;
  await reader?.cancel();
  return tookMs;
}

const shown = (times: number[], share: number) =>
  quantile(Float64Array.from(times).sort(), share).toFixed(1).padStart(7);

async function measurePages(server: BenchedServer, cookie: string, url: string): Promise<void> {
  const answer = await fetch(`${server.origin}/api/alerts?limit=20&state=sent`, { headers: { cookie } });
  const ids = ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  const all: Record<string, string[]> = {
    ...Object.fromEntries(Object.entries(pages).map(([name, path]) => [name, [path]])),
    "one alert": ids.map((id) => `/alerts/${id}`),
  };
  for (let warmUp = 0; warmUp < 100; warmUp += 1) await readPage(server, cookie, "/");
  console.log(`${"ms".padEnd(50)}    p50     p95   relay  server`);
  for (const [name, paths] of Object.entries(all)) {
    if (!name.includes(values.only)) continue;
    const read = (index: number) => readPage(server, cookie, paths[index % paths.length] ?? "");
    // Each of the relay's connections has its plans by then.
    for (let index = 0; index < 20; index += 1) await read(index);
    const backends = await ask<{ pid: number }>(
      url,
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database()",
    );
    const usedByServer = () => backends.reduce((sum, { pid }) => sum + usedMs(pid), 0);
    const before = [usedMs(server.target.pid), usedByServer()];
    const times: number[] = [];
    for (let index = 0; index < Number(values.readings); index += 1) times.push(await read(index));
    const after = [usedMs(server.target.pid), usedByServer()];
    const used = after.map((ms, index) => ((ms - (before[index] ?? 0)) / times.length).toFixed(1).padStart(7));
    console.log(`${name.padEnd(50)}${shown(times, 0.5)} ${shown(times, 0.95)} ${used.join(" ")}`);
  }
}

/** Two seconds with and two without, again and again. */
async function measureRemoving(server: BenchedServer, cookie: string, url: string): Promise<void> {
  const database = await openPostgresDatabase({ url, relayName: "bench" });
  const removing = createRemoving(database, createOldRemoving(postgresDialect));
  const waits = { with: [] as number[], without: [] as number[] };
  const reads = { with: [] as number[], without: [] as number[] };
  const stop = new AbortController();
  let [removed, steps, onMs] = [0, 0, 0];
  let isOn = false;
  const [span] = await ask<{ oldest: string; newest: string }>(
    url,
    `SELECT (SELECT received_at FROM alerts ORDER BY seq LIMIT 1) AS oldest, (SELECT received_at FROM alerts ORDER BY seq DESC LIMIT 1) AS newest`,
  );
  const maxAgeMs =
    Math.floor((Number(span?.newest) - Number(span?.oldest)) * 0.2) + (Date.now() - Number(span?.newest));
  const whileOn = async () => {
    while (!isOn && !stop.signal.aborted) await sleep(5);
  };
  const duty = createRetention({
    store: {
      ...removing,
      async removeAlerts(step) {
        const done = await removing.removeAlerts(step);
        removed += done.removed;
        steps += 1;
        return done;
      },
    },
    rules: { maxAgeMs },
    clock: {
      now: Date.now,
      // The ten minutes before the first look are left out, and while it is off a rest does not end.
      sleep: async (ms, signal) => {
        if (ms < 600_000) await systemClock.sleep(ms, signal);
        await whileOn();
      },
    },
    log: { info: console.log, warn: console.log, error: console.log, debug() {} } as never,
  }).run(stop.signal);
  const endsAt = performance.now() + Number(values.remove) * 1000;
  const text = "x".repeat(1_200);
  let sent = 0;
  const accepting = (async () => {
    const from = performance.now();
    while (performance.now() < endsAt) {
      for (const due = ((performance.now() - from) / 1000) * Number(values.rate); sent < due; sent += 1) {
        const calledAt = performance.now();
        const kind = isOn ? "with" : "without";
        const body = JSON.stringify({
          title: `TVL of pool ${sent % 5_000} fell`,
          key: `tvl:${sent % 5_000}`,
          event: sent,
          text,
        });
        void fetch(server.target.url, { method: "POST", headers: { "content-type": "application/json" }, body })
          .then((answer) => answer.arrayBuffer())
          .then(() => waits[kind].push(performance.now() - calledAt));
      }
      await sleep(2);
    }
  })();
  const switching = (async () => {
    for (let round = 0; performance.now() < endsAt; round += 1) {
      isOn = round % 2 === 1;
      const began = performance.now();
      await sleep(2_000);
      if (isOn) onMs += performance.now() - began;
    }
  })();
  for (let index = 0; performance.now() < endsAt; index += 1) {
    const kind = isOn ? "with" : "without";
    reads[kind].push(await readPage(server, cookie, index % 2 === 0 ? "/" : "/?state=failed"));
  }
  stop.abort();
  isOn = true;
  await Promise.all([accepting, switching, duty]);
  await database.close();
  console.log(`removed ${removed} in ${steps} steps, ${((removed / onMs) * 1000).toFixed(0)}/s while it was on`);
  for (const [name, times] of Object.entries({ accept: waits, "log page": reads }))
    console.log(
      `${name}, ms without → with: p50 ${shown(times.without, 0.5)} → ${shown(times.with, 0.5)}, p95 ${shown(times.without, 0.95)} → ${shown(times.with, 0.95)}`,
    );
}

async function measure(url: string): Promise<void> {
  const isMade = await ask<{ made: boolean }>(url, "SELECT to_regclass('alerts') IS NOT NULL AS made");
  if (!isMade[0]?.made) await fill(url);
  const [found] = await ask<{ alerts: string; size: string }>(
    url,
    "SELECT count(*) AS alerts, pg_size_pretty(pg_database_size(current_database())) AS size FROM alerts",
  );
  console.log(`${found?.alerts} alerts stored, ${found?.size}`);
  const folder = createFolder(resolve("."));
  const chats = Object.entries(sampleDestinations).filter(([name]) => name !== "left");
  const sink = (name: string) => ({ type: "webhook", url: `http://127.0.0.1:9/${name}`, allowInternal: ["127.0.0.1"] });
  mkdirSync(join(folder, "relay"));
  const server = await startTocsin({
    place: "anywhere",
    checkout: ".",
    folder: join(folder, "relay"),
    // What comes in is sent to nobody: it is routed, and no more.
    config: {
      destinations: Object.fromEntries(chats.map(([name]) => [name, sink(name)])),
      routes: [{ name: "none", match: { severity: "critical" }, to: ["pager"] }],
    },
    databaseUrl: url,
  });
  try {
    const cookie = await logIn(server);
    await measurePages(server, cookie, url);
    if (Number(values.remove) > 0) await measureRemoving(server, cookie, url);
  } finally {
    await server.stop();
    removeFolder(folder);
  }
}

try {
  if (values.url !== undefined) await measure(values.url);
  else {
    const postgres = await startBenchedPostgres(resolve("."));
    await postgres.withDatabase(measure).finally(() => postgres.end());
  }
} finally {
  cleanUp();
}
