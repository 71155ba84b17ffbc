import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { bytesWritten, cpuOf, cpuOfAll } from "./processes.ts";
import type { Target } from "./requests.ts";
import { isAccepted, type SenderOptions, startSenders } from "./senders.ts";
import { listen } from "./stand-ins.ts";
import { quantile } from "./statistics.ts";

/** What a load has seen go wrong; all of it has to be 0 but for what a door refuses in time. */
export interface Truth {
  /** Accepted and never seen at the stand-in. */
  missing: number;
  doubled: number;
  /** Answered 503: not accepted, the sender has to come again. */
  refused: number;
  /** Any other answer, or none. */
  unexpected: number;
}

/**
 * What is done per second of a window after a warm-up, the processor time of the server for each, and the share of the time in which
 * this process was busy: at 1 the load is measured and not the server.
 */
async function inWindow(warmUpMs: number, ms: number, cpuSoFar: () => number, doneSoFar: () => number) {
  await sleep(warmUpMs);
  const [at, cpu, done, own] = [performance.now(), cpuSoFar(), doneSoFar(), process.cpuUsage()];
  await sleep(ms);
  const count = doneSoFar() - done;
  const took = performance.now() - at;
  const { user, system } = process.cpuUsage(own);
  return {
    rate: (1000 * count) / took,
    cpu: (1000 * (cpuSoFar() - cpu)) / count,
    loadBusy: (user + system) / 1000 / took,
  };
}

export interface FloodOptions extends Pick<SenderOptions, "target" | "connections" | "keepAlive"> {
  warmUpMs: number;
  ms: number;
}

/** What a load was answered, next to its figures. */
class Answers {
  refused = 0;
  unexpected = 0;
  /** Those that were accepted, by their numbers. */
  readonly serials: number[] = [];

  count(serial: number, status: number): void {
    if (isAccepted(status)) this.serials.push(serial);
    else if (status === 503) this.refused += 1;
    else this.unexpected += 1;
  }

  get all(): number {
    return this.serials.length + this.refused + this.unexpected;
  }
}

/** As many alerts as the door takes. `rate` in alerts a second, `cpu` in µs an alert, waits in ms a request. */
export async function flood({ warmUpMs, ms, ...options }: FloodOptions) {
  const { target } = options;
  const times: number[] = [];
  const answers = new Answers();
  const senders = startSenders({
    ...options,
    answered(serial, status, tookMs) {
      answers.count(serial, status);
      times.push(tookMs);
    },
  });
  const measuring = inWindow(
    warmUpMs,
    ms,
    () => cpuOf(target.pid),
    () => answers.serials.length,
  );
  await sleep(warmUpMs);
  times.length = 0;
  const measured = await measuring;
  const waits = { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
  await senders.end();
  return { ...measured, ...waits, ...answers };
}

/** This many alerts, as quickly as they are taken. */
export async function sendAlerts({ target, alerts }: { target: Target; alerts: number }) {
  let left = alerts;
  const answers = new Answers();
  await new Promise<void>((resolve) => {
    const senders = startSenders({
      target,
      connections: 64,
      mayStart: () => left > 0,
      sent: () => {
        left -= 1;
      },
      answered(serial, status) {
        answers.count(serial, status);
        if (answers.all === alerts) void senders.end().then(resolve);
      },
    });
  });
  return answers;
}

/** The first alert that is accepted by a server that is just starting: `at` in epoch milliseconds, and its number. */
export async function firstAccepted({ target }: { target: Target }): Promise<{ at: number; serials: number[] }> {
  const { hostname, port } = new URL(target.url);
  const canConnect = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), hostname);
      const settle = (can: boolean) => () => {
        socket.destroy();
        resolve(can);
      };
      socket.once("connect", settle(true)).once("error", settle(false));
    });
  while (!(await canConnect())) await sleep(1);
  for (;;) {
    const { serials } = await sendAlerts({ target, alerts: 1 });
    if (serials.length === 1) return { at: performance.timeOrigin + performance.now(), serials };
    // A door that answers 503 is not asked without end.
    await sleep(1);
  }
}

/** Alerts that are accepted, or under way, and not yet arrived at the stand-in: enough that nobody waits for the load. */
const mostUnderWay = 500;

export interface Phase {
  name: string;
  alerts: number;
  connections: number;
}

/**
 * Alerts in, messages out, phase by phase; the next begins when all messages of one have arrived. Returned for each phase, behind its
 * name and a dot: `rate` in messages a second, of the server's process `cpu` in µs and `written` in KB a message, and `wait`, the
 * median for an answer in ms. An unnamed phase warms up.
 */
