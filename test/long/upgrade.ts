import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import BetterSqlite from "better-sqlite3";
import { sampleWords } from "../../bench/sample-alerts.ts";
import { makeBuilds } from "../relays/builds.ts";
import { inScope, listen, pause, type Scope, until } from "../relays/scope.ts";
import { findLastingPort } from "../support/lasting-port.ts";
import { type RelayProcess, startRelayProcess, webhookSecret } from "../support/relay-process.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

/** What the API says is compared up to this time of the log. */
type Log = { ids: string[]; until: string };

const bodies = { old: "before", new: "after" };
const kills = 6;
/** Between two of the alerts that arrive meanwhile. */
const everyMs = 40;

/**
 * A log of a former version on SQLite: what its API says of it, this version says as well (lists and searches with filters by
 * chance, pages of them, single alerts, ids, exports, counts), once it has brought the database up to date, through kills and
 * while alerts arrive. Each of those that was answered 202 is there once, and is sent.
 *
 * `--old REVISION_OR_FOLDER` (default 3fde4bbc; of other packages than these the folder of a built checkout), `--alerts N` (default 1,000,000; 3 GB, three times), `--questions N` (default 300), `--seed N`.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const usual = (value: string) => ({ type: "string", default: value }) as const;
  const options = { old: usual("3fde4bbc"), alerts: usual("1000000"), questions: usual("300"), seed: usual("1") };
  const { values } = parseArgs({ args: [...args], options });
  const startedAt = performance.now();
  const say = (line: string) => console.log(`${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${line}`);
  return inScope(async (scope) => {
    const random = createSeededRandom(Number(values.seed));
    const builds = makeBuilds(scope, values.old);
    const folder = makeTempFolder(scope.atEnd);
    const [before, after] = [join(folder, bodies.old), join(folder, bodies.new)];
    const write = ["--import", "tsx", "bench/stored-log.ts", values.alerts, "--keep", before];
    mkdirSync(before);
    const cwd = dirname(dirname(builds.old));
    execFileSync(process.execPath, write, { cwd, stdio: ["ignore", "ignore", "inherit"] });
    say(`${values.alerts} alerts are stored as ${values.old} does it`);
    const sink = await createSink(scope);

    const old = await startOn(scope, before, sink.url, builds.old);
    // What was not routed is.
    await until(async () => (await ask(old, "/api/alerts?state=unrouted&limit=1")).length < 60, 60_000);
    const log = await lookAt(old);
    const asked = await makeQuestions(old, log, random, Number(values.questions));
    const answers = await askEach(old, asked);
    await old.stop();
    cpSync(before, after, { recursive: true });
    say(`${asked.length} questions are asked of ${values.old}, which has ended`);

    const accepted = await upgradeThroughKills(scope, after, sink.url, random, say);
    const relay = await startOn(scope, after, sink.url);
    await until(() => accepted.every((id) => sink.arrived.has(id)), 180_000);
    const lost = accepted.filter((id) => !sink.arrived.has(id));
    say(`${accepted.length} alerts were answered 202 while the database was brought up to date, ${lost.length} lost`);
    const differing = (await askEach(relay, asked)).flatMap((answer, index) =>
      answer === answers[index]
        ? []
        : [`${asked[index - 1] ?? "counts"}\n  before ${answers[index]}\n  after  ${answer}`],
    );
    await relay.stop();
    say(`${differing.length} of ${asked.length} answers differ`);
    for (const line of differing.slice(0, 10)) console.log(line.slice(0, 4_000));
    return lost.length + differing.length === 0 && accepted.length > 0;
  });
}

async function createSink(scope: Scope): Promise<{ url: string; arrived: Set<string> }> {
  const arrived = new Set<string>();
  const url = await listen(scope, async (request, response) => {
    for (const [, id] of (await text(request)).matchAll(/"id":"([0-9a-f-]{36})"/g)) arrived.add(id as string);
    response.writeHead(204).end();
  });
  return { url: `${url}/`, arrived };
}

/** The destinations of the log take nothing, and none of it is due. */
function writeConfiguration(folder: string, sinkUrl: string): Record<string, string> {
  const path = join(folder, "tocsin.yaml");
  const nobody = `type: webhook, url: "http://127.0.0.1:9/", allowInternal: ["127.0.0.1"], notices: false`;
  const toNobody = ["chat", "desk", "risk", "archive", "pager"].map((name) => `  ${name}: { ${nobody} }\n`);
  const sink = `  sink: { type: webhook, url: "${sinkUrl}", allowInternal: ["127.0.0.1"], notices: false, digestOver: 1000 }\n`;
  const routes = "routes:\n  - { name: everything, updates: new, to: [sink] }\n";
  writeFileSync(path, `destinations:\n${toNobody.join("")}${sink}${routes}`);
  return { TOCSIN_CONFIG: path, LOG_LEVEL: "error", PUBLIC_URL: "https://tocsin.example" };
}

