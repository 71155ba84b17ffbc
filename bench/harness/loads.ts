import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { bytesWritten, cpuOf, cpuOfAll } from "./processes.ts";
import { querySql } from "./query-sql.ts";
import type { Target } from "./requests.ts";
import { isAccepted, type SenderOptions, type Senders, startSenders } from "./senders.ts";
import { listen } from "./stand-ins.ts";
import { quantile } from "./statistics.ts";

interface SendingOptions extends Pick<SenderOptions, "target" | "connections" | "keepAlive"> {
  /** The number of alerts to send, which may grow later. Default: no end. */
  due?: number;
  /** The most alerts that are accepted, or under way, and have not come through. Default: any number. */
  window?: number;
}

class Load {
  /** Answered 503: not accepted, so the sender must send again. */
  refused = 0;
  /** Answers with other statuses, or missing ones. */
  unexpected = 0;
  doubled = 0;
  /** Milliseconds to the answer. */
  readonly answerMs: number[] = [];
  /** Milliseconds from the first byte of the POST to the last byte of the message. */
  readonly arrivalMs: number[] = [];
  onAnswer = () => {};
  /** The number that has come through. Default: those that the stand-in has seen. */
  arrived = () => this.#seen.size;
  readonly accepted = () => this.#accepted.size;
  readonly #sentAt = new Map<number, number>();
  readonly #accepted = new Set<number>();
  readonly #seen = new Set<number>();
  #senders: Senders[] = [];

