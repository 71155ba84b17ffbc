import { isWorse } from "../core/alert.ts";
import {
  allCauses,
  type CauseMemory,
  type GroupEvent,
  type GroupMemory,
  type GroupRule,
  type HeldWith,
  writeGroup,
} from "../core/group.ts";
import { hashText } from "../core/secret.ts";
import { formatDuration } from "../ground/time/time-format.ts";

/**
 * This many of those that the causes of a destination hold back are known by name. They are read and written with each alert that follows
 * a cause, as are the causes.
 */
const mostNamed = 500;
/** This many more are known by a hash of their key. Ends of the others are sent without a sound. */
const mostOthers = 5_000;
/** This many alerts are known as causes at a destination. */
const mostFiring = 500;
/** A message about a cause names as many of those that it holds back. */
const mostListed = 50;

export interface Joining {
  /** When its message goes out. Epoch milliseconds; now or before: at once. */
  dueAt: number;
  /** What waits in the group goes out with it, earlier than it would be. */
  hastens: boolean;
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
 * | had a message within `again`, which is no shorter than `wait` | when `again` is over since that, with all until then |
 * | else | after `wait`, with all that come until then |
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
  if (isUrgent && isEnd && waitCriticalMs === 0) return { dueAt: at, hastens: false, why: "", memory };
  const last = dueAt !== undefined && dueAt <= at + Math.max(waitMs, againMs) ? dueAt : undefined;
  const waits = last !== undefined && at < last;
  const isSoon = last !== undefined && waitMs <= againMs && at < last + againMs;
  const inTurn = waits ? last : isSoon ? last + againMs : at + waitMs;
  const toldAt = isUrgent && !isEnd ? Math.min(inTurn, at + waitCriticalMs) : inTurn;
  const hastens = waits && toldAt < last;
  return { dueAt: toldAt, hastens, why: whyJoined(), memory: { ...memory, dueAt: toldAt } };

  function whyJoined(): string {
    const group = `the group ${writeGroup(name)}`;
    if (toldAt <= at) return hastens ? `critical: ${group} is told at once` : "";
    const wait = formatDuration(toldAt - at);
    if (waits) return `told with ${group} in ${wait}`;
    if (isSoon) return `waits ${wait} for others of ${group}, which had a message ${formatDuration(at - last)} before`;
    return `waits ${wait} for others of ${group}`;
  }
}

/** A cause as it fires. Pure. */
export function noteCause(
  { firing: before = {}, held }: CauseMemory,
  { id, at, alertKey, title, severity }: GroupEvent,
  { toldAt, group, atMostMs }: { toldAt: number; group?: string; atMostMs: number },
): CauseMemory {
  const { [alertKey]: its, ...others } = before;
  const one = { toldAt, group, until: at + atMostMs, ...its, id, title, severity };
  return { firing: { ...others, [alertKey]: one }, held };
}

/**
 * Causes that are over, by the key or the id of an alert: the last of a name tells what it held back, but for what another cause holds
 * back as well, which waits for that. Pure.
 */
export function endCauses(
  known: Causes,
  at: number,
  isOver: (key: string, id: string) => boolean,
): { causes: Causes; changes: GroupChange[]; with?: HeldWith } {
  const ended = Object.entries(known).filter(([, { firing = {} }]) =>
    Object.entries(firing).some(([key, { id }]) => isOver(key, id)),
  );
  const causes = { ...known };
  // The alert ends under all names first: what one cause lets go does not wait for another that ends with it.
  for (const [name, { firing = {}, held }] of ended) {
    const left = Object.entries(firing).filter(([key, { id }]) => !isOver(key, id));
    if (left.length > 0) causes[name] = { firing: Object.fromEntries(left), held };
    else delete causes[name];
  }
  const said = ended.find(([, { held }]) => held !== undefined)?.[1].held;
  return {
    causes,
    changes: ended.flatMap(([name, { held }]) => (held && !causes[name] ? letGo(causes, name, held, at) : [])),
    with: said && listHeld(said),
  };
}

/** Where more causes fire than are known, what the one that ends first holds back does not wait any more. Pure. */
export function boundCauses(known: Causes, at: number): { causes: Causes; changes: GroupChange[] } {
  const firing = Object.values(known).flatMap(({ firing = {} }) => Object.entries(firing));
  if (firing.length <= mostFiring) return { causes: known, changes: [] };
  const [first] = firing.reduce((one, other) => (other[1].until < one[1].until ? other : one));
  return endCauses(known, at, (key) => key === first);
}

