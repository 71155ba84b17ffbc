import { isWorse } from "../core/alert.ts";
import { type GroupEvent, type GroupMemory, type GroupRule, type HeldWith, writeGroup } from "../core/group.ts";
import { formatDuration } from "../ground/time/time-format.ts";

/** This many of those that a cause holds back are known by name. Ends of the others are sent without a sound. */
const mostNamed = 500;
/** A message about a cause names as many of those that it holds back. */
const mostListed = 50;

export interface Joining {
  /** When its message goes out. Epoch milliseconds; now or before: at once. */
  dueAt: number;
  /** What waits in the group goes out with it, earlier than it would be. */
  hastens: boolean;
  /** Others wait, or went out shortly before. */
  joins: boolean;
  /** For people; empty where the group makes no difference. */
  why: string;
  memory: GroupMemory;
}

/**
 * When an alert of a group goes out. Pure.
 *
 * | the group | it goes out |
 * |---|---|
 * | waits | with it |
 * | had a message within `again` | when `again` is over since that message, with all that come until then |
 * | had none | after `wait`, with all that come until then |
 *
 * One that is critical and fires goes out after `waitCritical` at the latest, and takes along what waits. Its end does not wait where
 * that is 0, as people know of it, whatever severity it says. A message further ahead than a group ever waits is not believed: the
 * clock was set back, or the file changed.
 */
export function joinGroup(
  known: GroupMemory | undefined,
  { at, alertKey, severity, status }: Pick<GroupEvent, "at" | "alertKey" | "severity" | "status">,
  { name, waitMs, againMs, waitCriticalMs }: NonNullable<GroupRule["group"]>,
): Joining {
  const { dueAt, critical = {} } = known ?? {};
  const isEnd = status === "resolved";
  const isUrgent = severity === "critical" || (isEnd && critical[alertKey] !== undefined);
  const { [alertKey]: _, ...others } = critical;
  const fires = isUrgent && !isEnd ? { ...lastOf(others, mostNamed - 1), [alertKey]: at } : others;
  const memory: GroupMemory = { dueAt, ...(Object.keys(fires).length > 0 && { critical: fires }) };
  if (isUrgent && isEnd && waitCriticalMs === 0) return { dueAt: at, hastens: false, joins: false, why: "", memory };
  const last = dueAt !== undefined && dueAt <= at + Math.max(waitMs, againMs) ? dueAt : undefined;
  const waits = last !== undefined && at < last;
  const isSoon = last !== undefined && at < last + againMs;
  const inTurn = waits ? last : isSoon ? last + againMs : at + waitMs;
  const toldAt = isUrgent && !isEnd ? Math.min(inTurn, at + waitCriticalMs) : inTurn;
  const hastens = waits && toldAt < last;
  return { dueAt: toldAt, hastens, joins: waits || isSoon, why: whyJoined(), memory: { ...memory, dueAt: toldAt } };

  function whyJoined(): string {
    const group = writeGroup(name);
    if (toldAt <= at) return hastens ? `critical: ${group} is told at once` : "";
    const wait = formatDuration(toldAt - at);
    if (waits) return `told with ${group} in ${wait}`;
    if (isSoon) return `waits ${wait} for others of ${group}, which had a message ${formatDuration(at - last)} before`;
    return `waits ${wait} for others of ${group}`;
  }
}

/** A cause as it fires, or its end. `isOver`: it was the last that fired, so that what it held back goes out now. Pure. */
export function noteCause(
  known: GroupMemory | undefined,
  { id, at, alertKey, title, severity, status }: GroupEvent,
  { toldAt, group, atMostMs }: { toldAt: number; group?: string; atMostMs: number },
): { memory: GroupMemory; isOver: boolean; with?: HeldWith } {
  const { held, firing: before } = current(known, at);
  const firing = { ...before };
  const its = firing[alertKey];
  if (status === "resolved") delete firing[alertKey];
  else firing[alertKey] = { toldAt, group, until: at + atMostMs, ...its, id, title, severity };
  const isOver = its !== undefined && Object.keys(firing).length === 0;
  return { memory: isOver ? {} : { firing, held }, isOver, with: held && listHeld(held) };
}

/**
 * Whether a cause that fires holds an alert back, and until when at most. Pure. It does not hold back what is worse than itself,
 * an end whose beginning it did not hold back, and what goes out together with it.
 */
