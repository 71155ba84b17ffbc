import type { Damped, Damper, HeldBack, Ring, RingEvent, RingMemory, RingRule } from "../core/ring.ts";
import { adviseOnRings } from "./advise-on-rings.ts";
import {
  calmMs,
  type Firing,
  floorLiftsAt,
  floorRule,
  freeRules,
  holdRules,
  isManyFirings,
  mostFirings,
  newsRules,
  ringsWithin,
  windowMs,
} from "./dampers.ts";
import { backBy, directionOf, furtherBy } from "./distance.ts";

export interface RingJudgement {
  /** The alert goes out as its route says. False: it is held back. */
  rings: boolean;
  /** The alert is a ring and gets a new message. False for ends, and for a repeat that only changes a message. */
  asNew: boolean;
  /** For people: why the alert rings, or does not. */
  why: string;
  /** The alerts that were held back since the last ring, including this one. Absent when there are none. */
  damped?: Damped;
  /** For a held alert: when the summary is due, unless another alert of the key comes first. Epoch milliseconds. */
  summaryDueAt?: number;
  /** Recipients that get the alert although it is held back, since the last ring did not reach them. Default: none. */
  ringsFor?: string[];
  /** The memory after this alert. */
  memory: RingMemory;
}

const mostKeptRings = 32;
/** These dampers hold back only alerts that went no further than agreed. */
const boundBy: readonly Damper[] = ["again", "rearm", "its_end"];
/** While the last message is wrong, summaries are at least this far apart. */
const summaryEveryMs = 60 * 60_000;

/**
 * Whether an alert rings, by the memory of its key at one destination. Pure. Alerts are judged in the order of the log.
 *
 *     news ──▶ rings   what is new to the last ring ──▶ rings, unless the floor holds   the rest ──▶ each rule may hold it back
 *
 * A summary is due where a held alert went further than agreed, or the last message is wrong. Otherwise the key's next message
 * mentions the held alerts. The first end after a ring goes out. Ends of held alerts are held too. A muted alert is only
 * remembered: a due summary stays, unless its status would be wrong. Then the next ring or end mentions the held alerts.
 *
 * @param known undefined for a key without memory: then the alert rings
 * @param advises whether to try better options for the message when the floor holds an alert. False: no message needs them
 */
export function judgeRing(
  known: RingMemory | undefined,
  event: RingEvent,
  rule: RingRule,
  advises = true,
): RingJudgement {
  const isAnew = known === undefined || beginsAnew(known, event);
  const at = isAnew ? event.at : Math.max(event.at, known.latest.at);
  const memory = remember(known, isAnew, event, at);
  const untold = memory.held?.isTold ? undefined : memory.held;
  const release = (asNew: boolean, why: string, after: RingMemory): RingJudgement => ({
    rings: true,
    asNew,
    why,
    damped: untold && { ...untold, why },
    memory: {
      ...after,
      latest: { ...memory.latest, rang: true },
      held: undefined,
      tookAlong: untold ? { id: event.id, held: untold } : memory.tookAlong,
      summaryDueAt: undefined,
    },
  });

  if (event.isMuted) {
    const isSame = known !== undefined && isOver(known.latest.status) === isOver(memory.latest.status);
    const left = isSame ? { latest: { ...memory.latest, id: known.latest.id } } : { summaryDueAt: undefined };
    return { rings: true, asNew: false, why: "it is muted", memory: { ...memory, ...left } };
  }
  if (event.status === "resolved") {
    // The first end since a ring goes out, even after held alerts.
    if (!isAnew && !known.latest.rang && known.hasEnded)
      return hold({ memory, event, at, rule }, "its_end", "the alert that it ends did not ring");
    return release(false, "it ends what rang", isLate(memory, event) ? memory : told(memory, "resolved"));
  }
  const direction = directionOf(event);
  const last = memory.rings.at(-1);
  const ring: Ring = { id: event.id, at, severity: event.severity, value: event.value, direction };
  if (event.isQuiet) ring.isQuiet = true;
  if (last === undefined) return release(true, "the first of its key", afterRing(memory, ring, at));

  const firing: Firing = { event, at, rule, memory, last, direction };
  const firstOf = (rules: readonly ((firing: Firing) => string | undefined)[]) => {
    for (const say of rules) {
      const words = say(firing);
      if (words !== undefined) return words;
    }
    return undefined;
  };
  const news = firstOf(newsRules);
  if (news !== undefined) return release(true, news, afterRing(memory, { ...ring, isNews: true }, at));
  const free = firstOf(freeRules);
  for (const { by, why } of free === undefined ? [...holdRules, floorRule] : [floorRule]) {
    const words = why(firing);
    if (words !== undefined) return makeGood(hold(firing, by, words, holdBack(firing), advises), event.id);
  }
  const isQuick = free === undefined && !memory.hasEnded && at - last.at < (rule.editsForMs ?? 0);
  if (isQuick) return release(false, "a quick repeat", told(memory, "firing"));
  return release(true, free ?? "no rule holds it back", afterRing(memory, ring, at));
}