function letGo(causes: Causes, name: string, held: NonNullable<CauseMemory["held"]>, at: number): GroupChange[] {
  const keysOf = new Map<string, string[]>();
  for (const [key, { severity, by }] of Object.entries(held.titles)) {
    const to = by.find((one) =>
      Object.values(causes[one]?.firing ?? {}).some((its) => !isWorse(severity, its.severity)),
    );
    if (to !== undefined) keysOf.set(to, [...(keysOf.get(to) ?? []), key]);
  }
  const moves = [...keysOf].map(([to, keys]): GroupChange => {
    const { firing = {}, held: its } = causes[to] ?? {};
    const dueAt = latestOf(firing, its);
    const titles = { ...its?.titles };
    for (const key of keys) titles[key] = held.titles[key] as HeldKey;
    causes[to] = { firing, held: { ...its, count: (its?.count ?? 0) + keys.length, titles, until: dueAt } };
    return { name, kind: "move", to, keys, upTo: held.until, dueAt };
  });
  return [...moves, { name, kind: "release", upTo: held.until, dueAt: at }];
}

interface HoldingBack {
  name: string;
  by: string[];
  group?: string;
  known?: { named: number; others: number };
}

/**
 * Whether a cause that fires holds an alert back, and until when at most. Pure. It does not hold back what is worse than itself,
 * an end whose beginning it did not hold back, and what goes out together with it.
 *
 * @param by names of all that may hold it back
 * @param known how many all causes of its destination hold back that are known. Default: those of this one
 */
