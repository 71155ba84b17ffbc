import { z } from "zod";
import type { WatchView } from "../contract/operations.ts";
import { type OwnWords, ownFacts } from "../core/own-facts.ts";
import type { StoreHealth } from "../core/ports/administration.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { formatBytes } from "../ground/text/format-bytes.ts";
import { createTimeFormat, formatDuration } from "../ground/time/time-format.ts";
import { type ShownDuty, Watch, type WatchDeps } from "./watch.ts";

export type DiskSight = Pick<StoreHealth, "full" | "freeBytes" | "diskBytes">;

export interface DiskWatchDeps extends WatchDeps {
  /** Rejects as the store does. */
  lookAtDisk(): Promise<DiskSight>;
  /** Requests of senders that could not be stored since the start. */
  countStoreRefused(): number;
  /** Other relays refuse requests too. They are not counted. */
  isShared: boolean;
}

interface Place {
  /** `server`: the alerts are on the disk of a database server. This machine's room is for the spool. */
  whose: keyof typeof wordsOf;
  hasSpool: boolean;
}

/** `full` begins a sentence. `low` names the place that is short of room, and the consequence. */
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

const saveEveryMs = 60_000;
/** Room that comes and goes within this time is one trouble. */
const isOverAfterMs = 60_000;
/** Above this much free room a disk is never low: a tenth of a large disk is room for years of alerts. */
const mostLowBytes = 5 * 1024 ** 3;
const scarceBytes = 50 * 1024 ** 2;

const levels = ["room", "low", "scarce", "full"] as const;
const stateSchema = z.object({
  level: z.enum(levels),
  /** Absent: the disk is not full. `refused`: requests since then. */
  full: z.object({ since: z.number(), refused: z.number() }).optional(),
  /** People know that alerts are accepted again. Enough free room afterwards is no second end. */
  isEndTold: z.boolean(),
});
type State = z.infer<typeof stateSchema>;
type Level = State["level"];

const rankOf = (level: Level) => levels.indexOf(level);
const { full: instant } = createTimeFormat("UTC");

/**
 * Sends people notices while the disk gets full: at a tenth, at the last 50 MB, and when alerts are refused, each once.
 * One notice reports the end, with the number of refused requests. On a full disk notices take the room of the ballast
 * (`store/sqlite/ballast.ts`). A database server has no ballast: its notice comes afterwards.
 *     room ──▶ low ──▶ scarce ──▶ full      worse at once; better only after a minute, with a fifth of room to spare
 */
export function openDiskWatch(
  { databaseUrl, spool }: { databaseUrl?: unknown; spool?: unknown },
  deps: DiskWatchDeps,
): Promise<ShownDuty> {
  const whose = databaseUrl === undefined ? "own" : "server";
  return new DiskWatch({ ...deps, whose, hasSpool: spool !== undefined }).open();
}

class DiskWatch extends Watch<State> {
  readonly name = "disk";
  readonly schema = stateSchema;
  memory: State = { level: "room", isEndTold: false };
  readonly everyMs = () => 15_000;
  #seen?: { sight: DiskSight; at: number };
  #betterSince?: number;
  #full: State["full"];
  #counted: number;
  #savedAt: number;

  constructor(private readonly deps: DiskWatchDeps & Place) {
    super(deps);
    this.#counted = deps.countStoreRefused();
    this.#savedAt = deps.clock.now();
  }