  constructor() {
    listen((serial, at) => {
      if (this.#seen.has(serial)) this.doubled += 1;
      this.#seen.add(serial);
      this.arrivalMs.push(at - (this.#sentAt.get(serial) ?? Number.NaN));
      this.wake();
    });
  }

  /** `due` of the result is the number to send. */
  send({ due = Number.POSITIVE_INFINITY, window = Number.POSITIVE_INFINITY, ...options }: SendingOptions) {
    const sending = { due };
    const senders = startSenders({
      ...options,
      mayStart: () => sending.due > 0 && this.underWay < window,
      sent: (serial) => {
        sending.due -= 1;
        this.#sentAt.set(serial, performance.now());
      },
      answered: (serial, status, tookMs) => {
        this.answerMs.push(tookMs);
        if (isAccepted(status)) this.#accepted.add(serial);
        else {
          this.#sentAt.delete(serial);
          if (status === 503) this.refused += 1;
          else this.unexpected += 1;
        }
        this.onAnswer();
      },
    });
    this.#senders.push(senders);
    return sending;
  }

  get underWay(): number {
    return this.#sentAt.size - this.arrived();
  }

  wake(): void {
    for (const senders of this.#senders) senders.wake();
  }

  async end(): Promise<void> {
    const ending = this.#senders.map((senders) => senders.end());
    this.#senders = [];
    await Promise.all(ending);
  }

  /** The counts of answers, and the numbers of accepted alerts. */
  get answers() {
    return { refused: this.refused, unexpected: this.unexpected, serials: [...this.#accepted] };
  }

  /** Waits for sent alerts, as long as one arrives within ten seconds. */
  async settled(): Promise<void> {
    await sleep(100);
    for (let before = -1; this.underWay > 0 && before !== this.#seen.size; ) {
      before = this.#seen.size;
      for (let waited = 0; waited < 100 && before === this.#seen.size && this.underWay > 0; waited += 1)
        await sleep(100);
    }
  }

  /** Returns the faults. All must be 0, except for alerts that a door refuses in time. */
  async close() {
    await this.settled();
    // A double may come after all alerts have come once.
    await sleep(200);
    const missing = this.answers.serials.filter((serial) => !this.#seen.has(serial)).length;
    return { ...this.abandon(), missing };
  }

  /** Returns the known faults, while accepted alerts may still be on their way. */
  abandon() {
    listen(() => {});
    return { doubled: this.doubled, refused: this.refused, unexpected: this.unexpected };
  }
}

/** The share of time in which this process was busy. At 1 the load is measured and not the server. */
function busySince(at: number, own: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(own);
  return (user + system) / 1000 / (performance.now() - at);
}

/** The work per second after a warm-up, and the server's processor time for each piece of work. */
async function inWindow(warmUpMs: number, ms: number, cpuSoFar: () => number, doneSoFar: () => number) {
  await sleep(warmUpMs);
  const [at, cpu, done, own] = [performance.now(), cpuSoFar(), doneSoFar(), process.cpuUsage()];
  await sleep(ms);
  const count = doneSoFar() - done;
  const rate = (1000 * count) / (performance.now() - at);
  return { rate, cpu: (1000 * (cpuSoFar() - cpu)) / count, loadBusy: busySince(at, own) };
}

export interface FloodOptions extends Pick<SenderOptions, "target" | "connections" | "keepAlive"> {
  warmUpMs: number;
  ms: number;
}

/** Sends as many alerts as the door accepts. `rate` in alerts a second, `cpu` in µs an alert, waits in ms a request. */
export async function flood({ warmUpMs, ms, ...options }: FloodOptions) {
  const load = new Load();
  load.send(options);
  const measuring = inWindow(warmUpMs, ms, () => cpuOf(options.target.pid), load.accepted);
  await sleep(warmUpMs);
  load.answerMs.length = 0;
  const measured = await measuring;
  const waits = { p50: quantile(load.answerMs, 0.5), p99: quantile(load.answerMs, 0.99) };
  await load.end();
  return { ...measured, ...waits, ...load.answers };
}

export async function sendAlerts({ target, alerts }: { target: Target; alerts: number }) {
  const load = new Load();
  load.send({ target, connections: 64, due: alerts });
  await new Promise<void>((resolve) => {
    load.onAnswer = () => {
      if (load.answerMs.length === alerts) resolve();
    };
  });
  await load.end();
  return load.answers;
}

/** Sends until a starting server accepts the first alert. `at`: epoch milliseconds. */
export async function firstAccepted({ target }: { target: Target }): Promise<{ at: number; serials: number[] }> {
  const { hostname, port } = new URL(target.url);
  const canConnect = async () => {
    const socket = connect(Number(port), hostname);
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    return isOpen;
  };
  while (!(await canConnect())) await sleep(1);
  for (;;) {
    const { serials } = await sendAlerts({ target, alerts: 1 });
    if (serials.length === 1) return { at: performance.timeOrigin + performance.now(), serials };
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
}

/**
 * A phase begins when all messages of the last have arrived. Figures are named by the phase, a dot, and: `rate` in
 * messages a second, the server process's `cpu` in µs, `written` in KB and `statements` a message, and `wait`, the
 * median for an answer in ms. An unnamed phase warms up.
 */
export async function relayInPhases({ target, phases }: { target: Target; phases: readonly Phase[] }) {
  const load = new Load();
  const figures: Record<string, number> = {};
  let loadBusy = 0;
  for (const { name, alerts, connections } of phases) {
    load.answerMs.length = 0;
    const statements = await statementsOf(target);
    const before = { at: performance.now(), cpu: cpuOf(target.pid), bytes: bytesWritten(target.pid) };
    const own = process.cpuUsage();
    const sending = load.send({ target, connections, due: alerts, window: mostUnderWay });
    while (sending.due > 0 || load.underWay > 0) await sleep(5);
    const took = performance.now() - before.at;
    loadBusy = Math.max(loadBusy, busySince(before.at, own));
    await load.end();
    if (name === "") continue;
    figures[`${name}.rate`] = (1000 * alerts) / took;
    figures[`${name}.cpu`] = (1000 * (cpuOf(target.pid) - before.cpu)) / alerts;
    figures[`${name}.written`] = (bytesWritten(target.pid) - before.bytes) / 1000 / alerts;
    if (statements !== undefined)
      figures[`${name}.statements`] = (((await statementsOf(target)) ?? 0) - statements) / alerts;
    figures[`${name}.wait`] = quantile(load.answerMs, 0.5);
  }
  return { ...figures, loadBusy, ...(await load.close()) };
}

export interface SharedOptions {
  warmUpMs: number;
  ms: number;
  /** The alerts that must come through first, within a minute. Default: none. */
  warmUpAlerts?: number;
  /** All have equally many connections. */
  targets: Target[];
  connections: number;
  /** The most alerts that are not yet at the stand-in. Absent: as many as the doors accept. */
  window?: number;
  /** Processes whose processor time, with that of their children, is added to the targets'. */
  beside: number[];
  /** The database whose `commits`, `statements` and `walBytes` are read. Default: none. */
  databaseUrl?: string;
}

const longestWarmUpMs = 60_000;

/**
 * Figures of all targets together: `rate` in alerts a second, accepted or relayed. An alert's `cpu` and the servers'
 * part of it, `cpuOfServers`, in µs, and its `commits`, `statements` and `walBytes`.
 */
export async function shareAlerts(options: SharedOptions) {
  const { targets, window, warmUpMs, warmUpAlerts = 0, ms, beside, databaseUrl } = options;
  const load = new Load();
  const connections = Math.ceil(options.connections / targets.length);
  for (const target of targets) load.send({ target, connections, window });
  const cpuOf = (pids: number[]) => pids.reduce((sum, pid) => sum + cpuOfAll(pid), 0);
  const pids = targets.map(({ pid }) => pid);
  const doneSoFar = window === undefined ? load.accepted : load.arrived;
  await sleep(warmUpMs);
  const latestAt = performance.now() + longestWarmUpMs - warmUpMs;
  while (doneSoFar() < warmUpAlerts && performance.now() < latestAt) await sleep(20);
  const [done, own, written] = [doneSoFar(), cpuOf(pids), databaseUrl && (await writtenSoFar(databaseUrl))];
  const measured = await inWindow(0, ms, () => cpuOf([...pids, ...beside]), doneSoFar);
  const ofServers = { cpuOfServers: (1000 * (cpuOf(pids) - own)) / (doneSoFar() - done) };
  await load.end();
  const truth = window === undefined ? load.abandon() : await load.close();
  const ofDatabase: { commits?: number; statements?: number; walBytes?: number } = {};
  if (written && databaseUrl !== undefined) {
    // A server publishes its statistics within a second of a commit, so all commits are counted.
    await sleep(1_000);
    const since = await writtenSoFar(databaseUrl);
    const all = doneSoFar() - done;
    ofDatabase.commits = (since.commits - written.commits) / all;
    ofDatabase.statements = (since.statements - written.statements) / all;
    ofDatabase.walBytes = (since.walBytes - written.walBytes) / all;
  }
  return { ...measured, ...ofServers, ...ofDatabase, ...truth };
}

/** All counts since the database was made. `walBytes` are those of the whole server. */
async function writtenSoFar(databaseUrl: string): Promise<{ commits: number; statements: number; walBytes: number }> {
  const sql = `SELECT xact_commit::float8 AS commits, (pg_current_wal_lsn() - '0/0')::float8 AS "walBytes",
      (SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements s WHERE s.dbid = d.datid) AS statements
    FROM pg_stat_database d WHERE datname = current_database()`;
  const [written] = await querySql<{ commits: number; statements: number; walBytes: number }>(databaseUrl, sql);
  return written ?? { commits: 0, statements: 0, walBytes: 0 };
}

/** Undefined: the statements on SQLite are not counted. */
async function statementsOf({ pid, statements }: Target): Promise<number | undefined> {
  if (statements === undefined) return undefined;
  rmSync(statements, { force: true });
  process.kill(pid, "SIGUSR2");
  while (!existsSync(statements) || readFileSync(statements, "utf8") === "") await sleep(5);
  return Number(readFileSync(statements, "utf8"));
}

export interface PacedOptions {
  target: Target;
  warmUp: number;
  everyMs: number;
  count: number;
}

/** Sends one alert at a time: milliseconds from the first byte of the POST to the last byte of the message. */
export async function pacedAlerts({ target, warmUp, everyMs, count }: PacedOptions) {
  const load = new Load();
  // A new process is slow until its code is compiled.
  const sending = load.send({ target, connections: 4, due: warmUp });
  await load.settled();
  const startedAt = performance.now();
  for (let index = 0; index < count; index += 1) {
    await sleep(Math.max(0, startedAt + index * everyMs - performance.now()));
    sending.due += 1;
    load.wake();
  }
  while (sending.due > 0) await sleep(10);
  await load.end();
  const truth = await load.close();
  const waits = load.arrivalMs.slice(warmUp);
  return { p50: quantile(waits, 0.5), p99: quantile(waits, 0.99), ...truth };
}

export interface BacklogOptions {
  target: Target;
  /** The most alerts that are accepted and not yet routed. */
  most: number;
  warmUpMs: number;
  ms: number;
  /** Read 20 times a second. */
  statusUrl: string;
  token: string;
}

/** Keeps as many alerts coming as are routed: `rate` in alerts a second, `cpu` in µs an alert, with accepting. */
export async function keepBacklog({ target, most, warmUpMs, ms, statusUrl, token }: BacklogOptions) {
  const load = new Load();
  let done = 0;
  load.arrived = () => done;
  load.send({ target, connections: 64, window: most });
  const look = async () => {
    const before = load.accepted();
    const answer = await fetch(statusUrl, { headers: { authorization: `Bearer ${token}` } });
    const { queue } = ((await answer.json()) as { data: { queue: { unrouted: number } } }).data;
    // Alerts that were answered before the question and no longer wait are routed.
    done = Math.max(done, before - queue.unrouted);
    load.wake();
  };
  let isWatching = true;
  const watch = (async () => {
    while (isWatching) {
      await look();
      await sleep(50);
    }
  })();
  const measured = await inWindow(warmUpMs, ms, () => cpuOf(target.pid), load.arrived);
  isWatching = false;
  await watch;
  await load.end();
  return { ...measured, refused: load.refused, unexpected: load.unexpected };
}
