import { z } from "zod";
import type { AlertFacts } from "../core/alert.ts";
import { type AccountNames, type Finding, isNews, type Matter, matters } from "./judge-account.ts";

/** What people were told about the account, kept over restarts. */
export interface AccountMemory {
  /** What they know to be wrong, by the mark of the finding. */
  told: Partial<Record<Matter, string>>;
  /** When they were told of something wrong, in the last 24 hours. Epoch milliseconds. */
  toldAt: Partial<Record<Matter, number[]>>;
  /** When the relay put the outputs back by itself, in the last 24 hours. */
  putBackAt: number[];
}

export const emptyMemory: AccountMemory = { told: {}, toldAt: {}, putBackAt: [] };

const memorySchema: z.ZodType<AccountMemory> = z.object({
  told: z.partialRecord(z.enum(matters), z.string()),
  toldAt: z.partialRecord(z.enum(matters), z.array(z.number())),
  putBackAt: z.array(z.number()),
});

/** What was saved; what cannot be read counts as nothing, as if the relay started for the first time. */
export function readMemory(state: unknown): AccountMemory {
  return memorySchema.safeParse(state).data ?? emptyMemory;
}

export interface DueNotice {
  finding: Finding;
  says: "worse" | "better";
  /** What to remember once it is told. */
  memory: AccountMemory;
}

const dayMs = 24 * 60 * 60_000;
/** Two relays that fight over an account, or answers that come and go, are told of this often at once. */
export const mostADay = 3;
/** No limit hides what lasts: somebody has to know that no alert comes. */
const lastsMs = 10 * 60_000;

/** Those of the last 24 hours; by a clock that was set back a little, of the next ones too. */
export function ofLastDay(instants: readonly number[] | undefined, now: number): number[] {
  return (instants ?? []).filter((at) => Math.abs(now - at) < dayMs);
}

/**
 * Compares what is with what people know, so that nothing depends on catching the moment of a change. Pure.
 *
 *     bad, not told ──▶ "worse" ──well──▶ "better"        well, not told; unknown ──▶ nothing
 *     "worse" ──bad in another way──▶ "worse" again       a fourth "worse" within 24 hours ──▶ waits until it lasts
 *
 * @param badForMs how long it has been bad in this way
 */
export function planAccountNotice(
  finding: Finding,
  memory: AccountMemory,
  now: number,
  badForMs: number,
): DueNotice | undefined {
  const { matter, verdict, mark } = finding;
  const told = memory.told[matter];
  const recent = ofLastDay(memory.toldAt[matter], now);
  if (verdict === "bad" && isNews(matter, told, mark) && (recent.length < mostADay || badForMs >= lastsMs)) {
    const toldAt = { ...memory.toldAt, [matter]: [...recent, now] };
    return { finding, says: "worse", memory: { ...memory, told: { ...memory.told, [matter]: mark }, toldAt } };
  }
  if (verdict !== "well" || told === undefined) return undefined;
  const { [matter]: _over, ...others } = memory.told;
  return { finding, says: "better", memory: { ...memory, told: others } };
}

/**
 * @param account how the account is called, if it says
 * @param names of an account of a source, in whose name the notice is
 * @param hidden how often the limit has hidden it since the last notice
 */
export function writeAccountNotice(
  { finding, says, memory }: DueNotice,
  { account, link, names, hidden = 0 }: { account?: string; link: string; names: AccountNames; hidden?: number },
): AlertFacts {
  const isWorse = says === "worse";
  const isLast = isWorse && (memory.toldAt[finding.matter]?.length ?? 0) >= mostADay;
  const last =
    " This has changed three times within a day; for 24 hours from the first time you get a notice only of what lasts for ten minutes.";
  const joined = hidden === 0 ? "" : ` It also came and went ${hidden === 1 ? "once" : `${hidden} times`} before.`;
  return {
    title: names.source === undefined ? finding.title : `${names.source}: ${finding.title}`,
    text: `${finding.text}${isWorse ? joined : ""}${isLast ? last : ""}`.trim() || undefined,
    severity: isWorse ? finding.severity : "info",
    status: isWorse ? "firing" : "resolved",
    format: "empty",
    alertKey: `tocsin:${names.watch}:${finding.matter}`,
    source: "Tocsin",
    link,
    fields: account === undefined ? [] : [{ name: "account", value: account }],
    notes: [],
  };
}
