import { z } from "zod";
import type { Severity } from "../core/alert.ts";
import { type OwnWords, ownFacts } from "../core/own-facts.ts";
import type { Watch } from "./watch.ts";

/** What one look says of one matter. Each matter has its own notices. */
export interface Finding<Matter extends string = string> {
  matter: Matter;
  /** `unknown` neither tells that something is wrong nor that it is well again; `idle`: nothing to compare with. */
  verdict: "well" | "bad" | "unknown" | "idle";
  /** What is bad, by name: people get a notice of another mark. Holds no secret. */
  mark: string;
  /** One line: what is wrong or, of what is well, what is true again. */
  title: string;
  /** What that means and what to do. Default: nothing more is to be said. */
  text?: string;
  severity: Severity;
  /** Since when it is bad, where the looks themselves say so. Epoch milliseconds. */
  since?: number;
  /** How long it lasts, where that is not the time since then. Milliseconds. */
  lastsMs?: number;
}

/** What people were told, kept over restarts. */
export const toldSchema = z.object({
  /** What they know to be wrong, by matter: the mark of the finding. */
  told: z.record(z.string(), z.string()),
  /** When they were told of something wrong, in the last 24 hours. Epoch milliseconds. */
  toldAt: z.record(z.string(), z.array(z.number())),
});
export type Told = z.infer<typeof toldSchema>;

/** A finding that people are to hear of. */
export interface DueNotice<Found extends Finding = Finding> {
  finding: Found;
  isWorse: boolean;
  /** The next of this matter within a day waits until it lasts. */
  isLast: boolean;
  /** How often it came and went since the last notice, hidden by the limit. */
  hidden: number;
}

export interface FindingRules<Found extends Finding> {
  /** How many looks in a row have to find it before people get a notice. */
  confirmations: 1 | 2;
  /** More notices of one matter within a day wait until it lasts for ten minutes: no limit hides what lasts. */
  mostADay: number;
  /** Default: another mark is. */
  isNews?(matter: Found["matter"], told: string | undefined, mark: string): boolean;
  /** Where the notice leads and what it is called, and what it says otherwise than the finding. */
  write(due: DueNotice<Found>): Pick<OwnWords, "key" | "link"> & Partial<OwnWords>;
  onTold?(due: DueNotice<Found>): void;
}

const dayMs = 24 * 60 * 60_000;
const lastsMs = 10 * 60_000;
/** After as many looks that cannot tell the next is not made any sooner. */
const mostUnclear = 5;

/** The instants of the last 24 hours; after a clock was set back a little, those of the next hours too. */
export function ofLastDay(instants: readonly number[] | undefined, now: number): number[] {
  return (instants ?? []).filter((at) => Math.abs(now - at) < dayMs);
}

/**
 * Compares what is with what people know, so that nothing depends on catching the moment of a change.
 *
 *     bad, not told ──▶ "worse" ──well──▶ "better"        well, not told; unknown ──▶ nothing
 *     "worse" ──bad in another way──▶ "worse" again       one more than a day may have ──▶ waits until it lasts
 */
export class Findings<Found extends Finding, Memory extends Told> {
  readonly #isNews: NonNullable<FindingRules<Found>["isNews"]>;
  /** What the last look would have told, had it been the second, and how many looks since could not tell. */
  #suspected = new Map<string, { isWorse: boolean; mark: string; unclear: number }>();
  /** What is bad in the same way since when. */
  #lasting = new Map<string, { mark: string; since: number }>();
  readonly #hidden = new Map<string, number>();

  constructor(private readonly rules: FindingRules<Found>) {
    this.#isNews = rules.isNews ?? ((_matter, told, mark) => told !== mark);
  }

  /** What the next look is to confirm. */
  suspected(): string[] {
    return [...this.#suspected.keys()];
  }

  /** Rejects as the store does: then no look is made sooner because of what this one has found. */
  async tell(found: readonly Found[], watch: Watch<Memory>, now: number): Promise<void> {
    this.#countLasting(found, watch.memory, now);
    const before = this.#suspected;
    this.#suspected = new Map();
    try {
      for (const finding of found) await this.#weigh(finding, before.get(finding.matter), watch, now);
    } catch (error) {
      this.#suspected = new Map();
      throw error;
    }
  }

  async #weigh(
    finding: Found,
    twin: { isWorse: boolean; mark: string; unclear: number } | undefined,
    watch: Watch<Memory>,
    now: number,
  ): Promise<void> {
    const { matter, verdict, mark } = finding;
    const due = this.#plan(finding, watch.memory, now);
    if (due === undefined) {
      // A failure between two answers does not make people wait for another interval.
      const isOpen = verdict === "unknown" && twin !== undefined && twin.unclear < mostUnclear;
      if (isOpen) this.#suspected.set(matter, { ...twin, unclear: twin.unclear + 1 });
      return;
    }
    const { isWorse, memory } = due;
    const isFirst = twin?.isWorse !== isWorse || this.#isNews(matter, twin.mark, mark);
    if (this.rules.confirmations === 2) {
      this.#suspected.set(matter, { isWorse, mark, unclear: 0 });
      if (isFirst) return;
    }
    const isLast = isWorse && (memory.toldAt[matter]?.length ?? 0) >= this.rules.mostADay;
    const notice = { finding, isWorse, isLast, hidden: this.#hidden.get(matter) ?? 0 };
    const { title, text, severity } = finding;
    const status = isWorse ? "firing" : "resolved";
    await watch.tell(ownFacts({ title, text, severity, status, ...this.rules.write(notice) }), memory);
    this.#hidden.delete(matter);
    this.#suspected.delete(matter);
    this.rules.onTold?.(notice);
  }

  /** What is to be told, and to be remembered then. */
  #plan(finding: Found, memory: Memory, now: number): { isWorse: boolean; memory: Memory } | undefined {
    const { matter, verdict, mark } = finding;
    const told = memory.told[matter];
    const recent = ofLastDay(memory.toldAt[matter], now);
    const badForMs = finding.lastsMs ?? now - (this.#lasting.get(matter)?.since ?? now);
    const mayTell = recent.length < this.rules.mostADay || badForMs >= lastsMs;
    if (verdict === "bad" && mayTell && this.#isNews(matter, told, mark)) {
      const toldAt = { ...memory.toldAt, [matter]: [...recent, now] };
      return { isWorse: true, memory: { ...memory, told: { ...memory.told, [matter]: mark }, toldAt } };
    }
    if (verdict !== "well" || told === undefined) return undefined;
    const { [matter]: _over, ...others } = memory.told;
    return { isWorse: false, memory: { ...memory, told: others } };
  }

  /** An answer that does not say ends nothing. */
  #countLasting(found: readonly Found[], { told, toldAt }: Memory, now: number): void {
    const before = this.#lasting;
    this.#lasting = new Map();
    for (const { matter, verdict, mark, since = now } of found) {
      const known = before.get(matter);
      // While nobody knows of it, another form of it is no other trouble.
      const isTold = told[matter] !== undefined;
      const goesOn = verdict === "unknown" || (verdict === "bad" && (!isTold || known?.mark === mark));
      if (known !== undefined && goesOn) this.#lasting.set(matter, known);
      else if (verdict === "bad") this.#lasting.set(matter, { mark, since });
      else if (known !== undefined && !isTold && ofLastDay(toldAt[matter], now).length >= this.rules.mostADay)
        this.#hidden.set(matter, (this.#hidden.get(matter) ?? 0) + 1);
    }
  }
}
