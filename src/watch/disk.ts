import { z } from "zod";
import type { WatchView } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { createPoll } from "../core/poll.ts";
import type { WatchState, WatchStore } from "../core/ports/watch.ts";
import { formatBytes } from "../ground/text/format-bytes.ts";
import { createTimeFormat, formatDuration } from "../ground/time/time-format.ts";
import type { Watch } from "./watch.ts";

/** How full the disk is on which alerts are kept. */
export interface DiskSight {
  /** Nothing more can be stored. */
  full: boolean;
  /** Absent: it is another machine's. */
  freeBytes?: number;
  diskBytes?: number;
}

export interface DiskWatchDeps {
  /** Rejects as the store does. */
  look(): Promise<DiskSight>;
  /** `server`: alerts are kept on that of a database server, and the room of this machine is the spool's. */
  whose: keyof typeof wordsOf;
  /** New alerts wait in a spool while the disk is full. */
  hasSpool: boolean;
  /** Requests of senders that could not be stored since the start. */
  countRefused(): number;
  /** Other relays refuse as well, and are not counted. */
  isShared: boolean;
  store: WatchStore;
  /** Saves the state in the same step. Rejects as the store does. */
  notify(facts: AlertFacts, watch: WatchState): Promise<void>;
  /** How people reach the page. */
  publicUrl: string;
  clock: Clock;
  log: Log;
}

/** What runs full, as the beginning of a sentence. `low`: where this machine's room gets short, and what that may come to. */
const wordsOf = {
  own: {
    low: "The disk of Tocsin",
    lowEffect: "When it is full, new alerts are refused.",
    full: "The disk of Tocsin",
    mend: "Free space or enlarge the volume; a shorter retention: keeps fewer alerts.",
  },
  server: {
    low: "The disk of the spool",
    lowEffect: "When it is full, alerts that come while the database is away are refused.",
    full: "The disk of the database server",
    mend: "Free space or enlarge the volume.",
  },
};

const stateName = "disk";
const lookEveryMs = 15_000;
const saveEveryMs = 60_000;
/** Room that comes and goes is one trouble. */
const isOverAfterMs = 60_000;
/** A tenth of a large disk is years of alerts. */
const mostLowBytes = 5 * 1024 ** 3;
const scarceBytes = 50 * 1024 ** 2;

const levels = ["room", "low", "scarce", "full"] as const;
const stateSchema = z.object({
  level: z.enum(levels),
  /** Absent: it is not full. `refused`: requests since then. */
  full: z.object({ since: z.number(), refused: z.number() }).optional(),
  /** People know that it was full and takes alerts again: that there is room as well is no second end. */
  isEndTold: z.boolean(),
});
type State = z.infer<typeof stateSchema>;
type Level = State["level"];

const rankOf = (level: Level) => levels.indexOf(level);
const { full: instant } = createTimeFormat("UTC");

/**
 * Tells people while it can that the disk gets full: at a tenth, at the last 50 MB, and when alerts are refused, each once,
 * and once that it is over, with how many were refused. A full disk takes notices: what the store has laid by gives
 * them room (`store/sqlite/ballast.ts`). Where none can be stored (a database server's disk) one is sent afterwards.
 *
 *     room ──▶ low ──▶ scarce ──▶ full      worse at once; better only after a minute, with a fifth of room to spare
 */
export async function openDiskWatch(deps: DiskWatchDeps): Promise<Watch> {
  const { store, clock, log } = deps;
  const saved = stateSchema.safeParse(await store.loadWatchState(stateName)).data;
  let state: State = saved ?? { level: "room", isEndTold: false };
  let betterSince: number | undefined;
  let counted = deps.countRefused();
  let savedAt = clock.now();
  let sight: DiskSight | undefined;
  let lookedAt: number | undefined;

  async function tell(facts: AlertFacts | undefined, next: State): Promise<void> {
    const watch = { name: stateName, state: next };
    await (facts === undefined ? store.saveWatchState(watch) : deps.notify(facts, watch));
    state = next;
    savedAt = clock.now();
    if (facts !== undefined) log.warn("disk.noticed", { level: next.level, refused: next.full?.refused });
  }

  /** What was refused between two looks is known at once, also when it cannot be written. */
  function countFull(seen: DiskSight, now: number): void {
    const count = deps.countRefused();
    const refused = count - counted;
    counted = count;
    if (!seen.full && state.full === undefined) return;
    const { since, refused: before } = state.full ?? { since: now, refused: 0 };
    state = { ...state, full: { since, refused: before + refused } };
  }

  async function look(): Promise<void> {
    const seen = await deps.look();
    const now = clock.now();
    [sight, lookedAt] = [seen, now];
    countFull(seen, now);
    const worse = judgeLevel(seen, 1);
    if (rankOf(worse) > rankOf(state.level)) {
      betterSince = undefined;
      return tell(writeWorse(deps, worse, seen, state), { ...state, level: worse, isEndTold: false });
    }
    const better = judgeLevel(seen, 1.2);
    const isBetter = rankOf(better) < rankOf(state.level) || (state.full !== undefined && !seen.full);
    if (!isBetter) betterSince = undefined;
    else betterSince ??= now;
    if (betterSince === undefined || now - betterSince < isOverAfterMs) {
      // A kill takes no more than a minute of the count with it.
      if (state.level === "full" && Math.abs(now - savedAt) >= saveEveryMs) await tell(undefined, state);
      return;
    }
    const { full, ...rest } = state;
    const untilAt = betterSince;
    betterSince = undefined;
    const facts =
      full !== undefined
        ? writeAccepting(deps, full, untilAt, seen, better)
        : better === "room" && !state.isEndTold
          ? writeRoom(deps, seen)
          : undefined;
    const isEndTold = better !== "room" && (state.isEndTold || full !== undefined);
    try {
      await tell(facts, { ...rest, level: better, isEndTold });
    } catch (error) {
      betterSince = untilAt;
      throw error;
    }
  }

  function view(): WatchView {
    if (sight === undefined) {
      return { name: stateName, verdict: "unknown", summary: "the disk was not looked at yet", troubles: [] };
    }
    const { level } = state;
    if (level === "room") {
      return { name: stateName, verdict: "well", summary: describeRoom(sight), troubles: [], lookedAt };
    }
    const { title, text } = describeWorse(deps, level, sight, state);
    const mild = level === "low" ? ({ level: "warn" } as const) : {};
    const since = level === "full" ? state.full?.since : undefined;
    return {
      name: stateName,
      verdict: "trouble",
      summary: title,
      troubles: [`${title}. ${text}`],
      since,
      lookedAt,
      ...mild,
    };
  }

  const poll = createPoll({
    look,
    everyMs: lookEveryMs,
    clock,
    onFailed: (error) => log.error("disk.not_looked", { error: String(error).slice(0, 300) }),
  });
  return { view, run: poll.run };
}

