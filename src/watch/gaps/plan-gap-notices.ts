import { z } from "zod";
import type { GapOutage, GapReport, MissingAlert } from "../../contract/operations.ts";
import { gapHistoryMs, type RuleTurn, ruleOfTurn } from "../../core/gaps.ts";
import type { ToldEnd } from "./follow-rules.ts";

const span = { fromAt: z.number(), toAt: z.number() };
const toldSchema = z.object({
  metricKey: z.string(),
  condition: z.string(),
  status: z.enum(["firing", "resolved"]),
  ...span,
  /** The `id` of the reported outage. Absent: an earlier version reported it. */
  of: z.number().optional(),
});
/** `id`: the time of its notice, a part of the notice's key. `isOfAll`: not of single rules, but of the account. */
const outageSchema = z.object({ id: z.number(), isOfAll: z.boolean(), ...span });

export const gapMemorySchema = z.object({
  told: z.array(toldSchema),
  toldAt: z.number().optional(),
  open: z.array(outageSchema).default([]),
  /** Outages that are over. `endedAt`: alerts have come since then. Absent: unknown, or no relay ran. */
  closed: z.array(outageSchema.extend({ endedAt: z.number().optional() })).default([]),
});
export type GapMemory = z.infer<typeof gapMemorySchema>;
type Told = GapMemory["told"][number];
type Open = GapMemory["open"][number];

/** `lost`: an outage began. `over`: a reported outage is over. `lapsed`: nothing more can be known about one. */
export interface GapNews {
  says: "lost" | "over" | "lapsed";
  /** The id of its outage, the same at the beginning and the end. */
  id: number;
  /** The alerts of the outage that are missing now. */
  missing: MissingAlert[];
  outages: GapOutage[];
  /** With `lost`: the outage is over as well, and this is its only notice. */
  isOver: boolean;
  /** The number of alerts in earlier notices. Those that are neither `missing` nor `arrived` are unknown. */
  toldBefore: number;
  arrived: number;
  memory: GapMemory;
}

/** An end is reported after this time without a new loss: the records of an outage's last minutes come late. */
const endAfterMs = 20 * 60_000;
/** A loss this soon after an outage belongs to it, as does a rule that falls silent this soon after another. */
const togetherMs = { all: 3_600_000, rules: 6 * 3_600_000 };
const mostTold = 2_000;
/** This long after its notice a loss counts as no trouble any more. */
export const troubleForMs = 24 * 3_600_000;

export function endsOf({ closed, told }: GapMemory): ToldEnd[] {
  return closed.flatMap(({ id, isOfAll, endedAt: at }) => {
    if (at === undefined) return [];
    return isOfAll ? { at } : { at, rules: new Set(told.filter(({ of }) => of === id).map(ruleOfTurn)) };
  });
}

/**
 * Compares the outages of a look with the reported ones. An outage is reported once when it is found, and once when it
 * is over. Losses meanwhile, or a little later, are counted without a notice. Pure.
 *     found, alerts still missing ──▶ "lost" ──alerts come again, nothing new lost for a while──▶ "over"
 *           │                            └──its rules are gone, or no record is as old──▶ "lapsed"
 *     found when it was over ──▶ "lost", which says both
 * `ownerOf` finds the reported outage to which an outage belongs. An outage that belongs to none is reported.
 */
