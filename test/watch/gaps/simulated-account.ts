import type { GapReport, MissingAlert } from "../../../src/contract/operations.ts";
import type { AlertFacts } from "../../../src/core/alert.ts";
import { AppError } from "../../../src/core/errors.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { AlertLog, Position } from "../../../src/core/ports/alert-log.ts";
import type { HistoryPoint, MetricHistoryService } from "../../../src/core/ports/metric-history.ts";
import { openGapWatch } from "../../../src/watch/gaps/gap-watch.ts";
import { createSeededRandom, type SeededRandom } from "../../support/seeded-random.ts";
import { hour, minute } from "../../support/test-clock.ts";

export const day = 24 * hour;
const begin = Date.UTC(2026, 8, 1);
const recordEveryMs = 5 * minute;
/** The service gives its records that long after they were made. */
const recordsLateMs = 15 * minute;

type Time = { from: number; to: number };

/** What is planted in an account that is otherwise well. Times in milliseconds from its beginning. */
export interface Faults {
  /** Of all alerts, those that are lost one by one all the time. Default 0. */
  noise?: number;
  /** Every alert is lost. */
  outages?: Time[];
  /** The service sends nothing of so many of the rules. */
  silent?: (Time & { rules: number })[];
  /** So many alerts of rules that report each crossing are lost, one by one, between the 8th and the last day. */
  singles?: number;
  /** Alerts come so long after the time that they name. */
  late?: (Time & { ms: number })[];
  /** No relay runs, and the service repeats nothing. */
  downtimes?: Time[];
  /** The service does not give the records of so many of the rules, those that fall silent first. */
  unreadable?: (Time & { rules: number })[];
  /** What arrives is stored, and read when this is over. */
  backlogs?: Time[];
}

interface Sent {
  rule: number;
  at: number;
  holds: boolean;
  comesAt: number;
  lostBy?: "noise" | "outage" | "silence" | "single" | "downtime";
}

/** One rule: its records, and the alerts that the service makes of them. */
interface SimulatedRule {
  id: string;
  key: string;
  points: HistoryPoint[];
  sent: Sent[];
}

/**
 * Rules of an account, each over a metric of its own that goes over the threshold some times a day, for ten minutes to
 * some hours and now and then so briefly that no record shows it. Of sixty rules six rest for an hour after an alert,
 * three never report an end, and three report three of five: none of that is a loss.
 */
const simulateRules = ({ seed, rules, days }: { seed: number; rules: number; days: number }): SimulatedRule[] =>
  Array.from({ length: rules }, (_, index) => {
    const random = createSeededRandom(seed * 1000 + index);
    const exponential = (mean: number) => -mean * Math.log(1 - random.next());
    const betweenMs = day / (0.7 + random.next() * 4);
    const turns: { at: number; holds: boolean }[] = [];
    for (let at = exponential(betweenMs); at < days * day; ) {
      const lasts = random.next() < 0.1 ? minute + random.next() * 5 * minute : 10 * minute + exponential(40 * minute);
      turns.push({ at, holds: true }, { at: at + lasts, holds: false });
      at += lasts + 10 * minute + exponential(betweenMs);
    }
    const points: HistoryPoint[] = [];
    let next = 0;
    for (let at = 0; at < days * day; at += recordEveryMs) {
      while ((turns[next]?.at ?? Number.POSITIVE_INFINITY) <= at) next += 1;
      points.push({ at: begin + at, value: (next % 2 === 1 ? 110 : 90) + random.next() * 4 - 2 });
    }
    const key = `eth_token_price_0x${index.toString(16).padStart(40, "0")}`;
    return { id: `sub_${index}`, key, points, sent: reportTurns(turns, index, random) };
  });

