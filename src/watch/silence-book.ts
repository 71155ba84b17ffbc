import { z } from "zod";
import type { StoredArrival } from "../core/ports/alert-log.ts";
import type { SilenceRule } from "../core/rules.ts";
import { createSlotRing, type SlotRing, slotMs, slotsKept } from "./slot-ring.ts";
import { learnUsualQuiet, type Span, type UsualQuiet } from "./usual-quiet.ts";

export type Arrival = Omit<StoredArrival, "position">;

export interface SilenceState {
  rule: SilenceRule;
  /** `hook`, `route:critical`, `source:Pyth`. */
  key: string;
  /** Since when it is watched. For `auto`: since the first stored alert that it has learned from. */
  since: number;
  last?: LastArrival;
  /** How long nothing has come while the relay ran, milliseconds. */
  quietMs: number;
  isSilent: boolean;
  toldAt?: number;
  /** Absent for a fixed time. */
  learning?: { days: number; arrivals: number };
  /** The longest usual quiet at these hours, counted from the last alert, milliseconds. */
  usualMs?: number;
  /** When people get a notice if nothing comes while the relay runs. */
  tellsAt?: number;
}

export interface SilenceNews {
  says: "silent" | "again";
  state: SilenceState;
  /** With `again`: how long nothing had come, from alert to alert. */
  lastedMs?: number;
}

interface Watched extends SavedWatch {
  rule: SilenceRule;
  key: string;
  came: SlotRing;
  usual?: { learned: UsualQuiet; at: number };
}

/** A relay that did not look for this long was down, or its machine was asleep. */
const awayMs = 3 * 60_000;
const learnEveryMs = 12 * 60 * 60_000;
/** How often the counts are renewed while too little is known: people want to see them grow. */
const countEveryMs = 10 * 60_000;
/** `auto` reports no shorter quiet, since arrivals are counted in slots. */
const leastAutoMs = 3 * slotMs;
const farBehindMs = 24 * 60 * 60_000;
const keptAways = 100;
/** This many silences within two weeks are the sender's habit. They are then learned from. */
const usualAfter = 3;
const usualWithinMs = 14 * 24 * 60 * 60_000;

function keyOf({ of, name }: SilenceRule): string {
  return of === "hook" ? "hook" : `${of}:${name}`;
}

/** What is known of each watch of silence. Without effects, so a test can pass ninety days. `silence.ts` drives it. */
export class SilenceBook {
  readonly #watches: Watched[];
  /** Watches without saved data, or without arrivals for `auto` to learn from. The log may have more. */
  readonly #unknown: Watched[];
  readonly #ran: SlotRing;
  /** From this time on it is known when the relay ran. Absent: it is not known yet. */
  readonly #firstRan: number | undefined;
  #isLearned: boolean;
  #aways: Span[];
  #seenAt: number | undefined;