function startOn(scope: Scope, folder: string, sinkUrl: string, bin?: string): Promise<RelayProcess> {
  const command = bin === undefined ? undefined : [bin, "serve", "--json"];
  return startRelayProcess(folder, writeConfiguration(folder, sinkUrl), command, undefined, scope.atEnd);
}

/** Starts this version again and again, and kills it at a moment of chance from its very start on. */
async function upgradeThroughKills(
  scope: Scope,
  folder: string,
  sinkUrl: string,
  random: SeededRandom,
  say: (line: string) => void,
): Promise<string[]> {
  const port = await findLastingPort();
  const accepted: string[] = [];
  let isOver = false;
  const sending = (async () => {
    for (let serial = 1; !isOver; serial += 1) {
      const body = JSON.stringify({ title: `Arrived ${serial}`, eventId: `upgrade-${serial}`, severity: "warning" });
      const post = { method: "POST", body, headers: { "content-type": "application/json" } };
      const answer = await fetch(`http://127.0.0.1:${port}/hooks/${webhookSecret}`, post).catch(() => undefined);
      const said = (await answer?.json().catch(() => undefined)) as { data: { id: string } } | undefined;
      if (answer?.status === 202 && said !== undefined) accepted.push(said.data.id);
      await pause(everyMs);
    }
  })();
  const bin = new URL("../../bin/tocsin.js", import.meta.url).pathname;
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, DATA_DIR: folder, PORT: String(port), WEBHOOK_SECRET: webhookSecret },
    ...writeConfiguration(folder, sinkUrl),
  };
  for (let round = 0; round < kills; round += 1) {
    const child = spawn(process.execPath, [bin, "serve", "--json"], { cwd: folder, env, stdio: "ignore" });
    scope.atEnd(() => child.kill("SIGKILL"));
    const ended = new Promise((resolve) => child.once("exit", resolve));
    const had = accepted.length;
    const startedAt = performance.now();
    await pause(300 + random.below(300 * 2 ** round));
    // However slow the machine is, some arrive.
    if (round === kills - 1) await until(() => accepted.length > had, 120_000);
    child.kill("SIGKILL");
    await ended;
    const version = versionOf(folder);
    say(
      `killed ${Math.round(performance.now() - startedAt)} ms behind its start: ${accepted.length - had} alerts answered, schema ${version}`,
    );
  }
  isOver = true;
  await sending;
  return accepted;
}

/** How far its migrations have come. */
function versionOf(folder: string): number {
  const db = new BetterSqlite(join(folder, "tocsin.db"), { readonly: true });
  const version = db.pragma("user_version", { simple: true }) as number;
  db.close();
  return version;
}

/**
 * A search that has taken a moment ends before its page is full, at another place each time: it goes on until it is. How far back the
 * ends of ids were looked for moves with each alert that comes.
 */
async function ask(relay: RelayProcess, path: string): Promise<string> {
  const response = await relay.api(path);
  const text = await response.text();
  if (!response.ok || path.includes("format=csv")) return `${response.status} ${text}`;
  if (path.startsWith("/api/export")) return text.split("\n").map(inOneOrder).join("\n");
  const { data, meta } = JSON.parse(text) as { data: unknown; meta?: { nextCursor?: string; searchedTo?: string } };
  const limit = Number(/limit=(\d+)/.exec(path)?.[1] ?? 0);
  let cursor = meta?.searchedTo === undefined ? undefined : meta.nextCursor;
  const listed = Array.isArray(data) ? data : [data];
  while (cursor && listed.length < limit) {
    const base = path.replace(/&cursor=.*/, "");
    const next = await relay.getJson<Listed>(`${base}&cursor=${encodeURIComponent(cursor)}`);
    listed.push(...next.data);
    cursor = next.meta.nextCursor ?? undefined;
  }
  return inOneOrder(JSON.stringify(limit > 0 ? listed.slice(0, limit) : listed));
}

