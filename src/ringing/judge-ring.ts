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
  /** Whether the alert goes out as its route says. */
  rings: boolean;
  /**
   * It is judged behind a younger alert of its key, which keeps the last word. What rings goes out as its route says, and its
   * delivery finds that it is over. What does not ring is counted by the younger one's summary (`damped`), or not sent at all.
   */
  isPast?: true;
  /** Whether it gets a new message. False for a resolving alert, and for a repeat that only changes a message. */
  asNew: boolean;
  /** Why the alert rings or does not, for people. */
  why: string;
  /** The alerts held back since the last ring, with this one. Absent: none. */
  damped?: Damped;
  /** For a held alert: when the summary is due if no other alert of the key comes. Epoch milliseconds. */
  summaryDueAt?: number;
  /** Recipients that get a held alert, since the last ring did not reach them. Default: none. */
  ringsFor?: string[];
  memory: RingMemory;
}

const mostKeptRings = 32;
/** Dampers of alerts that went no further than agreed. */
const boundBy: readonly Damper[] = ["again", "rearm", "its_end"];
/** The least distance between two summaries while the last message is wrong. */
const summaryEveryMs = 60 * 60_000;

/**
 * Whether an alert rings, by the memory of its key at one destination. Pure. Alerts are judged in the order of the log.
 *
 *     news ──▶ rings   what is new to the last ring ──▶ rings, unless the floor holds   the rest ──▶ each rule may hold it back
 *
 * A summary is sent where a held alert went further than agreed, or where the last message is wrong. In all other cases
 * the key's next message mentions the held alerts. The first resolving alert after a ring goes out, later ones are
 * held. A muted alert is only remembered. It cancels a due summary whose status it makes wrong.
 * @param known undefined for a key without memory. Its alert rings
 * @param advises whether to look for better options when the floor holds an alert back
 */
export function judgeRing(
  known: RingMemory | undefined,
  event: RingEvent,
  rule: RingRule,
  advises = true,
): RingJudgement {
  const judged = judgeNext(known, event, rule, advises);
  const isBehindWaiting =
    known?.summaryDueAt !== undefined &&
    !isOver(known.latest.status) &&
    !isOver(event.status) &&
    !event.isMuted &&
    isLate(known, event) &&
    !beginsAnew(known, event);
  return isBehindWaiting ? leaveSummary(known, judged) : judged;
}