  /** @param saved anything unreadable counts as nothing @param sources names of sources with their own hook */
  constructor(
    rules: SilenceRule[],
    saved: { state?: unknown; arrivals?: unknown },
    startedAt: number,
    private readonly sources: ReadonlySet<string> = new Set(),
  ) {
    const state = silenceSchema.safeParse(saved.state).data;
    const arrivals = arrivalsSchema.safeParse(saved.arrivals).data;
    this.#ran = createSlotRing(arrivals?.ran);
    this.#firstRan = this.#ran.first();
    this.#aways = state?.aways ?? [];
    this.#seenAt = state?.seenAt;
    this.#watches = rules.map((rule) => {
      const key = keyOf(rule);
      const known = state?.watches[key] ?? { since: startedAt, ended: [] };
      return { rule, key, ...known, came: createSlotRing(arrivals?.watches[key]) };
    });
    this.#unknown = this.#watches.filter(
      ({ key, rule }) =>
        state?.watches[key] === undefined || (rule.after === "auto" && arrivals?.watches[key] === undefined),
    );
    this.#isLearned = this.#unknown.length === 0;
  }

  get unknown(): string[] {
    return this.#unknown.map(({ key }) => key);
  }

  /** True: the alert ends a reported silence, so a look is due. */
  note(arrival: Arrival): boolean {
    let isBack = false;
    for (const watch of this.#watches) {
      if (!this.#isOf(watch, arrival)) continue;
      touch(watch, arrival);
      const { told } = watch;
      if (told === undefined || told.back !== undefined || arrival.receivedAt <= (told.last?.at ?? 0)) continue;
      told.back = { at: arrival.receivedAt, id: arrival.id };
      isBack = true;
    }
    return isBack;
  }

  noteStored(arrival: Arrival): void {
    for (const watch of this.#unknown) if (this.#isOf(watch, arrival)) touch(watch, arrival);
  }

  #isOf({ rule: { of, name = "" } }: Watched, { source = "", routes }: Arrival): boolean {
    return of === "hook" ? !this.sources.has(source) : of === "source" ? source === name : routes.includes(name);
  }

  /** Called after the log was read for the new watches. `firstAt`: the time of its first alert. */
  learnFrom(firstAt: number, now: number): void {
    for (const watch of this.#unknown) {
      watch.since = Math.min(watch.since, firstAt);
      // A page may have asked while the log was read.
      watch.usual = undefined;
    }
    for (let slot = slotOf(firstAt); slot <= (this.#firstRan ?? slotOf(now)); slot += 1) this.#ran.add(slot);
    this.#isLearned = true;
  }

  /** The time is far before the last look: the clock is probably wrong, as on a starting machine. */
  isFarBehind(now: number): boolean {
    return this.#seenAt !== undefined && now < this.#seenAt - farBehindMs;
  }

  /** Notes that the relay could accept alerts until now. Returns a function that takes the note back. */
  pass(now: number): () => void {
    const [seenAt, aways] = [this.#seenAt, this.#aways];
    if (seenAt !== undefined && now - seenAt > awayMs) this.#aways = [...aways, { from: seenAt, to: now }];
    this.#forgetAhead(now);
    this.#keepAways();
    this.#seenAt = now;
    this.#ran.add(slotOf(now));
    return () => {
      this.#seenAt = seenAt;
      this.#aways = aways;
    };
  }

  /** The clock was set back: entries in the future are of a wrong clock. */
  #forgetAhead(now: number): void {
    const hasBegun = ({ from }: Span) => from < now;
    const upTo = (span: Span): Span => ({ from: span.from, to: Math.min(span.to, now) });
    const lastUpTo = (last?: LastArrival) => last && { ...last, at: Math.min(last.at, now) };
    this.#aways = this.#aways.filter(hasBegun).map(upTo);
    for (const watch of this.#watches) {
      watch.since = Math.min(watch.since, now);
      watch.last = lastUpTo(watch.last);
      watch.ended = watch.ended.filter(hasBegun).map(upTo);
      if (watch.told !== undefined) watch.told = { ...watch.told, last: lastUpTo(watch.told.last) };
      // Alerts arrive during a look.
      watch.came.cutAfter(slotOf(now) + 1);
    }
    this.#ran.cutAfter(slotOf(now));
  }

  #keepAways(): void {
    const needed = Math.min(...this.#watches.map(({ last, since }) => last?.at ?? since));
    this.#aways = this.#aways.filter(({ to }) => to > needed);
    while (this.#aways.length > keptAways) {
      const [first, second, ...others] = this.#aways as [Span, Span, ...Span[]];
      this.#aways = [{ from: first.from, to: second.to }, ...others];
    }
  }

  states(now: number): SilenceState[] {
    return this.#watches.map((watch) => this.#stateOf(watch, now));
  }

  news(now: number): SilenceNews[] {
    return this.#watches.flatMap((watch): SilenceNews[] => {
      const { told } = watch;
      const state = this.#stateOf(watch, now);
      if (told === undefined) return state.isSilent ? [{ says: "silent", state }] : [];
      if (told.back === undefined) return [];
      return [{ says: "again", state, lastedMs: told.back.at - (told.last?.at ?? watch.since) }];
    });
  }

  /** Notes that a notice is being sent. Returns a function that takes this back if it fails. */
  told({ says, state: { key } }: SilenceNews, now: number): () => void {
    const watch = this.#watches.find((one) => one.key === key);
    if (watch === undefined) return () => {};
    const { told, ended, usual } = watch;
    if (says === "silent") watch.told = { at: now, last: watch.last };
    else {
      const span = { from: told?.last?.at ?? watch.since, to: told?.back?.at ?? now };
      const recent = ended.filter(({ to }) => to > now - slotsKept * slotMs);
      const isUsual = recent.filter(({ to }) => to > now - usualWithinMs).length + 1 >= usualAfter;
      watch.ended = isUsual ? [] : [...recent, span];
      watch.told = undefined;
      watch.usual = undefined;
    }
    return () => Object.assign(watch, { told, ended, usual });
  }

  #stateOf(watch: Watched, now: number): SilenceState {
    const { rule, key, since, last, told } = watch;
    const spans = this.#quietSpans(watch, now);
    const quietMs = spans.reduce((sum, { from, to }) => sum + to - from, 0);
    const common = { rule, key, since, last, quietMs, toldAt: told?.at };
    if (rule.after !== "auto")
      return { ...common, isSilent: quietMs >= rule.after, tellsAt: now + Math.max(0, rule.after - quietMs) };
    const learned = this.#learn(watch, now);
    if (learned.kind === "learning" || last === undefined) {
      const { days, arrivals } = learned.kind === "learning" ? learned : { days: 0, arrivals: 0 };
      return { ...common, isSilent: false, learning: { days, arrivals } };
    }
    const left = learned.limit - learned.weigh(spans);
    return {
      ...common,
      isSilent: left <= 0 && quietMs >= leastAutoMs,
      usualMs: Math.max(slotMs, learned.reaches(learned.longest, last.at) - last.at),
      tellsAt: Math.max(left <= 0 ? now : learned.reaches(left, now), now + leastAutoMs - quietMs),
    };
  }

  #quietSpans({ last, since }: Watched, now: number): Span[] {
    let from = last?.at ?? since;
    const spans: Span[] = [];
    for (const away of this.#aways) {
      if (away.to <= from) continue;
      if (away.from > from) spans.push({ from, to: Math.min(away.from, now) });
      from = away.to;
    }
    if (from < now) spans.push({ from, to: now });
    return spans;
  }

  #learn(watch: Watched, now: number): UsualQuiet {
    const { usual, told } = watch;
    const everyMs = usual?.learned.kind === "learning" ? countEveryMs : learnEveryMs;
    if (usual !== undefined && (told !== undefined || Math.abs(now - usual.at) < everyMs)) return usual.learned;
    const first = slotOf(watch.since);
    const learned = learnUsualQuiet({
      came: watch.came.has,
      ran: (slot) => slot >= first && this.#ran.has(slot),
      lastSlot: slotOf(watch.last?.at ?? watch.since),
      skipped: watch.ended,
    });
    watch.usual = { learned, at: now };
    return learned;
  }

  save(): SavedSilence {
    const watches = this.#watches.map(({ key, since, last, told, ended }) => [key, { since, last, told, ended }]);
    return { seenAt: this.#seenAt, aways: this.#aways, watches: Object.fromEntries(watches) };
  }

  /** The arrivals to learn from. Some minutes may be missing. */
  saveArrivals(): z.infer<typeof arrivalsSchema> {
    // Watches for which the log could not be read are left out, so the next start reads it.
    const kept = this.#watches.filter(
      (watch) => watch.rule.after === "auto" && (this.#isLearned || !this.#unknown.includes(watch)),
    );
    return { ran: this.#ran.save(), watches: Object.fromEntries(kept.map(({ key, came }) => [key, came.save()])) };
  }
}

function touch(watch: Watched, { id, receivedAt: at }: Arrival): void {
  if (watch.last === undefined || at > watch.last.at) watch.last = { at, id };
  watch.came.add(slotOf(at));
}

function slotOf(at: number): number {
  return Math.floor(at / slotMs);
}

const instant = z.number();
const spanSchema = z.object({ from: instant, to: instant });
const lastSchema = z.object({ at: instant, id: z.string() });
type LastArrival = z.infer<typeof lastSchema>;
const watchSchema = z.object({
  since: instant,
  last: lastSchema.optional(),
  /** The reported silence. `back`: the first alert after it. */
  told: z.object({ at: instant, last: lastSchema.optional(), back: lastSchema.optional() }).optional(),
  ended: z.array(spanSchema),
});
type SavedWatch = z.infer<typeof watchSchema>;
/** The part that must be right after a restart. It is small, since each look saves it. */
export const silenceSchema = z.object({
  seenAt: instant.optional(),
  aways: z.array(spanSchema),
  watches: z.record(z.string(), watchSchema),
});
type SavedSilence = z.infer<typeof silenceSchema>;
const arrivalsSchema = z.object({ ran: z.unknown(), watches: z.record(z.string(), z.unknown()) });