/** In which order the members of an object are written is no answer. */
function inOneOrder(json: string): string {
  if (json === "") return json;
  return JSON.stringify(JSON.parse(json), (_name, value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}

async function askEach(relay: RelayProcess, paths: readonly string[]): Promise<string[]> {
  const answers = [await countEach(relay)];
  for (const path of paths) answers.push(await ask(relay, path));
  return answers;
}

/** Of the destinations of the log. */
async function countEach(relay: RelayProcess): Promise<string> {
  type Counted = { name: string; counts: Record<string, number> };
  const { data } = await relay.getJson<{ data: Counted[] }>("/api/destinations");
  return JSON.stringify(data.flatMap(({ name, counts }) => (name === "sink" ? [] : { name, counts })));
}

type Listed = { data: { id: string; receivedAt: string }[]; meta: { nextCursor: string | null } };

/** Ids from all over it, and the time up to which nothing of it waits. */
async function lookAt(relay: RelayProcess): Promise<Log> {
  const newest = await relay.getJson<Listed>("/api/alerts?limit=50");
  const until = new Date(Date.parse(newest.data.at(-1)?.receivedAt ?? "") - 86_400_000).toISOString();
  const ids: string[] = [];
  const end = Date.parse(until);
  for (let part = 0; part < 40; part += 1) {
    const to = new Date(end - (part / 40) * 180 * 86_400_000).toISOString();
    const { data } = await relay.getJson<Listed>(`/api/alerts?limit=5&to=${to}`);
    ids.push(...data.map(({ id }) => id));
  }
  return { ids, until };
}

const states = ["sent", "failed", "held", "muted", "problem", "unmatched", "dropped", "repeat", "digested", "expired"];

/** Each filter by itself and with others, with the pages behind, and all that there is of single alerts. */
async function makeQuestions(relay: RelayProcess, log: Log, random: SeededRandom, count: number): Promise<string[]> {
  const end = Date.parse(log.until);
  const time = () => new Date(end - random.next() * 180 * 86_400_000).toISOString();
  const filters: Record<string, () => string> = {
    severity: () => random.pick(["critical", "warning", "info", "unknown"]),
    status: () => random.pick(["firing", "resolved"]),
    state: () => random.pick(states),
    destination: () => random.pick(["chat", "desk", "risk", "archive", "pager", "left"]),
    q: () =>
      random.pick([...Object.values(sampleWords), `${sampleWords.common} ${sampleWords.some}`, "crossed ethereum"]),
    from: time,
  };
  const asked: string[] = [];
  while (asked.length < count) {
    const id = random.pick(log.ids);
    asked.push(`/api/alerts/${id}`, `/api/ids?part=${id.slice(0, 12)}`, `/api/ids?part=${id.slice(-8)}`);
    const from = new Date(end - random.below(3 * 86_400_000)).toISOString();
    asked.push(`/api/export?format=${random.pick(["csv", "ndjson"])}&from=${from}&to=${log.until}`);
    for (let list = 0; list < 12; list += 1) {
      const query = new URLSearchParams({ to: random.below(3) === 0 ? time() : log.until });
      for (const [name, value] of Object.entries(filters)) if (random.below(4) === 0) query.set(name, value());
      query.set("limit", String(1 + random.below(200)));
      const page = await relay.api(`/api/alerts?${query}`);
      const cursor = page.ok ? ((await page.json()) as Listed).meta.nextCursor : null;
      asked.push(
        `/api/alerts?${query}`,
        ...(cursor ? [`/api/alerts?${query}&cursor=${encodeURIComponent(cursor)}`] : []),
      );
    }
  }
  return asked;
}
