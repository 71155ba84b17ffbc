import { existsSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Load } from "./load.ts";
import { bytesWritten, cpuOf } from "./processes.ts";
import { bodyFor, type Target } from "./requests.ts";
import { quantile } from "./statistics.ts";

type Counts = Record<string, number>;

/** What each of the alerts has added to the counts. */
function perAlert(before: Counts, after: Counts, alerts: number): Counts {
  const added = (name: string) => (after[name] ?? 0) - (before[name] ?? 0);
  return Object.fromEntries(Object.keys(after).map((name) => [name, added(name) / alerts]));
}

/** The share of time in which this process was busy. At 1 the load is measured and not the server. */
function busySince(at: number, own: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(own);
  return (user + system) / 1000 / (performance.now() - at);
}

/** @throws when the server has ended */
async function until(isSo: () => boolean, { pid }: Target): Promise<void> {
  while (!isSo()) {
    process.kill(pid, 0);
    await sleep(5);
  }
}

export interface FloodOptions {
  /** All have equally many connections. */
  targets: Target[];
  connections: number;
  /** The most alerts that have not come through. Absent: as many as the doors accept, and these are counted. */
  window?: number;
  /** The number of accepted alerts that are not routed. Present: others have come through. Absent: as the stand-in sees it. */
  countUnrouted?: () => Promise<number>;
  warmUpMs: number;
  /** The alerts that must come through first. Default: none. */
  warmUpAlerts?: number;
  ms: number;
  /** Processes whose processor time, with that of their children, is added to the targets'. */
  beside?: number[];
  /** Other counts so far, whose growth by each alert is in the result. */
  countMore?: () => Promise<Counts>;
}

/**
 * Sends without end to all targets together. `rate` in alerts a second, accepted or come through, their `cpu` and the
 * servers' part of it, `cpuOfServers`, in µs an alert, waits for the answer in ms.
 */
export function flood(options: FloodOptions) {
  const { targets, window, countUnrouted, warmUpMs, warmUpAlerts = 0, ms, beside = [], countMore } = options;
  const connections = Math.ceil(options.connections / targets.length);
  return Load.run(async (load) => {
    for (const target of targets) load.send({ target, connections, window });
    const following = countUnrouted && load.followRouting(countUnrouted);
    // It is awaited at the end of the load.
    following?.catch(() => {});
    const doneSoFar = () => (window === undefined ? load.accepted() : load.arrived());
    const countsSoFar = () => {
      const sum = (pids: number[]) => pids.reduce((sum, pid) => sum + cpuOf(pid), 0);
      const cpuOfServers = sum(targets.map(({ pid }) => pid));
      return { cpuOfServers, cpu: cpuOfServers + sum(beside), done: doneSoFar() };
    };
    await sleep(warmUpMs);
    for (const target of targets) await until(() => doneSoFar() >= warmUpAlerts, target);

    const [more, at, own, before] = [await countMore?.(), performance.now(), process.cpuUsage(), countsSoFar()];
    load.answerMs.length = 0;
    await sleep(ms);
    const [seconds, after] = [(performance.now() - at) / 1000, countsSoFar()];
    const measured = {
      ...perAlert(before, after, after.done - before.done),
      rate: (after.done - before.done) / seconds,
      loadBusy: busySince(at, own),
      p50: quantile(load.answerMs, 0.5),
      p99: quantile(load.answerMs, 0.99),
    };
    await load.end();
    await following;
    const truth = window === undefined || countUnrouted ? {} : await load.close();
    // A PostgreSQL publishes its statistics within a second of a commit, so all commits are counted.
    if (more !== undefined) await sleep(1_000);
    const added = more && perAlert(more, (await countMore?.()) ?? {}, doneSoFar() - before.done);
    return { ...measured, ...load.answers, ...truth, ...added };
  });
}

/** Sends this number at once, and waits for the answers only. */
export function sendAlerts(target: Target, alerts: number) {
  return Load.run(async (load) => {
    load.send({ target, connections: 64, due: alerts });
    await until(() => load.answerMs.length === alerts, target);
    return load.answers;
  });
}

