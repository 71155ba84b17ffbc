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

/** Held alerts of a destination that are known by name. All are read and written with each alert that follows a cause. */
const mostNamed = 500;
/** Further held alerts, known by a hash of the key. For any beyond, the resolving alert is sent, without a sound. */
const mostOthers = 5_000;
/** Alerts that are known as causes at a destination. */
const mostFiring = 500;
/** Held alerts that the message of a cause names. */
const mostListed = 50;

export interface Joining {
  /** When the alert's message goes out. Not in the future: at once. Epoch milliseconds. */
  dueAt: number;
  /** Whether the waiting alerts of the group go out earlier than planned, with this one. */
  hastens: boolean;
  /** For people. Empty where the group makes no difference. */
  why: string;
  memory: GroupMemory;
}

/**
 * When an alert of a group goes out. Pure.
 *
 * | the group | the alert goes out |
 * |---|---|
 * | waits | with the group |
 * | had a message within `again`, which is no shorter than `wait` | when `again` is over, with all that came until then |
 * | else | after `wait`, with all that came until then |
 *
 * A firing critical alert takes the waiting ones along, after `waitCritical` at the latest. Where `waitCritical` is 0,
 * the alert that resolves it does not wait either. A due time further ahead than a group ever waits is ignored: the
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

export function noteCause(
  { firing: before = {}, held }: CauseMemory,
  { id, at, alertKey, title, severity }: GroupEvent,
  { toldAt, group, atMostMs }: { toldAt: number; group?: string; atMostMs: number },
): CauseMemory {
  const { [alertKey]: its, ...others } = before;
  const one = { toldAt, group, until: at + atMostMs, ...its, id, title, severity };
  return { firing: { ...others, [alertKey]: one }, held };
}

/** Ends the causes that an alert's key or id names. Held alerts that no other cause holds then go out. Pure. */
export function endCauses(
  known: Causes,
  at: number,
  isOver: (key: string, id: string) => boolean,
): { causes: Causes; changes: GroupChange[]; with?: HeldWith } {
  const ended = Object.entries(known).filter(([, { firing = {} }]) =>
    Object.entries(firing).some(([key, { id }]) => isOver(key, id)),
  );
  const causes = { ...known };
  // All names lose their causes before any held alert moves. Otherwise it could move to a cause that ends too.
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

/** When too many alerts are causes, the one that would end first ends now. Pure. */
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
 * Whether a firing cause holds an alert back, and until when at most. Pure. Not held are: a worse alert, a resolving
 * alert whose firing was not held, and an alert that goes out with the cause's own group.
 * @param by all causes that may hold the alert
 * @param known how many held alerts the destination knows. Default: those of this cause
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
 * A change of the waiting deliveries under a name. `hasten`: they become due. `release`: their cause is over, so they
 * become due, and those of resolved keys end. `move`: those of some keys wait for another cause.
 */
export type GroupChange = {
  name: string;
  /** Only deliveries that are due until then change. Later ones came in the same transaction, or are in quiet hours. */
  upTo: number;
  /** Epoch milliseconds. */
  dueAt: number;
} & ({ kind: "hasten" | "release" } | { kind: "move"; to: string; keys: string[] });

export interface Gathered {
  /** The memories after this alert, by name. */
  memories: Map<string, GroupMemory>;
  changes: GroupChange[];
  /** When the alert goes out, with the others of this name. */
  held?: { dueAt: number; name: string };
  /** For people. Empty where the alert waits for nothing. */
  why: string;
  /** The cause that the alert waits for. The cause's message counts it. */
  behind?: { causeId: string; with: HeldWith };
  /** The alerts that this one holds back as a cause. */
  with?: HeldWith;
}

export function mayChangeCauses(
  { causes = {} }: GroupMemory = {},
  alertKey: string,
  { holds = [], heldBy = [] }: GroupRule,
): boolean {
  const isOf = ({ firing = {}, held }: CauseMemory) => Object.hasOwn(firing, alertKey) || isHeldBy(held, alertKey);
  return holds.length > 0 || heldBy.some((name) => Object.hasOwn(causes, name)) || Object.values(causes).some(isOf);
}

/**
 * Decides how long an alert waits at one destination, by its group and by causes. Pure. Alerts are judged in the order
 * of their routing.
 * @param find the memory under a name
 * @param isSent whether the alert would go out now. If a mute, quiet hours or a ring rule hold it, it waits for nothing
 * and is no new cause
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
    // A key that waits keeps waiting for the same causes. A resolving alert waits where its firing waits, whatever its
    // own facts say.
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
    // Only an alert that is sent becomes the cause's message. The message counts the held alerts, and is found by the alert's id.
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

/** Drops causes that have held alerts back for as long as they may. */
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