export async function relayInPhases({ target, phases }: { target: Target; phases: readonly Phase[] }) {
  const ledger = createLedger();
  const figures: Record<string, number> = {};
  let loadBusy = 0;
  for (const { name, alerts, connections } of phases) {
    let left = alerts;
    const waits: number[] = [];
    const before = { at: performance.now(), cpu: cpuOf(target.pid), bytes: bytesWritten(target.pid) };
    const own = process.cpuUsage();
    const senders = startSenders({
      target,
      connections,
      mayStart: () => left > 0 && ledger.underWay() < mostUnderWay,
      sent(serial) {
        left -= 1;
        ledger.sent(serial);
      },
      answered(serial, status, tookMs) {
        waits.push(tookMs);
        ledger.answered(serial, status);
      },
    });
    ledger.onArrival = () => senders.wake();
    while (left > 0 || ledger.underWay() > 0) await sleep(5);
    const took = performance.now() - before.at;
    const { user, system } = process.cpuUsage(own);
    loadBusy = Math.max(loadBusy, (user + system) / 1000 / took);
    await senders.end();
    if (name === "") continue;
    figures[`${name}.rate`] = (1000 * alerts) / took;
    figures[`${name}.cpu`] = (1000 * (cpuOf(target.pid) - before.cpu)) / alerts;
    figures[`${name}.written`] = (bytesWritten(target.pid) - before.bytes) / 1000 / alerts;
    figures[`${name}.wait`] = quantile(waits, 0.5);
  }
  return { ...figures, loadBusy, ...(await ledger.close()) };
}

export interface SharedOptions {
  warmUpMs: number;
  ms: number;
  /** As many have to have come through before, however long that takes, but for a minute at most. Default: none. */
  warmUpAlerts?: number;
  /** Each gets as many connections as another. */
  targets: Target[];
  connections: number;
  /** Alerts that are accepted, or under way, and not yet arrived at the stand-in. Absent: as many as the doors take. */
  window?: number;
  /** Whose processor time, with that of their children, counts next to the targets'. */
  beside: number[];
  /** The database whose `commits` and `walBytes` are read. Default: none. */
  databaseUrl?: string;
}

const longestWarmUpMs = 60_000;

/**
 * What several servers do together: `rate` in alerts a second, accepted or relayed, and for each that came through in µs `cpu`, of
 * which `cpuOfServers` is of the targets, and in number and bytes `commits` and `walBytes`.
 */
export async function shareAlerts(options: SharedOptions) {
  const { targets, connections, window, warmUpMs, warmUpAlerts = 0, ms, beside, databaseUrl } = options;
  const ledger = createLedger();
  const senders = targets.map((target) =>
    startSenders({
      target,
      connections: Math.ceil(connections / targets.length),
      mayStart: () => window === undefined || ledger.underWay() < window,
      sent: ledger.sent,
      answered: ledger.answered,
    }),
  );
  ledger.onArrival = () => {
    for (const one of senders) one.wake();
  };
  const cpuOf = (pids: number[]) => pids.reduce((sum, pid) => sum + cpuOfAll(pid), 0);
  const pids = targets.map(({ pid }) => pid);
  const doneSoFar = window === undefined ? ledger.accepted : ledger.arrived;
  await sleep(warmUpMs);
  const latestAt = performance.now() + longestWarmUpMs - warmUpMs;
  while (doneSoFar() < warmUpAlerts && performance.now() < latestAt) await sleep(20);
  const [done, own, written] = [doneSoFar(), cpuOf(pids), databaseUrl && (await writtenSoFar(databaseUrl))];
  const measured = await inWindow(0, ms, () => cpuOf([...pids, ...beside]), doneSoFar);
  const count = doneSoFar() - done;
  const ofServers = { cpuOfServers: (1000 * (cpuOf(pids) - own)) / count };
  await Promise.all(senders.map((one) => one.end()));
  const truth = window === undefined ? ledger.abandon() : await ledger.close();
  const ofDatabase: { commits?: number; walBytes?: number } = {};
  if (written && databaseUrl !== undefined) {
    // A server tells its statistics within a second what was committed, so all that was done since is counted.
    await sleep(1_000);
    const since = await writtenSoFar(databaseUrl);
    const all = doneSoFar() - done;
    ofDatabase.commits = (since.commits - written.commits) / all;
    ofDatabase.walBytes = (since.walBytes - written.walBytes) / all;
  }
  return { ...measured, ...ofServers, ...ofDatabase, ...truth };
}

/** What a database has committed, and its server has written ahead, since they were made. */
async function writtenSoFar(databaseUrl: string): Promise<{ commits: number; walBytes: number }> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ commits: number; walBytes: number }>(
      `SELECT xact_commit::float8 AS commits, (pg_current_wal_lsn() - '0/0')::float8 AS "walBytes"
       FROM pg_stat_database WHERE datname = current_database()`,
    );
    return rows[0] as { commits: number; walBytes: number };
  } finally {
    await client.end();
  }
}

