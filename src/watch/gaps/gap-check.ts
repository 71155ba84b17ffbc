import type { GapReport } from "../../contract/operations.ts";
import type { Clock } from "../../core/clock.ts";
import { AppError, type ErrorCode } from "../../core/errors.ts";
import { type GapWindow, gapHistoryMs } from "../../core/gaps.ts";
import { readMetricKey } from "../../core/metric-key.ts";
import type { Administration } from "../../core/ports/administration.ts";
import type { AlertLog, Position } from "../../core/ports/alert-log.ts";
import type { HistoryPoint, MetricHistoryService } from "../../core/ports/metric-history.ts";
import { groupThousands } from "../../ground/numbers/format-number.ts";
import { oneLine } from "../../ground/text/clean.ts";
import { type GapEvidence, toMinute } from "./follow-rules.ts";
import { judgeGaps } from "./judge-gaps.ts";
import { type GapRule, type ReadSubscriptions, readSubscriptions } from "./read-subscriptions.ts";
import { readSighting, type Sighting } from "./sightings.ts";

export interface GapCheckDeps {
  /** It paces its own calls. */
  service: MetricHistoryService;
  store: Pick<AlertLog, "listFacts"> & Pick<Administration, "health">;
  clock: Pick<Clock, "now" | "sleep">;
  /** How long alerts are kept, milliseconds. Absent: longer than the service keeps records. */
  keptForMs?: number;
  /** The source by whose hook the account's alerts come. Default: the account's own hook. */
  source?: string;
  /** The rules that earlier looks knew, and how they are saved. Absent: none are known or saved. */
  memory?: { known: KnownRules | undefined; save(known: KnownRules): Promise<void> };
}

export interface GapQuestion extends GapWindow, Pick<GapEvidence, "downtimes" | "offs" | "ends"> {}

/** Each rule of the last look, and since when it has had this condition. Null: since the first look. */
export type KnownRules = Record<string, number | null>;

/** Slow enough to disturb no other user of the service. */
export const gapCalls = { retry: { attempts: 3 }, restMs: 200 };

const mostMetrics = 100;
/** After this many failures in a row the service is not asked any further. */
const mostFailures = 3;
const mostUnknownKeys = 10;
const mostKnownRules = 2_000;
/** Alerts are read within seconds. After this wait the relay is behind: a missing alert may only be unread. */
const longestUnreadMs = 60_000;
/** The log is read in small steps with rests between them, so no reader has to wait. */
const stepSize = 500;
const restMs = 20;
const mostSightings = 100_000;
const mostKeptPoints = 300_000;
/** Records and alerts may arrive this long after their time. */
const overlapMs = 3_600_000;

interface Reading {
  now: number;
  evidence: Pick<GapEvidence, "subscriptions" | "histories" | "sightings" | "logSince" | "unreadSince">;
  /** In words: the service gave fewer subscriptions than there are. */
  short?: string;
}

/** Keeps the data of a check, so the next one asks only for new data. */
export class GapCheck {
  readonly #kept = new Map<string, HistoryPoint[]>();
  #known: KnownRules | undefined;
  #sightings = new Map<number, Sighting>();
  /** Alerts that came before this are not among the sightings. */
  #wholeSince?: number;
  #readUpTo?: number;
  #reading?: Promise<Reading>;

  constructor(private readonly deps: GapCheckDeps) {
    this.#known = deps.memory?.known;
  }