function judgeNext(known: RingMemory | undefined, event: RingEvent, rule: RingRule, advises: boolean): RingJudgement {
  const isAnew = known === undefined || beginsAnew(known, event);
  const past = isAnew ? undefined : judgePast(known, event);
  if (past?.rings === false) return past;
  const at = isAnew ? event.at : Math.max(event.at, known.latest.at);
  const memory = remember(known, isAnew, event, at);
  const untold = memory.held?.isTold ? undefined : memory.held;
  const release = (asNew: boolean, why: string, after: RingMemory): RingJudgement =>
    past ?? {
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
    };

  if (event.isMuted) {
    const isSame = known !== undefined && isOver(known.latest.status) === isOver(memory.latest.status);
    const left = isSame ? { latest: { ...memory.latest, id: known.latest.id } } : { summaryDueAt: undefined };
    return { rings: true, asNew: false, why: "it is muted", memory: { ...memory, ...left } };
  }
  if (event.status === "resolved") {
    // The first resolving alert after a ring goes out, also where held alerts came between.
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

/** For an alert that is judged behind a younger one of its key: another relay stored it late, or that looked urgent after a kill. */
function judgePast(known: RingMemory, event: RingEvent): RingJudgement | undefined {
  const { latest, toldStatus } = known;
  if (event.isMuted || !isLate(known, event)) return undefined;
  const past = { asNew: false, isPast: true, memory: known } as const;
  if (event.status !== "resolved")
    return isOver(latest.status) && isOver(toldStatus)
      ? { ...past, rings: true, why: "it was over before" }
      : undefined;
  return isOver(latest.status) || latest.rang ? undefined : { ...past, rings: false, why: "it has fired again since" };
}

/** A firing that is judged behind a younger one, whose summary waits: that one has the last word, also where this one rings. */
function leaveSummary(known: RingMemory, judged: RingJudgement): RingJudgement {
  const { rings, memory } = judged;
  const { latest, held, tookAlong, summaryDueAt, toldStatus, wrongSinceAt } = known;
  if (rings)
    return {
      ...judged,
      damped: undefined,
      memory: { ...memory, latest, held, tookAlong, summaryDueAt, toldStatus, wrongSinceAt },
    };
  return { ...judged, isPast: true, summaryDueAt, memory: { ...known, firedAt: memory.firedAt, held: memory.held } };
}

/** Whether the key's earlier rings no longer count. */
export function beginsAnew(known: RingMemory | undefined, { at }: Pick<RingEvent, "at">): boolean {
  return known === undefined || Math.abs(at - known.latest.at) >= windowMs;
}

/** Forgets a ring that reached nobody, so the next alert rings. The held alerts of its message count as held again. */
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

/** Notes a recipient that a ring did not reach, though it reached others. It gets the next firing in any case. */
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

/** The worst is the furthest in this direction. */
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

/** Whether a newer alert of the key was judged before. It then has the latest status. */
function isLate({ latest }: RingMemory, event: RingEvent): boolean {
  return event.at < latest.at;
}

/** Marks a due summary as sent. A summary without news is not sent. */
function withSummary(known: RingMemory | undefined, at: number): RingMemory | undefined {
  if (known?.summaryDueAt === undefined || known.summaryDueAt > at) return known;
  const { held, latest, summaryDueAt: summarySentAt, wrongSinceAt, ...others } = known;
  if (held?.isBound && wrongSinceAt === undefined) return { ...others, held, latest };
  return { ...others, held: held && { ...held, isTold: true }, latest, summarySentAt, toldStatus: latest.status };
}

function remember(before: RingMemory | undefined, isAnew: boolean, event: RingEvent, at: number): RingMemory {
  const latest = { id: event.id, at, status: event.status, rang: true };
  const fires = event.status !== "resolved";
  const counts = fires && !event.isMuted;
  const known = withSummary(before, at);
  if (known === undefined || isAnew) {
    // Held alerts that no summary named are left for the key's next message, however late it comes.
    const held = known?.held?.isTold ? undefined : known?.held;
    return { rings: [], firedAt: counts ? [at] : [], latest, ...(held && { held }) };
  }
  const memory: RingMemory = { ...known, latest };
  const last = known.rings.at(-1);
  memory.rings = ringsWithin(known, at);
  if (last !== undefined && memory.rings.length === 0) memory.rings = [last];
  // An alert that is older than the last ring says nothing about the time since.
  const isSince = last !== undefined && event.at >= last.at;
  if (isLate(known, event)) latest.status = known.latest.status;
  else if (!fires && isSince) memory.hasEnded = true;
  // A resolved value is at least back at the threshold. Some senders repeat the value that fired.
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
  // The oldest news is dropped first: the floor counts all other rings, and the last news is the furthest.
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

/** @param held the held firing alerts, with this one */
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
  // On both sides of a threshold, the distance from it decides.
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

export function heldBackOf(event: RingEvent, at: number): HeldBack {
  const { value } = event;
  return { count: 1, sinceAt: at, worst: placeOf(event, at), lowest: value, highest: value };
}

function placeOf({ id, severity, value }: RingEvent, at: number): HeldBack["worst"] {
  return { id, at, severity, value };
}

/** A summary waits until the key is calm and the floor lifts. A correction does not wait for calm. */
function dueAtOf({ wrongSinceAt, summarySentAt }: RingMemory, liftsAt: number | undefined, at: number): number {
  const calmAt = at + calmMs;
  if (wrongSinceAt === undefined) return Math.max(calmAt, liftsAt ?? calmAt);
  return Math.max(wrongSinceAt + calmMs, (summarySentAt ?? Number.NEGATIVE_INFINITY) + summaryEveryMs);
}