  async look(): Promise<void> {
    const sight = await this.deps.lookAtDisk();
    const now = this.deps.clock.now();
    this.#seen = { sight, at: now };
    const state = { ...this.memory, full: this.#countFull(sight.full, now) };
    const worse = judgeLevel(sight, 1);
    if (rankOf(worse) > rankOf(state.level)) {
      this.#betterSince = undefined;
      const severity = worse === "low" ? "warning" : "critical";
      const said = { ...describeWorse(this.deps, worse, sight, state), severity, status: "firing" } as const;
      return this.#keep({ ...state, level: worse, isEndTold: false }, said);
    }
    const better = judgeLevel(sight, 1.2);
    const isBetter = rankOf(better) < rankOf(state.level) || (state.full !== undefined && !sight.full);
    this.#betterSince = isBetter ? (this.#betterSince ?? now) : undefined;
    if (this.#betterSince === undefined || now - this.#betterSince < isOverAfterMs) {
      if (state.level === "full" && Math.abs(now - this.#savedAt) >= saveEveryMs) await this.#keep(state);
      return;
    }
    const { full, ...rest } = state;
    const isEndTold = better !== "room" && (state.isEndTold || full !== undefined);
    const hasRoom = better === "room" && !state.isEndTold ? writeRoom(this.deps, sight) : undefined;
    const over = full && writeAccepting(this.deps, full, this.#betterSince, sight, better);
    await this.#keep({ ...rest, level: better, isEndTold }, over ?? hasRoom);
    this.#betterSince = undefined;
    this.#full = undefined;
  }

  /** The look that first finds the disk full also counts the refusals just before it. */
  #countFull(isFull: boolean, now: number): State["full"] {
    const count = this.deps.countStoreRefused();
    const refused = count - this.#counted;
    this.#counted = count;
    const before = this.#full ?? this.memory.full;
    if (isFull || before !== undefined)
      this.#full = { since: before?.since ?? now, refused: (before?.refused ?? 0) + refused };
    return this.#full;
  }

  async #keep(state: State, said?: Said): Promise<void> {
    const { publicUrl, clock, log } = this.deps;
    await this.tell(said && ownFacts({ key: "disk", link: `${publicUrl}/system`, ...said }), state);
    if (said !== undefined) log.warn("disk.noticed", { level: state.level, refused: state.full?.refused });
    this.#savedAt = clock.now();
  }

  view(): WatchView {
    const { level, full: saved } = this.memory;
    const about = { name: this.name, lookedAt: this.#seen?.at, troubles: [] };
    if (this.#seen === undefined) return { ...about, verdict: "unknown", summary: "the disk was not looked at yet" };
    const { sight } = this.#seen;
    if (level === "room") return { ...about, verdict: "well", summary: describeRoom(sight) };
    const full = this.#full ?? saved;
    const { title, text } = describeWorse(this.deps, level, sight, { full });
    return {
      ...about,
      verdict: "trouble",
      summary: title,
      troubles: [`${title}. ${text}`],
      since: level === "full" ? full?.since : undefined,
      ...(level === "low" && { level: "warn" as const }),
    };
  }
}

/** @param spare multiplies each limit. More than 1: room must be well above the limits */
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

export function judgeRoom(sight: DiskSight): { level: Level; title: string; text: string } {
  const level = judgeLevel(sight, 1);
  return { level, ...describeWorse({ whose: "own", hasSpool: false }, level, sight, {}) };
}

function describeWorse({ whose, hasSpool }: Place, level: Level, sight: DiskSight, { full }: Pick<State, "full">) {
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

type Said = Omit<OwnWords, "key" | "link">;

function writeAccepting(
  deps: Pick<DiskWatchDeps, "isShared"> & Place,
  { since, refused }: NonNullable<State["full"]>,
  untilAt: number,
  sight: DiskSight,
  level: Level,
): Said {
  const lasted = formatDuration(untilAt - since);
  const many = `${deps.isShared ? "at least " : ""}${groupThousands(refused)}`;
  const lost =
    refused === 0
      ? "No request of a sender was refused meanwhile."
      : `${many} ${refused === 1 ? "request was" : "requests were"} refused meanwhile. ` +
        "Senders that repeat bring them again; tocsin gaps looks for alerts that did not come.";
  const short = level === "room" ? "" : ` Only ${describeRoom(sight)}: free more.`;
  return {
    title: `Alerts are accepted again: ${wordsOf[deps.whose].full.replace(/^The/, "the")} was full for ${lasted}`,
    text: `From ${instant(since)} to ${instant(untilAt)}. ${lost}${short}`,
    severity: "info",
    status: "resolved",
  };
}

function writeRoom(deps: Place, sight: DiskSight): Said {
  const title = `${wordsOf[deps.whose].low} has room again: ${describeRoom(sight)}`;
  return { title, text: undefined, severity: "info", status: "resolved" };
}