export function planGapNews(report: GapReport, memory: GapMemory): { news: GapNews[]; memory: GapMemory } {
  const { checkedAt } = report;
  const isRecent = ({ toAt }: { toAt: number }) => toAt >= checkedAt - gapHistoryMs - troubleForMs;
  let now: GapMemory = {
    ...memory,
    told: memory.told.filter(isRecent).slice(-mostTold),
    closed: memory.closed.filter(isRecent),
  };
  const found = report.outages.map((outage) => ({
    outage,
    entries: report.missing.filter((one) => one.outage === outage.id),
  }));
  /** Adds the alerts of known outages to the reported ones. Returns the unknown outages. */
  const addKnown = () =>
    found.filter(({ outage, entries }) => {
      const id = ownerOf(outage, entries, now);
      if (id !== undefined) now = addTold(now, id, entries);
      return id === undefined;
    });
  addKnown();
  const news: GapNews[] = [];
  for (const open of now.open) {
    const end = findEnd(open, now.told, report);
    if (end === undefined) continue;
    const { endedAt, ...words } = end;
    const closed = [...now.closed, { ...open, endedAt }];
    now = { ...now, open: now.open.filter(({ id }) => id !== open.id), closed };
    news.push({ ...words, id: open.id, isOver: true, memory: now });
  }
  const fresh = addKnown();
  if (fresh.length > 0) {
    const missing = fresh.flatMap(({ entries }) => entries);
    const outages = fresh.map(({ outage }) => outage);
    const isOver = outages.every((outage) => hasEnded(outage, checkedAt));
    const opened = openFresh(now, { missing, outages, isOver, checkedAt });
    now = opened.memory;
    news.push({ says: "lost", id: opened.id, missing, outages, isOver, toldBefore: 0, arrived: 0, memory: now });
  }
  return { news, memory: now };
}

function openFresh(
  memory: GapMemory,
  { missing, outages, isOver, checkedAt }: Pick<GapNews, "missing" | "outages" | "isOver"> & { checkedAt: number },
): { id: number; memory: GapMemory } {
  const told = memory.told.filter((known) => !missing.some((one) => isSame(known, one)));
  const isWhole = ({ id }: Open) => memory.told.some(({ of }) => of === id) && !told.some(({ of }) => of === id);
  // An outage that looked like a silent rule was one of the account. It keeps its id, so it has one end.
  const swallowed = memory.open.filter(isWhole);
  const id = swallowed[0]?.id ?? checkedAt;
  const isOfAll = outages.some(({ rule }) => rule === undefined);
  const one: Open = {
    id,
    isOfAll,
    fromAt: Math.min(...missing.map(({ fromAt }) => fromAt)),
    toAt: endOf(missing),
  };
  const open = memory.open.filter((other) => !swallowed.includes(other));
  const wasAway = outages.every(({ whileDown, asleep }) => whileDown || asleep);
  const endedAt = isOver && !wasAway ? lastComesAgain(outages) : undefined;
  const next = {
    ...memory,
    told,
    toldAt: checkedAt,
    open: isOver ? open : [...open, one],
    closed: isOver ? [...memory.closed, { ...one, endedAt }] : memory.closed,
  };
  return { id, memory: addTold(next, id, missing) };
}

/** The end of a reported outage, if it is over or nothing more can be known about it. Undefined: it lasts. */
function findEnd(
  open: Open,
  told: readonly Told[],
  report: GapReport,
): (Omit<GapNews, "id" | "isOver" | "memory"> & { endedAt?: number }) | undefined {
  const { checkedAt, lastAlertAt = 0, sight } = report;
  // The missing alert may be among those that wait to be read.
  if (sight.isBehind) return undefined;
  const own = told.filter(({ of }) => of === open.id);
  const missing = report.missing.filter((one) => own.some((known) => isSame(known, one)));
  const fates = own.map((one) => fateOf(one, report));
  const count = (fate: Fate) => fates.filter((one) => one === fate).length;
  const all = { missing, outages: [], toldBefore: own.length, arrived: count("arrived") };
  if (count("lapsed") === own.length) return { says: "lapsed", ...all };
  const outages = report.outages.filter(({ id }) => missing.some(({ outage }) => outage === id));
  // A rule that stays silent gets an outage of its own, and does not delay the end of the account's outage.
  const concerned = open.isOfAll ? outages.filter(({ rule }) => rule === undefined) : outages;
  // Answers of other rules show that the account sends, but nothing about a rule that cannot be looked at.
  if (count("unseen") > 0 && !(open.isOfAll && concerned.length > 0)) return undefined;
  if (concerned.length > 0) {
    if (!concerned.every((outage) => hasEnded(outage, checkedAt))) return undefined;
    const over = outages.filter(({ comesAgainAt }) => comesAgainAt !== undefined);
    const rest = missing.filter(({ outage }) => outage === undefined || over.some(({ id }) => id === outage));
    const toldBefore = own.length - (missing.length - rest.length);
    return { says: "over", ...all, missing: rest, outages: over, toldBefore, endedAt: lastComesAgain(over) };
  }
  // No outage is left: chance explains the alerts that are still missing.
  const rules = new Set(own.map(ruleOfTurn));
  const comesAgain = open.isOfAll
    ? lastAlertAt > open.toAt
    : all.arrived === own.length || sight.answers.some((one) => one.toAt > open.toAt && rules.has(ruleOfTurn(one)));
  return comesAgain ? { says: "over", ...all, endedAt: open.toAt } : undefined;
}