function reportTurns(turns: { at: number; holds: boolean }[], rule: number, random: SeededRandom): Sent[] {
  const sent: Sent[] = [];
  let lastAt = Number.NEGATIVE_INFINITY;
  for (const { at, holds } of turns) {
    const habit = rule % 60;
    if (habit < 6 && at - lastAt < hour) continue;
    if (habit >= 6 && habit < 9 && !holds) continue;
    if (habit >= 9 && habit < 12 && random.next() < 0.4) continue;
    lastAt = at;
    const seenAt = begin + at + random.next() * 10_000;
    sent.push({ rule, at: seenAt, holds, comesAt: seenAt + 1000 });
  }
  return sent;
}

const isSteady = ({ rule }: Sent): boolean => rule % 60 >= 12;

const isIn = <T extends Time>(at: number, times: readonly T[] = []): T | undefined =>
  times.find(({ from, to }) => at - begin >= from && at - begin < to);

function plantFaults(rules: SimulatedRule[], faults: Faults, { seed, days }: { seed: number; days: number }): void {
  const random = createSeededRandom(seed + 77);
  const steady = rules.flatMap(({ sent }) => sent.filter((one) => isSteady(one) && one.at > begin + 8 * day));
  const singles = new Set(
    Array.from({ length: faults.singles ?? 0 }, (_, index) => {
      const from = begin + 8 * day + ((days - 9) * day * index) / (faults.singles ?? 1);
      return random.pick(steady.filter(({ at }) => at >= from && at < from + day / 2));
    }),
  );
  for (const one of rules.flatMap(({ sent }) => sent)) {
    const silence = faults.silent?.find((time) => isIn(one.at, [time]) && one.rule >= rules.length - time.rules);
    const isNoise = random.next() < (faults.noise ?? 0);
    if (isIn(one.at, faults.outages)) one.lostBy = "outage";
    else if (silence !== undefined) one.lostBy = "silence";
    else if (isIn(one.at, faults.downtimes)) one.lostBy = "downtime";
    else if (singles.has(one)) one.lostBy = "single";
    else if (isNoise) one.lostBy = "noise";
    one.comesAt += faults.late?.find((time) => isIn(one.at, [time]))?.ms ?? 0;
  }
}

/** What became of the planted faults, and what people were told. */
export type Simulated = ReturnType<ReturnType<typeof createTally>["result"]>;

interface Simulation {
  seed: number;
  /** Default 60. */
  rules?: number;
  /** Days from the beginning between which the watch looks each quarter of an hour. Default: 6 to 20. */
  watched?: readonly [from: number, to: number];
}

/** The watch over such an account, with a clock that jumps from look to look. */
export async function simulateAccount(
  faults: Faults,
  { seed, rules: count = 60, watched: [firstDay, days] = [6, 20] }: Simulation,
): Promise<Simulated> {
  const rules = simulateRules({ seed, rules: count, days });
  plantFaults(rules, faults, { seed, days });
  const tally = createTally(rules, faults, firstDay * day);
  const stopping = new AbortController();
  const downtimes = (faults.downtimes ?? []).map(({ from, to }) => ({ fromAt: begin + from, toAt: begin + to }));
  let now = begin + firstDay * day;
  const clock = {
    now: () => now,
    async sleep(ms: number) {
      if (ms >= minute) tally.look(watch.report());
      now += ms;
      const down = downtimes.find(({ fromAt, toAt }) => now >= fromAt && now < toAt);
      // The first look after a start.
      if (down !== undefined) now = down.toAt + 5 * minute;
      if (now >= begin + days * day) stopping.abort();
    },
  };
  const states = new Map<string, unknown>();
  const watch = await openGapWatch(
    {
      service: serve(rules, faults, clock.now),
      store: {
        loadWatchState: async (name) => states.get(name),
        saveWatchState: async ({ name, state }) => void states.set(name, state),
        health: async () => {
          const backlog = isIn(now, faults.backlogs);
          const oldestUnroutedAt = backlog && begin + backlog.from;
          return { writable: true, full: false, unrouted: backlog === undefined ? 0 : 1, bytes: 0, oldestUnroutedAt };
        },
        listFacts: createLog(rules, () => Math.min(now, begin + (isIn(now, faults.backlogs)?.from ?? Infinity))),
      },
      downtimes: () => downtimes.filter(({ toAt }) => toAt <= now),
      readOff: async () => ({ isOff: false, at: 0 }),
      async notify(facts, { name, state }) {
        states.set(name, JSON.parse(JSON.stringify(state)));
        tally.hear(facts, now, watch.report());
      },
      activeMutes: () => [],
      publicUrl: "https://tocsin.example.com",
      clock,
      random: () => 0.5,
      log: {
        ...silentLog,
        error: (event, fields) => {
          throw new Error(`${event} ${JSON.stringify(fields)}`);
        },
      },
    },
    { everyMs: 15 * minute },
  );
  await watch.run(stopping.signal);
  return tally.result();
}