export function holdBehind(
  { firing = {}, held }: CauseMemory,
  { at, alertKey, severity, status, title }: GroupEvent,
  { name, by, group, known = countKnown([{ held }]) }: HoldingBack,
): { until: number; why: string; causeId: string; with: HeldWith; memory: CauseMemory } | undefined {
  const isEnd = status === "resolved";
  const causes = Object.values(firing);
  const cause = isEnd
    ? causes[0]
    : causes.find((one) => !isWorse(severity, one.severity) && !(one.group === group && at < one.toldAt));
  const { count = 0, titles = {}, others = [] } = held ?? {};
  const isKnown = isHeldBy(held, alertKey);
  if (cause === undefined || Object.hasOwn(firing, alertKey) || (isEnd && !isKnown)) return undefined;
  const until = latestOf(firing, held);
  const isNamed = Object.hasOwn(titles, alertKey) || (!isKnown && known.named < mostNamed);
  const after = {
    ...held,
    count: isEnd || isKnown ? count : count + 1,
    titles: isNamed && !isEnd ? { ...titles, [alertKey]: { title, severity, by } } : titles,
    ...(!isKnown && !isNamed && known.others < mostOthers && { others: [...others, hashOf(alertKey)] }),
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

/**
 * What is done with deliveries of a name that wait. `hasten`: they are due at `dueAt`. `release`: so are those that a cause held back, but
 * those of keys that are over are ended before. `move`: those of some keys wait for another cause.
 */
export type GroupChange = {
  name: string;
  /**
   * Deliveries that are due until then. Those that come behind it in the same transaction, or that quiet hours hold since, are due
   * later.
   */
  upTo: number;
  /** When these deliveries go out instead. Epoch milliseconds. */
  dueAt: number;
} & ({ kind: "hasten" | "release" } | { kind: "move"; to: string; keys: string[] });

export interface Gathered {
  /** The memories after it, by name. */
  memories: Map<string, GroupMemory>;
  changes: GroupChange[];
  /** It waits until then, and goes out with the others of this name. */
  held?: { dueAt: number; name: string };
  /** For people; empty where it waits for nothing. */
  why: string;
  /** It waits for the end of this cause, whose message counts it. */
  behind?: { causeId: string; with: HeldWith };
  /** It is a cause, and holds these back. */
  with?: HeldWith;
}

/** Whether an alert may change what is known of causes. Pure. */
export function mayChangeCauses(
  { causes = {} }: GroupMemory = {},
  alertKey: string,
  { holds = [], heldBy = [] }: GroupRule,
): boolean {
  const isOf = ({ firing = {}, held }: CauseMemory) => Object.hasOwn(firing, alertKey) || isHeldBy(held, alertKey);
  return holds.length > 0 || heldBy.some((name) => Object.hasOwn(causes, name)) || Object.values(causes).some(isOf);
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
  const { alertKey, at } = event;
  const isEnd = event.status === "resolved";
  let causes = currentCauses(find(allCauses), at);
  const note = (noted: Causes) => {
    causes = noted;
    judged.memories.set(allCauses, { causes });
  };
  if (isSent) {
    const holding = Object.keys(causes).filter((name) => isHeldBy(causes[name]?.held, alertKey));
    // A key that waits already waits for the same causes again. An end follows its beginning, whatever it says of itself.
    const isHeld = [...holding, ...(isEnd ? [] : heldBy)].some((name) => {
      const known = countKnown(Object.values(causes));
      const behind = holdBehind(causes[name] ?? {}, event, { name, by: heldBy, group: group?.name, known });
      if (behind === undefined) return false;
      const { until, why, memory, ...cause } = behind;
      note({ ...causes, [name]: memory });
      Object.assign(judged, { held: { dueAt: until, name }, why, behind: cause });
      return true;
    });
    if (!isHeld && group !== undefined) {
      const { name } = group;
      const known = find(name);
      const { dueAt, hastens, why, memory } = joinGroup(known, event, group);
      judged.memories.set(name, memory);
      if (hastens) judged.changes.push({ name, kind: "hasten", upTo: known?.dueAt ?? 0, dueAt });
      if (hastens || dueAt > at) judged.held = { dueAt, name };
      judged.why = why;
    }
  }
  if (isEnd) {
    if (!Object.values(causes).some(({ firing = {} }) => Object.hasOwn(firing, alertKey))) return judged;
    const ended = endCauses(causes, at, (key) => key === alertKey);
    note(ended.causes);
    judged.changes.push(...ended.changes);
    judged.with = ended.with;
    return judged;
  }
  for (const { name, atMostMs } of holds) {
    const known = causes[name] ?? {};
    const fired = Object.hasOwn(known.firing ?? {}, alertKey) ? known.firing?.[alertKey] : undefined;
    if (!isSent && fired === undefined) continue;
    const { dueAt: toldAt = at, name: group } = judged.held ?? {};
    // Its message is that of the last one that was sent: there it is counted, and it is forgotten where that did not arrive.
    const told = isSent ? event : { ...event, ...(fired && { id: fired.id }) };
    note({ ...causes, [name]: noteCause(known, told, { toldAt, group, atMostMs }) });
    if (known.held) judged.with ??= listHeld(known.held);
  }
  const bounded = boundCauses(causes, at);
  if (bounded.causes !== causes) note(bounded.causes);
  judged.changes.push(...bounded.changes);
  return judged;
}

type Causes = NonNullable<GroupMemory["causes"]>;
type HeldKey = NonNullable<CauseMemory["held"]>["titles"][string];

const hashOf = (alertKey: string): string => hashText(alertKey).slice(0, 11);

function countKnown(causes: readonly CauseMemory[]): { named: number; others: number } {
  let [named, others] = [0, 0];
  for (const { held } of causes) {
    named += Object.keys(held?.titles ?? {}).length;
    others += held?.others?.length ?? 0;
  }
  return { named, others };
}

const isHeldBy = (held: CauseMemory["held"], alertKey: string): boolean =>
  held !== undefined && (Object.hasOwn(held.titles, alertKey) || held.others?.includes(hashOf(alertKey)) === true);

const lastOf = <T>(all: Record<string, T>, most: number): Record<string, T> =>
  Object.fromEntries(Object.entries(all).slice(-most));

const latestOf = (firing: NonNullable<CauseMemory["firing"]>, held: CauseMemory["held"]): number =>
  Math.max(held?.until ?? 0, ...Object.values(firing).map(({ until }) => until));

/** What holds back for too long is no cause any more. */
export function currentCauses({ causes = {} }: GroupMemory = {}, at: number): Causes {
  const isLate = ({ firing = {} }: CauseMemory) => Object.values(firing).some(({ until }) => until <= at);
  if (!Object.values(causes).some(isLate)) return causes;
  return Object.fromEntries(
    Object.entries(causes).flatMap(([name, { firing = {}, held }]) => {
      const fires = Object.entries(firing).filter(([, { until }]) => at < until);
      return fires.length === 0 ? [] : [[name, { firing: Object.fromEntries(fires), held }]];
    }),
  );
}

function listHeld({ count, titles }: NonNullable<CauseMemory["held"]>): HeldWith {
  const named = Object.values(titles).slice(0, mostListed);
  return { count, titles: named.map(({ title }) => title) };
}
