import { z } from "zod";
import { type GapOutage, type GapReport, gapHistoryMs, type MissingAlert } from "../../core/gaps.ts";

const span = { fromAt: z.number(), toAt: z.number() };
const toldSchema = z.object({
  /** `metricKey` and `condition`: a subscription may have another name each time. */
  metricKey: z.string(),
  condition: z.string(),
  status: z.enum(["firing", "resolved"]),
  ...span,
  /** The outage that it was told with. Absent: an earlier version told it. */
  of: z.number().optional(),
});

/** What people have been told, kept over restarts. */
export const gapMemorySchema = z.object({
  told: z.array(toldSchema),
  /** When the last notice went out. */
  toldAt: z.number().optional(),
  /** Outages of which no end has been told yet. `id`: when it was told, which is part of the notice's key. */
  open: z.array(z.object({ id: z.number(), isOfAll: z.boolean(), ...span })).default([]),
});
export type GapMemory = z.infer<typeof gapMemorySchema>;

/** Something to tell: that an outage began, or that one is over which people know of. */
export interface GapNews {
  says: "lost" | "over";
  /** Of the outage that it is about, the same at its beginning and its end. */
  id: number;
  /** Those of them that are missing now: where it is over, less than were told when some have arrived meanwhile. */
  missing: MissingAlert[];
  outages: GapOutage[];
  /** How many were told or counted before; those that are not `missing` have arrived late. */
  toldBefore: number;
  /** What to remember once it is told. */
  memory: GapMemory;
}

/** The end is told when so long after it nothing more was found lost: the records of its last minutes come late. */
const endAfterMs = 20 * 60_000;
/** What is lost so soon behind an outage belongs to it. So does a rule that falls silent soon after another did. */
const togetherMs = { all: 3_600_000, rules: 6 * 3_600_000 };
const mostTold = 2_000;
/** That long after it was told, it is no trouble any more. */
export const troubleForMs = 24 * 3_600_000;

/**
 * Compares the outages of a look with what people know. An outage is told once when it is found, and once when it is over.
 * What it loses meanwhile, or a little later, is counted and makes no notice. Pure.
 *
 *     found, alerts still missing ──▶ "lost" ──alerts come again, nothing new lost for a while──▶ "over"
 *     found when it was over ──▶ "lost", which says both
 */
export function planGapNews(report: GapReport, memory: GapMemory): { news: GapNews[]; memory: GapMemory } {
  const { checkedAt } = report;
  const recent = memory.told.filter(({ toAt }) => toAt >= checkedAt - gapHistoryMs - troubleForMs).slice(-mostTold);
  let now: GapMemory = { ...memory, told: recent };
  const fresh: { outage: GapOutage; entries: MissingAlert[] }[] = [];
  for (const outage of report.outages) {
    const entries = report.missing.filter((one) => one.outage === outage.id);
    const id = ownerOf(outage, entries, now);
    if (id === undefined) fresh.push({ outage, entries });
    else now = addTold(now, id, entries);
  }
  const news: GapNews[] = [];
  if (fresh.length > 0) {
    const missing = fresh.flatMap(({ entries }) => entries);
    const outages = fresh.map(({ outage }) => outage);
    const isOver = outages.every(({ comesAgainAt }) => comesAgainAt !== undefined);
    const isOfAll = outages.some(({ rule }) => rule === undefined);
    const opened = { id: checkedAt, isOfAll, fromAt: startOf(missing), toAt: endOf(missing) };
    now = addTold({ ...now, toldAt: checkedAt, open: isOver ? now.open : [...now.open, opened] }, checkedAt, missing);
    news.push({ says: "lost", id: checkedAt, missing, outages, toldBefore: 0, memory: now });
  }
  for (const open of now.open) {
    const own = now.told.filter(({ of }) => of === open.id);
    const missing = report.missing.filter((one) => own.some((known) => isSame(known, one)));
    const outages = report.outages.filter(({ id }) => missing.some(({ outage }) => outage === id));
    if (outages.length === 0 && missing.length > 0) continue;
    if (!isOver(open, outages, report)) continue;
    now = { ...now, open: now.open.filter(({ id }) => id !== open.id) };
    news.push({ says: "over", id: open.id, missing, outages, toldBefore: own.length, memory: now });
  }
  return { news, memory: now };
}

function isOver(
  open: GapMemory["open"][number],
  outages: GapOutage[],
  { checkedAt, lastAlertAt = 0 }: GapReport,
): boolean {
  // All of it has arrived meanwhile, or is older than what the service has records of.
  if (outages.length === 0) return lastAlertAt > open.toAt || open.toAt < checkedAt - gapHistoryMs;
  return outages.every(({ comesAgainAt }) => comesAgainAt !== undefined && checkedAt - comesAgainAt >= endAfterMs);
}

/** The outage that people know and that this one belongs to, by its `id`. 0: an earlier version told it. */
function ownerOf(outage: GapOutage, entries: MissingAlert[], { told, open }: GapMemory): number | undefined {
  const known = told.find((one) => entries.some((entry) => isSame(one, entry)));
  if (known !== undefined) return known.of ?? 0;
  const isNear = (one: { fromAt: number; toAt: number }, ms: number) =>
    one.fromAt < outage.toAt + ms && one.toAt > outage.fromAt - ms;
  const isOfAll = outage.rule === undefined;
  const near = open.find(
    (one) =>
      isNear(one, togetherMs.all) && (one.isOfAll || (!isOfAll && outage.fromAt - one.fromAt < togetherMs.rules)),
  );
  if (near !== undefined) return near.id;
  // Of an outage that is over: what was lost of the same rules, or of the account.
  const sameRule = (one: GapMemory["told"][number]) =>
    entries.some(({ metricKey, condition }) => metricKey === one.metricKey && condition === one.condition);
  return told.find((one) => isNear(one, togetherMs.all) && !isOfAll && sameRule(one))?.of;
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
function isSame(known: GapMemory["told"][number], missing: MissingAlert): boolean {
  const { metricKey, condition, status, fromAt, toAt } = missing;
  const isOfRule = known.metricKey === metricKey && known.condition === condition && known.status === status;
  return isOfRule && known.fromAt < toAt && known.toAt > fromAt;
}

function startOf(entries: readonly { fromAt: number }[]): number {
  return Math.min(...entries.map(({ fromAt }) => fromAt));
}

function endOf(entries: readonly { toAt: number }[]): number {
  return Math.max(...entries.map(({ toAt }) => toAt));
}