function serve(rules: SimulatedRule[], { unreadable }: Faults, now: () => number): MetricHistoryService {
  const pointsOf = new Map(rules.map(({ key, points }) => [key, points]));
  const places = new Map(rules.map(({ key }, index) => [key, rules.length - index]));
  return {
    lookAtSubscriptions: async () => ({
      entries: rules.map(({ id, key }) => ({ subscription: { id, op: ">", value: 100 }, metric: { key } })),
    }),
    async lookAtRecords({ key, fromAt = 0, toAt = now() }) {
      const failing = isIn(now(), unreadable);
      if (failing !== undefined && (places.get(key) ?? 0) <= failing.rules) {
        throw new AppError("upstream_failed", "alerting: 502");
      }
      const until = Math.min(toAt, now() - recordsLateMs);
      const place = (at: number) => Math.max(0, Math.ceil((at - begin) / recordEveryMs));
      return { points: (pointsOf.get(key) ?? []).slice(place(fromAt), place(until + 1)), unread: 0 };
    },
  };
}

/** What has arrived, the newest first, as the store gives it. */
function createLog(rules: SimulatedRule[], now: () => number): AlertLog["listFacts"] {
  const arrived = rules
    .flatMap(({ sent }) => sent.filter(({ lostBy }) => lostBy === undefined))
    .sort((a, b) => a.comesAt - b.comesAt)
    .map((one, alertSeq) => ({
      position: String(alertSeq) as Position,
      alertSeq,
      origin: "hook" as const,
      receivedAt: one.comesAt,
      facts: factsOf(one, rules[one.rule]?.key ?? ""),
    }));
  let newest = 0;
  return async ({ fromAt, before, limit }) => {
    while ((arrived[newest]?.receivedAt ?? Number.POSITIVE_INFINITY) <= now()) newest += 1;
    const end = before === undefined ? newest : Number(before);
    return arrived
      .slice(Math.max(0, end - limit), end)
      .filter(({ receivedAt }) => receivedAt >= fromAt)
      .reverse();
  };
}

function factsOf({ at, holds }: Sent, metric: string): AlertFacts {
  return {
    title: "",
    severity: "info",
    status: holds ? "firing" : "resolved",
    format: "json",
    alertKey: "",
    fields: [{ name: "condition", value: "above" }],
    notes: [],
    metric,
    threshold: "100",
    value: holds ? "110" : "90",
    occurredAt: at,
  };
}

function isVisible({ at, holds }: Sent, points: readonly HistoryPoint[]): boolean {
  const after = Math.ceil((at - begin) / recordEveryMs);
  const [before, then] = [points[after - 1]?.value ?? 0, points[after]?.value ?? 0];
  return before > 100 !== then > 100 && then > 100 === holds;
}

/** People hear of a loss by the notice that begins with it, or by the count of one that is open. */
const isTold = ({ outage }: MissingAlert): boolean => outage !== undefined;