/** Whether the alert rings as the first of its key, if it fires and is not muted. */
export function beginsAnew(known: RingMemory | undefined, { at }: Pick<RingEvent, "at">): boolean {
  return known === undefined || Math.abs(at - known.latest.at) >= windowMs;
}

/** Forgets a ring that reached nobody, so the next alert rings. The held alerts that its message mentioned are held again. */
export function forgetRing(memory: RingMemory, alertId: string): RingMemory {
  const { tookAlong, held } = memory;
  const isItsOwn = tookAlong?.id === alertId;
  if (!isItsOwn && !memory.rings.some(({ id }) => id === alertId)) return memory;
  const last = memory.rings.at(-1);
  const isLast = last?.id === alertId;
  return {
    ...memory,
    ...(isItsOwn && {
      held: held ? addUp(tookAlong.held, held, last?.direction) : tookAlong.held,
      tookAlong: undefined,
    }),
    rings: memory.rings.filter(({ id }) => id !== alertId),
    toldStatus: undefined,
    ...(isLast && { isUnheard: true }),
  };
}

/**
 * Notes a recipient that a ring did not reach, though it reached others. The next firing goes to that recipient, so one refusal
 * keeps no ring from the others.
 */
export function missRing(memory: RingMemory, alertId: string, recipient: string): RingMemory {
  const isLast = memory.rings.at(-1)?.id === alertId || memory.madeGoodBy === alertId;
  if (!isLast || memory.missedBy?.includes(recipient)) return memory;
  return { ...memory, missedBy: [...(memory.missedBy ?? []), recipient] };
}

function makeGood(judged: RingJudgement, alertId: string): RingJudgement {
  const { missedBy, ...memory } = judged.memory;
  return missedBy === undefined
    ? judged
    : { ...judged, ringsFor: missedBy, memory: { ...memory, madeGoodBy: alertId } };
}

/** Adds two counts. The worst is the furthest in this direction. */
export function addUp(earlier: HeldBack, later: HeldBack, direction: Ring["direction"]): HeldBack {
  const both = (of: (...values: number[]) => number, ...values: (number | undefined)[]) => {
    const known = values.filter((value) => value !== undefined);
    return known.length === 0 ? undefined : of(...known);
  };
  const [before, since] = [earlier.worst.value, later.worst.value];
  const isWorse = before === undefined || (since !== undefined && furtherBy(since, before, direction) > 0);
  return {
    ...later,
    ...earlier,
    count: earlier.count + later.count,
    isBound: earlier.isBound && later.isBound,
    worst: isWorse ? later.worst : earlier.worst,
    lowest: both(Math.min, earlier.lowest, later.lowest),
    highest: both(Math.max, earlier.highest, later.highest),
  };
}

const isOver = (status: string | undefined) => status === "resolved";

/** Whether the alert is older than one of its key that was judged before. Then its status is not the latest. */
function isLate({ latest }: RingMemory, event: RingEvent): boolean {
  return event.at < latest.at;
}

/** Marks a due summary as sent, unless it had nothing new to say. */
function withSummary(known: RingMemory | undefined, at: number): RingMemory | undefined {
  if (known?.summaryDueAt === undefined || known.summaryDueAt > at) return known;
  const { held, latest, summaryDueAt: summarySentAt, wrongSinceAt, ...others } = known;
  if (held?.isBound && wrongSinceAt === undefined) return { ...others, held, latest };
  return { ...others, held: held && { ...held, isTold: true }, latest, summarySentAt, toldStatus: latest.status };
}

/** Adds an alert to the memory before it is judged. */
function remember(before: RingMemory | undefined, isAnew: boolean, event: RingEvent, at: number): RingMemory {
  const latest = { id: event.id, at, status: event.status, rang: true };
  const fires = event.status !== "resolved";
  const counts = fires && !event.isMuted;
  const known = withSummary(before, at);
  if (known === undefined || isAnew) {
    // The key's next message mentions alerts that no summary did, however late it comes.
    const held = known?.held?.isTold ? undefined : known?.held;
    return { rings: [], firedAt: counts ? [at] : [], latest, ...(held && { held }) };
  }
  const memory: RingMemory = { ...known, latest };
  const last = known.rings.at(-1);
  memory.rings = ringsWithin(known, at);
  if (last !== undefined && memory.rings.length === 0) memory.rings = [last];
  // An alert from before the last ring is not counted for the time since.
  const isSince = last !== undefined && event.at >= last.at;
  if (isLate(known, event)) latest.status = known.latest.status;
  else if (!fires && isSince) memory.hasEnded = true;
  // An end is at least back at the threshold, even where the sender repeats the value that fired.
  const back = [known.cameBackTo, event.value, fires ? undefined : event.threshold].filter((one) => one !== undefined);
  if (isSince && back.length > 0 && last.value !== undefined)
    memory.cameBackTo = back.reduce((one, other) => (backBy(other, last) > backBy(one, last) ? other : one));
  if (!counts) return memory;
  const wasCalm = at - (known.firedAt.at(-1) ?? 0) >= calmMs;
  memory.firedAt = [...known.firedAt, at].slice(-mostFirings - 1);
  memory.isFlapping = isManyFirings(memory.firedAt, at) || (known.isFlapping && !wasCalm) || undefined;
  return memory;
}