type Fate = "missing" | "arrived" | "lapsed" | "unseen" | "unclear";

function fateOf(told: Told, { missing, checkedAt, freshMs, sight }: GapReport): Fate {
  const rule = ruleOfTurn(told);
  const isGone = sight.existing !== undefined && !sight.existing.includes(rule);
  if (isGone || told.toAt < checkedAt - gapHistoryMs) return "lapsed";
  if (missing.some((one) => isSame(told, one))) return "missing";
  if (sight.answers.some((one) => isSame(told, one))) return "arrived";
  // The alert may be on its way, and may still come.
  return !sight.compared.includes(rule) || told.toAt > checkedAt - freshMs ? "unseen" : "unclear";
}

function hasEnded({ comesAgainAt, whileDown, asleep }: GapOutage, checkedAt: number): boolean {
  return comesAgainAt !== undefined && (whileDown || asleep === true || checkedAt - comesAgainAt >= endAfterMs);
}

function lastComesAgain(outages: readonly GapOutage[]): number | undefined {
  const times = outages.flatMap(({ comesAgainAt }) => comesAgainAt ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

/** The `id` of the reported outage to which this one belongs. Undefined: none, so it is reported. */
function ownerOf(outage: GapOutage, entries: readonly MissingAlert[], memory: GapMemory): number | undefined {
  const { told, open, closed } = memory;
  const ids = new Set(told.flatMap((one) => (entries.some((entry) => isSame(one, entry)) ? (one.of ?? 0) : [])));
  const isKnown = ({ id }: Open) => ids.has(id);
  const isOfAll = outage.rule === undefined;
  const mayOwn = (one: Open) => one.isOfAll || !isOfAll;
  const isNear = (one: Open) =>
    one.fromAt < outage.toAt + togetherMs.all &&
    one.toAt > outage.fromAt - togetherMs.all &&
    (one.isOfAll || outage.fromAt - one.fromAt < togetherMs.rules);
  const owners = open.filter(mayOwn);
  const owner = owners.find(isKnown) ?? owners.find(isNear);
  if (owner !== undefined) return owner.id;
  if (outage.comesAgainAt === undefined) return undefined;
  // The outage was reported as over, or lay within a reported outage of the account that is over.
  const past = closed.filter(
    (one) => mayOwn(one) && entries.every(({ fromAt }) => fromAt < (one.endedAt ?? Number.POSITIVE_INFINITY)),
  );
  const former = past.find(isKnown) ?? past.find((one) => one.isOfAll && one.endedAt && outage.fromAt >= one.fromAt);
  if (former !== undefined) return former.id;
  // An earlier version kept no closed outages.
  return [...ids].find((id) => ![...open, ...closed].some((one) => one.id === id));
}

function addTold(memory: GapMemory, id: number, entries: readonly MissingAlert[]): GapMemory {
  const added = entries
    .filter((entry) => !memory.told.some((known) => isSame(known, entry)))
    .map(({ metricKey, condition, status, fromAt, toAt }) => ({ metricKey, condition, status, fromAt, toAt, of: id }));
  if (added.length === 0) return memory;
  const open = memory.open.map((one) => (one.id === id ? { ...one, toAt: Math.max(one.toAt, endOf(added)) } : one));
  return { ...memory, told: [...memory.told, ...added], open };
}

/** The same crossing: later records may show it a little narrower. */
function isSame(known: RuleTurn, one: RuleTurn): boolean {
  const isThen = known.fromAt < one.toAt && known.toAt > one.fromAt;
  return isThen && known.status === one.status && ruleOfTurn(known) === ruleOfTurn(one);
}

function endOf(entries: readonly { toAt: number }[]): number {
  return Math.max(...entries.map(({ toAt }) => toAt));
}