/** What is true of what was said. */
function createTally(rules: SimulatedRule[], faults: Faults, watchedFrom: number) {
  const lost = new Map<string, Sent[]>();
  const planted: Sent[] = [];
  let noise = 0;
  for (const { id, sent, points } of rules) {
    for (const one of sent.filter(({ lostBy }) => lostBy !== undefined)) {
      const name = `${id} ${one.holds ? "firing" : "resolved"}`;
      lost.set(name, [...(lost.get(name) ?? []), one]);
      if (one.lostBy === "noise") noise += 1;
      // Of a rule that reports some, nobody can tell which.
      else if (isVisible(one, points) && isSteady(one)) planted.push(one);
    }
  }
  const told = new Set<Sent>();
  const heard = new Set<string>();
  const falseOnes = { sure: new Set<string>(), likely: new Set<string>() };
  const notices: number[] = [];
  const said: string[] = [];
  let falseNotices = 0;
  let falseEnds = 0;
  let ends = 0;
  const nameOf = ({ rule, status, toAt }: MissingAlert) => `${rule} ${status} ${toAt}`;
  const lossesOf = ({ rule, status, fromAt, toAt }: MissingAlert) =>
    (lost.get(`${rule} ${status}`) ?? []).filter(({ at }) => at > fromAt - minute && at <= toAt + recordEveryMs);
  return {
    look(report: GapReport | undefined): void {
      for (const entry of report?.missing ?? []) {
        const losses = lossesOf(entry);
        if (losses.length === 0 && entry.verdict === "sure") falseOnes.sure.add(nameOf(entry));
        if (!isTold(entry)) continue;
        heard.add(nameOf(entry));
        if (losses.length === 0 && entry.verdict === "likely") falseOnes.likely.add(nameOf(entry));
        for (const one of losses) told.add(one);
      }
    },
    hear({ title, status }: AlertFacts, now: number, report: GapReport | undefined): void {
      said.push(`${((now - begin) / hour).toFixed(1)} h: ${title}`);
      if (status === "resolved") {
        ends += 1;
        const faultsOf = (faults.outages ?? faults.silent ?? []) as Time[];
        const isLasting = title.startsWith("Alerts come again") && isIn(now, faultsOf) !== undefined;
        const isMissing = title.includes("none is missing") && planted.some(({ at }) => at < now);
        if (isLasting || isMissing) falseEnds += 1;
        return;
      }
      notices.push(now);
      const all = (report?.missing ?? []).filter(isTold);
      const unheard = all.filter((entry) => !heard.has(nameOf(entry)));
      // What goes on behind an end is told anew.
      const news = unheard.length > 0 ? unheard : all;
      if (!news.some((entry) => lossesOf(entry).length > 0)) falseNotices += 1;
    },
    result() {
      const begins = [
        ...[...(faults.outages ?? []), ...(faults.silent ?? []), ...(faults.late ?? [])].map(({ from }) => from),
        ...(faults.downtimes ?? []).map(({ to }) => to),
      ].filter((at) => at >= watchedFrom);
      return {
        /** Alerts of rules that report each crossing, lost by a planted fault, that the records show. */
        lost: planted.length,
        /** Those of them that people heard of, by a notice or by the count of one. */
        told: planted.filter((one) => told.has(one)).length,
        /** From the beginning of each fault, and from the end of a downtime, to the first notice after it; absent: none came. */
        firstAfterMs: begins.map((from) => {
          const at = notices.find((time) => time >= begin + from);
          return at === undefined ? undefined : at - begin - from;
        }),
        notices: notices.length,
        ends,
        /** Entries that were sure at some time and were not lost. */
        falseSure: falseOnes.sure.size,
        /** Entries that were told as likely and were not lost. */
        falseLikely: falseOnes.likely.size,
        /** Notices all of whose entries were not lost. */
        falseNotices,
        /** Ends that say that alerts come again while the fault lasts, or that none is missing where one is. */
        falseEnds,
        /** Of alerts lost by noise: in all, and those that were told. */
        noise,
        noiseTold: [...told].filter(({ lostBy }) => lostBy === "noise").length,
        /** With the time in hours from the beginning. */
        said,
      };
    },
  };
}