/** @param spare how much more than each limit counts as enough */
function judgeLevel({ full, freeBytes, diskBytes }: DiskSight, spare: number): Level {
  if (full) return "full";
  if (freeBytes === undefined || diskBytes === undefined) return "room";
  if (freeBytes < Math.min(scarceBytes, diskBytes / 4) * spare) return "scarce";
  return freeBytes < Math.min(mostLowBytes, diskBytes / 10) * spare ? "low" : "room";
}

export function describeRoom({ freeBytes, diskBytes }: DiskSight): string {
  if (freeBytes === undefined || diskBytes === undefined) return "there is room";
  return `${formatBytes(freeBytes)} of ${formatBytes(diskBytes)} are free`;
}

/** How full the disk of a data folder is, in the words of the watch, for somebody who looks once. */
export function judgeRoom(sight: DiskSight): { level: Level; title: string; text: string } {
  const level = judgeLevel(sight, 1);
  return { level, ...describeWorse({ whose: "own", hasSpool: false }, level, sight, {}) };
}

function describeWorse(
  { whose, hasSpool }: Pick<DiskWatchDeps, "whose" | "hasSpool">,
  level: Level,
  sight: DiskSight,
  { full }: Pick<State, "full">,
) {
  const { low, lowEffect, full: name, mend } = wordsOf[whose];
  if (level !== "full") {
    const title = `${low} is nearly full: ${describeRoom(sight)}`;
    return { title, text: `${lowEffect} ${mend}` };
  }
  const since = full === undefined ? "" : ` since ${instant(full.since)}`;
  const effect = hasSpool
    ? `New alerts wait in the spool${since}.`
    : `New alerts are refused with 503${since}; senders that repeat them lose nothing.`;
  return { title: `${name} is full`, text: `${effect} What was accepted is delivered. ${mend}` };
}

function writeWorse(deps: DiskWatchDeps, level: Level, sight: DiskSight, state: State): AlertFacts {
  const severity = level === "low" ? "warning" : "critical";
  return { ...noticeOf(deps), ...describeWorse(deps, level, sight, state), severity, status: "firing" };
}

function writeAccepting(
  deps: DiskWatchDeps,
  { since, refused }: NonNullable<State["full"]>,
  untilAt: number,
  sight: DiskSight,
  level: Level,
): AlertFacts {
  const lasted = formatDuration(untilAt - since);
  const many = `${deps.isShared ? "at least " : ""}${refused.toLocaleString("en")}`;
  const lost =
    refused === 0
      ? "No request of a sender was refused meanwhile."
      : `${many} ${refused === 1 ? "request was" : "requests were"} refused meanwhile. Senders that repeat bring them again; tocsin gaps looks for alerts that did not come.`;
  const short = level === "room" ? "" : ` Only ${describeRoom(sight)}: free more.`;
  return {
    ...noticeOf(deps),
    title: `Alerts are accepted again: ${wordsOf[deps.whose].full.replace(/^The/, "the")} was full for ${lasted}`,
    text: `From ${instant(since)} to ${instant(untilAt)}. ${lost}${short}`,
    severity: "info",
    status: "resolved",
  };
}

function writeRoom(deps: DiskWatchDeps, sight: DiskSight): AlertFacts {
  const title = `${wordsOf[deps.whose].low} has room again: ${describeRoom(sight)}`;
  return { ...noticeOf(deps), title, text: undefined, severity: "info", status: "resolved" };
}

function noticeOf({ publicUrl }: DiskWatchDeps) {
  return {
    format: "empty" as const,
    alertKey: "tocsin:disk",
    source: "Tocsin",
    link: `${publicUrl}/system`,
    fields: [],
    notes: [],
  };
}