function afterRing(memory: RingMemory, ring: Ring, at: number): RingMemory {
  const backTo = memory.hasEnded ? memory.cameBackTo : undefined;
  const rings = [...ringsWithin(memory, at), { ...ring, ...(backTo !== undefined && { backTo }) }];
  // The floor counts all rings but news, so old news is dropped first. The last news is the furthest.
  if (rings.length > mostKeptRings)
    rings.splice(
      Math.max(
        0,
        rings.findIndex(({ isNews }) => isNews),
      ),
      1,
    );
  const { hasEnded: _, cameBackTo: __, isUnheard: ___, missedBy: ____, madeGoodBy: _____, ...others } = memory;
  return { ...told(others, "firing"), rings };
}

const told = (memory: RingMemory, toldStatus: RingMemory["toldStatus"]): RingMemory => {
  return { ...memory, toldStatus, wrongSinceAt: undefined };
};

/** @param held the held alerts, including this one. Ends are not counted */
function hold(
  { memory, event, at, rule }: Pick<Firing, "memory" | "event" | "at" | "rule">,
  by: Damper,
  why: string,
  held: HeldBack = memory.held ?? { count: 0, sinceAt: at, worst: placeOf(event, at) },
  advises = false,
): RingJudgement {
  if (advises && by === "floor" && !held.isAdvised) {
    held.advice = adviseOnRings(memory, event, judgeRing);
    held.isAdvised = true;
  }
  held.isBound = (boundBy.includes(by) && (memory.held ?? { isBound: true }).isBound) || undefined;
  const latest = { ...memory.latest, rang: false };
  const liftsAt = rule.flapping ? floorLiftsAt(memory, held.worst.severity, at) : undefined;
  const isWrong = isOver(memory.toldStatus) !== isOver(memory.latest.status);
  const wrongSinceAt = isWrong ? (memory.wrongSinceAt ?? at) : undefined;
  const summaryDueAt = dueAtOf({ ...memory, wrongSinceAt }, liftsAt, at);
  return {
    rings: false,
    asNew: false,
    why,
    damped: { ...held, by, why },
    summaryDueAt,
    memory: { ...memory, latest, held, summaryDueAt, wrongSinceAt },
  };
}

function holdBack({ memory: { held }, event, at, direction: own, last }: Firing): HeldBack {
  const { value } = event;
  const place = placeOf(event, at);
  if (held === undefined) return heldBackOf(event, at);
  const direction = own ?? last.direction;
  const { worst, lowest = value, highest = value } = held;
  // Values on both sides of a threshold are compared by their distance from it.
  const base = event.threshold ?? (direction === undefined ? last.value : undefined);
  const isWorse = (than: number, now: number) =>
    base === undefined ? furtherBy(now, than, direction) > 0 : Math.abs(now - base) > Math.abs(than - base);
  const isWorst = worst.value === undefined || (value !== undefined && isWorse(worst.value, value));
  return {
    ...held,
    count: held.count + 1,
    isTold: undefined,
    worst: isWorst ? place : worst,
    ...(value !== undefined && {
      lowest: Math.min(value, lowest ?? value),
      highest: Math.max(value, highest ?? value),
    }),
  };
}

/** The count for one alert that fires. */
export function heldBackOf(event: RingEvent, at: number): HeldBack {
  const { value } = event;
  return { count: 1, sinceAt: at, worst: placeOf(event, at), lowest: value, highest: value };
}

function placeOf({ id, severity, value }: RingEvent, at: number): HeldBack["worst"] {
  return { id, at, severity, value };
}

/** A summary waits for calm, and for the end of the floor. A wrong message is corrected even while alerts keep coming. */
function dueAtOf({ wrongSinceAt, summarySentAt }: RingMemory, liftsAt: number | undefined, at: number): number {
  const calmAt = at + calmMs;
  if (wrongSinceAt === undefined) return Math.max(calmAt, liftsAt ?? calmAt);
  return Math.max(wrongSinceAt + calmMs, (summarySentAt ?? Number.NEGATIVE_INFINITY) + summaryEveryMs);
}