/** Posts until a starting server accepts. Returns when, as `performance.now()`. */
export async function firstAccepted(target: Target): Promise<number> {
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: bodyFor(target) };
  for (;;) {
    const answer = await fetch(target.url, post).catch(() => undefined);
    if (answer?.ok) return performance.now();
    process.kill(target.pid, 0);
    // Bounds the requests to a door that answers 503.
    await sleep(1);
  }
}

/** Enough that the server never waits for the load. */
const mostUnderWay = 500;

export interface Phase {
  name: string;
  alerts: number;
  connections: number;
  /** Default: as soon as a connection is free. */
  everyMs?: number;
}

/**
 * A phase begins when all messages of the last have arrived. Figures are named by the phase, a dot, and: `rate` in
 * messages a second, the server process's `cpu` in µs, `written` in KB and `statements` a message, and `wait`, the
 * median for an answer, `p50` and `p99` of the time to the message, in ms. An unnamed phase warms up.
 */
export function relayInPhases(target: Target, phases: readonly Phase[]) {
  return Load.run(async (load) => {
    const figures: Counts = {};
    let loadBusy = 0;
    for (const { name, alerts, connections, everyMs } of phases) {
      load.answerMs.length = 0;
      load.arrivalMs.length = 0;
      const before = await countsOf(target);
      const [at, own] = [performance.now(), process.cpuUsage()];
      const due = everyMs === undefined ? alerts : 0;
      const sending = load.send({ target, connections, due, window: mostUnderWay });
      for (let index = 0; everyMs !== undefined && index < alerts; index += 1) {
        await sleep(Math.max(0, at + index * everyMs - performance.now()));
        sending.due += 1;
        load.wake();
      }
      await until(() => sending.due <= 0 && load.underWay <= 0, target);
      const rate = (1000 * alerts) / (performance.now() - at);
      loadBusy = Math.max(loadBusy, busySince(at, own));
      await load.end();
      if (name === "") continue;
      const measured = {
        ...perAlert(before, await countsOf(target), alerts),
        rate,
        wait: quantile(load.answerMs, 0.5),
        p50: quantile(load.arrivalMs, 0.5),
        p99: quantile(load.arrivalMs, 0.99),
      };
      for (const [figure, value] of Object.entries(measured)) figures[`${name}.${figure}`] = value;
    }
    return { ...figures, loadBusy, ...(await load.close()) };
  });
}

/** All since the start. Without `statements`, where they are not counted. */
async function countsOf({ pid, statements }: Target): Promise<Counts> {
  const counted = statements && { statements: await readStatements(pid, statements) };
  return { ...counted, cpu: cpuOf(pid), written: bytesWritten(pid) / 1000 };
}

async function readStatements(pid: number, file: string): Promise<number> {
  rmSync(file, { force: true });
  process.kill(pid, "SIGUSR2");
  while (!existsSync(file) || readFileSync(file, "utf8") === "") await sleep(5);
  return Number(readFileSync(file, "utf8"));
}

/**
 * Reads each address, again and again until the time is over. Returns the milliseconds of the 95th of a hundred, for an
 * event stream until its first byte.
 */
export async function readPages(urls: string[], cookie: string, ms: number): Promise<number> {
  const times: number[] = [];
  const until = performance.now() + ms;
  for (let index = 0; performance.now() < until || times.length < urls.length; index += 1) {
    const url = urls[index % urls.length] ?? "";
    const startedAt = performance.now();
    const answer = await fetch(url, { headers: { cookie }, redirect: "manual", signal: AbortSignal.timeout(30_000) });
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
    const reader = answer.body?.getReader();
    const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream");
    for (let part = await reader?.read(); part?.done === false && !isStream; part = await reader?.read());
    times.push(performance.now() - startedAt);
    await reader?.cancel();
  }
  return quantile(times, 0.95);
}
