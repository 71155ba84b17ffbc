import { z } from "zod";
import type { Severity } from "../core/alert.ts";
import { type OwnWords, ownFacts } from "../core/own-facts.ts";
import type { Watch } from "./watch.ts";

/** What one look says about one matter. Each matter has its own notices. */
export interface Finding<Matter extends string = string> {
  matter: Matter;
  /** `unknown` starts no notice and ends no trouble. `idle`: nothing to compare with. */
  verdict: "well" | "bad" | "unknown" | "idle";
  /** The name of the trouble: people get a notice when it differs. Contains no secret. */
  mark: string;
  /** One line: the trouble, or for `well` the state that is restored. */
  title: string;
  text?: string;
  severity: Severity;
  /** When the trouble began, epoch milliseconds. Default: the first look that found it. */
  since?: number;
  /** The length of the trouble, milliseconds. Default: the time since `since`. */
  lastsMs?: number;
}

export const toldSchema = z.object({
  /** The reported troubles, by matter: the mark of the finding. */
  told: z.record(z.string(), z.string()),
  /** The times of reports in the last 24 hours, epoch milliseconds. */
  toldAt: z.record(z.string(), z.array(z.number())),
});
export type Told = z.infer<typeof toldSchema>;

export interface DueNotice<Found extends Finding = Finding> {
  finding: Found;
  isWorse: boolean;
  /** The next notice on this matter within a day waits until the trouble lasts. */
  isLast: boolean;
  /** How often the trouble came and went since the last notice, hidden by the day's limit. */
  hidden: number;
}

export interface FindingRules<Found extends Finding> {
  /** The number of looks in a row that must have a finding before people get a notice. */
  confirmations: 1 | 2;
  /** The most notices on one matter a day. Further ones wait until the trouble lasts for ten minutes. */
  mostADay: number;
  /** Default: a different mark is news. */
  isNews?(matter: Found["matter"], told: string | undefined, mark: string): boolean;
  /** The link and the key of the notice, and its words where they differ from the finding's. */
  write(due: DueNotice<Found>): Pick<OwnWords, "key" | "link"> & Partial<OwnWords>;
  onTold?(due: DueNotice<Found>): void;
}

/** The notice that a second equal look would send, and the number of unclear looks since. */
type Suspicion = { isWorse: boolean; mark: string; unclear: number };
type TellingWatch<Memory> = Pick<Watch<Memory, unknown>, "memory" | "tell">;

const dayMs = 24 * 60 * 60_000;
const lastsMs = 10 * 60_000;
/** After this many unclear looks in a row the next look comes at its usual time. */
const mostUnclear = 5;

/** Instants in the next 24 hours count too: the clock may have been set back. */
export function ofLastDay(instants: readonly number[] | undefined, now: number): number[] {
  return (instants ?? []).filter((at) => Math.abs(now - at) < dayMs);
}

/**
 * Compares the present state with the reported one, so no moment of a change has to be seen.
 *     bad, not told ──▶ "worse" ──well──▶ "better"        well, not told; unknown ──▶ nothing
 *     "worse" ──bad in another way──▶ "worse" again       one more than a day may have ──▶ waits until it lasts
 */
export class Findings<Found extends Finding, Memory extends Told> {
  readonly #isNews: NonNullable<FindingRules<Found>["isNews"]>;
  #suspected = new Map<string, Suspicion>();
  #lasting = new Map<string, { mark: string; since: number }>();
  readonly #hidden = new Map<string, number>();

  constructor(private readonly rules: FindingRules<Found>) {
    this.#isNews = rules.isNews ?? ((_matter, told, mark) => told !== mark);
  }

  suspected(): string[] {
    return [...this.#suspected.keys()];
  }

  /** Rejects as the store does. No finding is then suspected, so the next look comes at its usual time. */
  async tell(found: readonly Found[], watch: TellingWatch<Memory>, now: number): Promise<void> {
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

  async #weigh(finding: Found, twin: Suspicion | undefined, watch: TellingWatch<Memory>, now: number): Promise<void> {
    const { matter, verdict, mark } = finding;
    const due = this.#plan(finding, watch.memory, now);
    if (due === undefined) {
      // An unclear answer between two equal ones keeps the suspicion, and so the early look.
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

  /** Notes how long each trouble lasts. An unclear answer ends no trouble. */
  #countLasting(found: readonly Found[], { told, toldAt }: Memory, now: number): void {
    const before = this.#lasting;
    this.#lasting = new Map();
    for (const { matter, verdict, mark, since = now } of found) {
      const known = before.get(matter);
      // While people do not know of a trouble, another form of it is the same trouble.
      const isTold = told[matter] !== undefined;
      const goesOn = verdict === "unknown" || (verdict === "bad" && (!isTold || known?.mark === mark));
      if (known !== undefined && goesOn) this.#lasting.set(matter, known);
      else if (verdict === "bad") this.#lasting.set(matter, { mark, since });
      else if (known !== undefined && !isTold && ofLastDay(toldAt[matter], now).length >= this.rules.mostADay)
        this.#hidden.set(matter, (this.#hidden.get(matter) ?? 0) + 1);
    }
  }
}