export interface PacedOptions {
  target: Target;
  /** Alerts before, as quickly as they are taken. */
  warmUp: number;
  everyMs: number;
  count: number;
}

/** One alert at a time: milliseconds from the first byte of the POST to the last byte of the message. */
export async function pacedAlerts({ target, warmUp, everyMs, count }: PacedOptions) {
  const ledger = createLedger();
  let due = 0;
  const senders = startSenders({
    target,
    connections: 4,
    mayStart: () => due > 0,
    sent(serial) {
      due -= 1;
      ledger.sent(serial);
    },
    answered: ledger.answered,
  });
  // A process that has just started is slow for another reason than the way of an alert.
  due = warmUp;
  senders.wake();
  await ledger.settled();
  const startedAt = performance.now();
  for (let index = 0; index < count; index += 1) {
    await sleep(Math.max(0, startedAt + index * everyMs - performance.now()));
    due += 1;
    senders.wake();
  }
  while (due > 0) await sleep(10);
  await senders.end();
  const truth = await ledger.close();
  const waits = ledger.waits.slice(warmUp);
  return { p50: quantile(waits, 0.5), p99: quantile(waits, 0.99), ...truth };
}

/** Which alerts were sent, accepted and seen at the stand-in. */
function createLedger() {
  const sentAt = new Map<number, number>();
  const accepted = new Set<number>();
  const seen = new Set<number>();
  const waits: number[] = [];
  const truth: Truth = { missing: 0, doubled: 0, refused: 0, unexpected: 0 };
  const ledger = {
    waits,
    onArrival: () => {},
    underWay: () => sentAt.size - seen.size,
    arrived: () => seen.size,
    accepted: () => accepted.size,
    sent(serial: number) {
      sentAt.set(serial, performance.now());
    },
    answered(serial: number, status: number) {
      if (isAccepted(status)) accepted.add(serial);
      else {
        sentAt.delete(serial);
        if (status === 503) truth.refused += 1;
        else truth.unexpected += 1;
      }
    },
    missing: () => [...accepted].filter((serial) => !seen.has(serial)).length,
    /** Waits for what was sent, as long as something comes in ten seconds. */
    async settled(): Promise<void> {
      await sleep(100);
      for (let before = -1; ledger.underWay() > 0 && before !== seen.size; ) {
        before = seen.size;
        for (let waited = 0; waited < 100 && before === seen.size && ledger.underWay() > 0; waited += 1)
          await sleep(100);
      }
    },
    /** What was accepted may still be on its way. */
    abandon(): Pick<Truth, "doubled" | "refused" | "unexpected"> {
      listen(() => {});
      const { missing: _, ...known } = truth;
      return known;
    },
    async close(): Promise<Truth> {
      await ledger.settled();
      // A double may come after all have come once.
      await sleep(200);
      listen(() => {});
      return { ...truth, missing: ledger.missing() };
    },
  };
  listen((serial, at) => {
    if (seen.has(serial)) truth.doubled += 1;
    seen.add(serial);
    waits.push(at - (sentAt.get(serial) ?? Number.NaN));
    ledger.onArrival();
  });
  return ledger;
}

export interface BacklogOptions {
  target: Target;
  /** Alerts that are accepted and not yet routed, at most. */
  most: number;
  warmUpMs: number;
  ms: number;
  /** Asked 20 times a second. */
  statusUrl: string;
  token: string;
}

/** As many alerts as are routed, without end: `rate` in alerts a second, `cpu` in µs an alert, accepting included. */
export async function keepBacklog({ target, most, warmUpMs, ms, statusUrl, token }: BacklogOptions) {
  const answers = new Answers();
  let sent = 0;
  let done = 0;
  const senders = startSenders({
    target,
    connections: 64,
    mayStart: () => sent - answers.refused - answers.unexpected - done < most,
    sent: () => {
      sent += 1;
    },
    answered: (serial, status) => answers.count(serial, status),
  });
  const look = async () => {
    const before = answers.serials.length;
    const answer = await fetch(statusUrl, { headers: { authorization: `Bearer ${token}` } });
    const { queue } = ((await answer.json()) as { data: { queue: { unrouted: number } } }).data;
    // What was answered before the question and is not among those that wait is routed.
    done = Math.max(done, before - queue.unrouted);
    senders.wake();
  };
  let isWatching = true;
  const watch = (async () => {
    while (isWatching) {
      await look();
      await sleep(50);
    }
  })();
  const measured = await inWindow(
    warmUpMs,
    ms,
    () => cpuOf(target.pid),
    () => done,
  );
  isWatching = false;
  await watch;
  await senders.end();
  return { ...measured, refused: answers.refused, unexpected: answers.unexpected };
}