export function holdBehind(
  known: GroupMemory | undefined,
  { at, alertKey, severity, status, title }: GroupEvent,
  name: string,
  group: string | undefined,
): { until: number; why: string; causeId: string; with: HeldWith; memory: GroupMemory } | undefined {
  const { firing = {}, held } = current(known, at);
  const causes = Object.values(firing);
  const cause = causes.find((one) => !isWorse(severity, one.severity) && !(one.group === group && at < one.toldAt));
  if (cause === undefined || firing[alertKey] !== undefined) return undefined;
  const { count = 0, titles = {} } = held ?? {};
  const until = Math.max(held?.until ?? 0, ...causes.map((one) => one.until));
  if (status === "resolved" && titles[alertKey] === undefined) return undefined;
  const isNamed = status !== "resolved" && Object.keys(titles).length < mostNamed;
  const after = {
    count: status === "resolved" ? count : count + 1,
    titles: isNamed ? { ...titles, [alertKey]: title } : titles,
    until,
  };
  return {
    until,
    why: `waits while ${writeGroup(name)} fires: ${cause.title}`,
    causeId: cause.id,
    with: listHeld(after),
    memory: { firing, held: after },
  };
}

/** What is done with deliveries of a name that wait: all are due now, of a cause those of keys that are over are ended before. */
export interface GroupChange {
  name: string;
  kind: "hasten" | "release";
  /** Those that are due until then. What comes behind it in the same transaction, and what quiet hours hold since, is due later. */
  upTo: number;
  /** When they go out instead. Epoch milliseconds. */
  dueAt: number;
}

export interface Gathered {
  /** What is remembered then, by name. */
  memories: Map<string, GroupMemory>;
  changes: GroupChange[];
  /** It waits until then, and goes out with the others of this name. */
  held?: { dueAt: number; name: string };
  /** For people; empty where it waits for nothing. */
  why: string;
  /** Others of its group wait as well, or were told shortly before. */
  joins?: boolean;
  /** It waits for the end of this cause, whose message counts it. */
  behind?: { causeId: string; with: HeldWith };
  /** It is a cause, and holds these back. */
  with?: HeldWith;
}

/**
 * What becomes of an alert at one destination by its group and by causes. Pure; alerts are judged in the order in which they are routed.
 *
 * @param find what is known by a name
 * @param isSent it would go out now. Else it is muted, held by quiet hours, or does not ring: it waits for nothing, and is no new cause
 */
export function judgeGroups(
  find: (name: string) => GroupMemory | undefined,
  event: GroupEvent,
  { group, holds = [], heldBy = [] }: GroupRule,
  isSent: boolean,
): Gathered {
  const judged: Gathered = { memories: new Map(), changes: [], why: "" };
  if (isSent) {
    const isHeld = heldBy.some((name) => {
      const behind = holdBehind(find(name), event, name, group?.name);
      if (behind === undefined) return false;
      const { until, why, memory, ...cause } = behind;
      judged.memories.set(name, memory);
      Object.assign(judged, { held: { dueAt: until, name }, why, behind: cause });
      return true;
    });
    if (!isHeld && group !== undefined) {
      const { name } = group;
      const known = find(name);
      const { dueAt, hastens, joins, why, memory } = joinGroup(known, event, group);
      judged.memories.set(name, memory);
      if (hastens) judged.changes.push({ name, kind: "hasten", upTo: known?.dueAt ?? 0, dueAt });
      if (hastens || dueAt > event.at) judged.held = { dueAt, name };
      Object.assign(judged, { why, joins });
    }
  }
  for (const { name, atMostMs } of holds) {
    const known = find(name);
    const isKnown = known?.firing?.[event.alertKey] !== undefined;
    if (!isKnown && (event.status === "resolved" || !isSent)) continue;
    const { dueAt: toldAt = event.at, name: group } = judged.held ?? {};
    const noted = noteCause(known, event, { toldAt, group, atMostMs });
    judged.memories.set(name, noted.memory);
    if (noted.isOver && known?.held)
      judged.changes.push({ name, kind: "release", upTo: known.held.until, dueAt: event.at });
    judged.with ??= noted.with;
  }
  return judged;
}

const lastOf = <T>(all: Record<string, T>, most: number): Record<string, T> =>
  Object.fromEntries(Object.entries(all).slice(-most));

/** What holds back for too long is no cause any more. */
function current({ firing = {}, held }: GroupMemory = {}, at: number): GroupMemory {
  const fires = Object.entries(firing).filter(([, { until }]) => at < until);
  return fires.length === 0 ? {} : { firing: Object.fromEntries(fires), held };
}

function listHeld({ count, titles }: NonNullable<GroupMemory["held"]>): HeldWith {
  return { count, titles: Object.values(titles).slice(0, mostListed) };
}