  /** Checks at the same time share their data. Rejects as the store does, and with `cancelled` or `invalid_request`. */
  async check({ since, until, downtimes, offs, ends }: GapQuestion, signal?: AbortSignal): Promise<GapReport> {
    this.#reading ??= this.#read(signal).finally(() => {
      this.#reading = undefined;
    });
    const { now, evidence, short } = await this.#reading;
    const oldestAt = now - gapHistoryMs;
    const from = Math.max(since ?? 0, oldestAt);
    const to = Math.min(until ?? now, now);
    if (from >= to) throw outside(oldestAt);
    const report = judgeGaps({ since: from, until: to, now, downtimes, offs, ends, ...evidence });
    const sight = short === undefined ? report.sight : { ...report.sight, existing: undefined };
    const notes = [
      short !== undefined && { what: "subscriptions", why: short },
      since !== undefined &&
        since < from && { what: "the time before", why: "the service has no records older than seven days" },
      this.#wholeSince !== undefined && {
        what: `the time before ${toMinute(this.#wholeSince)}`,
        why: `more than ${groupThousands(mostSightings)} alerts arrived since`,
      },
    ].filter((note) => note !== false);
    const unknown = [...notes.map((note) => ({ ...note, names: 1, crossings: 0 })), ...report.unknown];
    return { ...report, sight, unknown };
  }

  /** @param unreadSince alerts that came then or later may be read only after this look */
  async #readLog(now: number, unreadSince: number, signal?: AbortSignal): Promise<void> {
    const oldestAt = now - gapHistoryMs;
    const fromAt = Math.max(oldestAt, (this.#readUpTo ?? oldestAt) - overlapMs);
    const read = new Map<number, Sighting>();
    let before: Position | undefined;
    const { store, clock, source } = this.deps;
    do {
      throwIfStopped(signal);
      const step = await store.listFacts({ fromAt, before, limit: stepSize });
      for (const { alertSeq, facts, receivedAt, source: sender } of step) {
        // Alerts of other senders do not belong to this account.
        if (sender === source) read.set(alertSeq, this.#sightings.get(alertSeq) ?? readSighting(facts, receivedAt));
      }
      before = step.at(-1)?.position;
      if (before !== undefined) await clock.sleep(restMs, signal);
    } while (before !== undefined && read.size < mostSightings);
    this.#keepNewest(read, before !== undefined, oldestAt);
    this.#readUpTo = Math.min(now, unreadSince);
  }

  /** The kept alerts must have no hole: a read that was cut short drops all earlier alerts. */
  #keepNewest(read: Map<number, Sighting>, isCut: boolean, oldestAt: number): void {
    const former = isCut ? [] : [...this.#sightings].filter(([seq]) => !read.has(seq));
    const all = [...read, ...former].filter(([, { receivedAt }]) => receivedAt >= oldestAt);
    const newest = all.slice(0, mostSightings);
    if (isCut || newest.length < all.length) this.#wholeSince = newest.at(-1)?.[1].receivedAt;
    if (this.#wholeSince !== undefined && this.#wholeSince <= oldestAt) this.#wholeSince = undefined;
    this.#sightings = new Map(newest);
  }

  async #readSubscribed(now: number, signal?: AbortSignal) {
    try {
      const { entries, total = 0 } = await this.deps.service.lookAtSubscriptions({ signal });
      const short =
        total > entries.length ? `the service says that it has ${total}, and has given ${entries.length}` : undefined;
      return { subscriptions: await this.#remember(readSubscriptions(entries), now), short };
    } catch (error) {
      const isDenied = isOneOf(error, [...codesOfDenial, "upstream_unreachable"]);
      return { subscriptions: { failed: explain(error, signal) }, isDenied };
    }
  }

  /** A rule that the last look did not have is new. Not every service says when a rule was changed or switched on. */
  async #remember(found: ReadSubscriptions, now: number): Promise<ReadSubscriptions> {
    // Services sometimes give an empty list, which says nothing about the rules.
    if (found.rules.length + found.unread.length + found.off === 0) return found;
    const before = this.#known;
    const entries = found.rules.slice(0, mostKnownRules).map((rule) => {
      const name = identityOf(rule);
      return [name, before === undefined ? null : Object.hasOwn(before, name) ? (before[name] ?? null) : now] as const;
    });
    const next = Object.fromEntries(entries);
    if (JSON.stringify(next) !== JSON.stringify(before)) await this.deps.memory?.save(next);
    this.#known = next;
    const rules = found.rules.map((rule) => {
      const seenAt = next[identityOf(rule)] ?? undefined;
      return seenAt === undefined ? rule : { ...rule, since: Math.max(rule.since ?? 0, seenAt) };
    });
    return { ...found, rules };
  }

  async #readHistory(key: string, now: number, signal?: AbortSignal): Promise<[HistoryPoint[], number]> {
    const oldestAt = now - gapHistoryMs;
    const before = (this.#kept.get(key) ?? []).filter(({ at }) => at >= oldestAt);
    const lastAt = before.at(-1)?.at;
    const fromAt = lastAt === undefined ? oldestAt : lastAt - overlapMs;
    const { points, unread } = await this.deps.service.lookAtRecords({ key, fromAt, toAt: now }, { signal });
    const firstAt = points[0]?.at ?? Number.POSITIVE_INFINITY;
    const fresh = points.filter(({ at }) => at >= oldestAt && at <= now);
    const whole = [...before.filter(({ at }) => at < firstAt), ...fresh];
    this.#kept.delete(key);
    const count = [...this.#kept.values()].reduce((sum, { length }) => sum + length, 0);
    if (count + whole.length <= mostKeptPoints) this.#kept.set(key, whole);
    return [whole, unread];
  }

  async #readHistories(
    keys: string[],
    { now, failures, signal }: { now: number; failures: number; signal?: AbortSignal },
  ): Promise<Histories> {
    const histories: Histories = new Map();
    let unknownKeys = 0;
    let lastFailure = "";
    for (const key of keys) {
      if (failures >= mostFailures || unknownKeys >= mostUnknownKeys) {
        histories.set(key, lastFailure);
        continue;
      }
      throwIfStopped(signal);
      try {
        const [points, unread] = await this.#readHistory(key, now, signal);
        histories.set(key, { points, unread });
        failures = unknownKeys = 0;
      } catch (error) {
        lastFailure = explain(error, signal);
        histories.set(key, lastFailure);
        if (isOneOf(error, codesOfKey)) unknownKeys += 1;
        else failures = isOneOf(error, codesOfDenial) ? mostFailures : failures + 1;
      }
    }
    return histories;
  }

  async #read(signal?: AbortSignal): Promise<Reading> {
    const { clock, store, keptForMs } = this.deps;
    const now = clock.now();
    const { oldestUnroutedAt = now } = await store.health();
    const unreadSince = now - oldestUnroutedAt > longestUnreadMs ? oldestUnroutedAt : undefined;
    await this.#readLog(now, oldestUnroutedAt, signal);
    const { subscriptions, short, isDenied } = await this.#readSubscribed(now, signal);
    const all = [...this.#sightings.values()];
    const keys = chooseKeys(subscriptions, all).slice(0, mostMetrics);
    // Where the service refuses everything, one more call is enough evidence.
    const failures = isDenied ? mostFailures - 1 : 0;
    const histories = await this.#readHistories(keys, { now, failures, signal });
    const logSince = Math.max(this.#wholeSince ?? 0, keptForMs === undefined ? 0 : now - keptForMs);
    return { now, evidence: { subscriptions, histories, sightings: all, logSince, unreadSince }, short };
  }
}

function outside(oldestAt: number): AppError {
  return new AppError("invalid_request", "that time lies outside of the seven days that the service has records of", {
    hint: `ask for a time between ${new Date(oldestAt).toISOString()} and now`,
  });
}

function identityOf({ name, metricKey, kind, threshold, windowMs, subscriptionId }: GapRule): string {
  // The index in the list is no name, since the order may change.
  return [subscriptionId === undefined ? "" : name, metricKey, kind, threshold, windowMs ?? ""].join(" ");
}

type Histories = Map<string, { points: HistoryPoint[]; unread: number } | string>;

function chooseKeys(subscriptions: GapEvidence["subscriptions"], sightings: readonly Sighting[]): string[] {
  const counts = new Map<string, number>();
  const isReadable = !("failed" in subscriptions);
  if (isReadable) for (const { metricKey } of subscriptions.rules) counts.set(metricKey, 0);
  const revealsMore = !isReadable || subscriptions.unread.length > 0;
  for (const { words } of sightings) {
    for (const word of words) {
      const count = counts.get(word);
      if (count !== undefined) counts.set(word, count + 1);
      else if (revealsMore && readMetricKey(word) !== undefined) counts.set(word, 1);
    }
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([key]) => key);
}

/** The service does not know this key, which says nothing about other keys. */
const codesOfKey: readonly ErrorCode[] = ["upstream_not_found", "upstream_rejected"];
/** The service gives nothing now, or nothing to this API key, for any question. */
const codesOfDenial: readonly ErrorCode[] = ["upstream_rate_limited", "upstream_unauthorized", "upstream_forbidden"];

function isOneOf(error: unknown, codes: readonly ErrorCode[]): boolean {
  return error instanceof AppError && codes.includes(error.code);
}

function explain(error: unknown, signal?: AbortSignal): string {
  throwIfStopped(signal);
  if (!(error instanceof AppError)) throw error;
  return oneLine(error.message, 200);
}

function throwIfStopped(signal?: AbortSignal): void {
  if (signal?.aborted) throw new AppError("cancelled", "stopped before it was done");
}
