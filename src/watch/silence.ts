import { z } from "zod";
import type { SilenceView } from "../contract/operations.ts";
import type { AlertFacts, AlertOrigin } from "../core/alert.ts";
import { logFailure } from "../core/log.ts";
import type { Administration } from "../core/ports/administration.ts";
import type { AlertLog, Position } from "../core/ports/alert-log.ts";
import type { WatchStore } from "../core/ports/watch.ts";
import { type Decision, type Mute, routesThatTook, type SilenceRule } from "../core/rules.ts";
import { type Arrival, SilenceBook, type SilenceNews, type SilenceState, silenceSchema } from "./silence-book.ts";
import { writeSilenceNotice } from "./silence-notice.ts";
import { slotMs, slotsKept } from "./slot-ring.ts";
import { arrivalsNeeded, daysNeeded } from "./usual-quiet.ts";
import { findMuteOf, Watch, type WatchDeps } from "./watch.ts";

export interface SilenceDeps extends WatchDeps {
  /** At least one. Each key once. */
  rules: SilenceRule[];
  /** The names of the sources with their own hook. Default: none. */
  sources?: string[];
  store: WatchStore & Pick<AlertLog, "listArrivals" | "followArrivals"> & Pick<Administration, "health">;
  /** Other relays route too, so arrivals are also read from the log. Default: `note` gets all. */
  isShared?: boolean;
  activeMutes(): Mute[];
  /** One sentence on the account that should send to this source. Absent or undefined: nothing is known. */
  describeAccount?(source?: string): string | undefined;
}

interface JudgedAlert extends Omit<Arrival, "routes"> {
  origin: AlertOrigin;
  decisions: Decision[];
}

const arrivalsName = "silence:arrivals";
/** Arrivals that a kill loses count as time in which the relay did not run. */
const saveArrivalsEveryMs = 10 * 60_000;
/** After this many looks a clock that went back by more than a day is believed. Data of later times is lost then. */
const looksUntilBelieved = 20;
/** An alert that could not be routed for longer prevents no notice of a silence. */
const longestUnroutedMs = 60 * 60_000;
/** The log is read in small steps with rests between them, so no reader has to wait. */
const stepSize = 500;
const restMs = 20;
/** The most steps of one look in the log: where more has come, nothing is silent. */
const mostSteps = 200;
const memorySchema = silenceSchema.extend({
  readTo: z
    .string()
    .transform((text) => text as Position)
    .optional(),
});
type Memory = z.infer<typeof memorySchema>;

/** Sends notices when expected alerts stop and when they come again. `silence-book.ts` decides when. */
export class SilenceWatch extends Watch<Memory, SilenceView[]> {
  readonly name = "silence";
  readonly schema = memorySchema;
  memory: Memory = { aways: [], watches: {} };
  readonly everyMs = () => 30_000;
  readonly #sources: ReadonlySet<string>;
  readonly #watchesRoutes: boolean;
  #book: SilenceBook;
  #isReading = false;
  #arrivalsSavedAt: number;
  #readTo?: Position;
  #routedAtLastLook?: Position;
  #looksBehind = 0;
  #oldestUnroutedAt?: number;

  constructor(private readonly deps: SilenceDeps) {
    super(deps);
    this.#sources = new Set(deps.sources);
    this.#watchesRoutes = deps.rules.some(({ of }) => of === "route");
    this.#arrivalsSavedAt = deps.clock.now();
    this.#book = new SilenceBook(deps.rules, {}, deps.clock.now(), this.#sources);
  }

  override async open(): Promise<this> {
    await super.open();
    const { rules, store, clock } = this.deps;
    const state = this.memory;
    const arrivals = await store.loadWatchState(arrivalsName);
    this.#book = new SilenceBook(rules, { state, arrivals }, clock.now(), this.#sources);
    this.#readTo = state.readTo;
    this.#isReading = this.#book.unknown.length > 0;
    return this;
  }

  /** Notes an alert after routing. Costs a few comparisons. The same alert may be noted twice. */
  note({ id, origin, receivedAt, source, decisions }: JudgedAlert): void {
    const routes = this.#watchesRoutes ? routesThatTook(decisions) : [];
    if (origin === "hook" && this.#book.note({ id, receivedAt, source, routes })) this.wake();
  }

  /** A new watch learns from the earlier alerts in the log first. When it is stopped meanwhile, it saves nothing. */
  override async run(stop: AbortSignal): Promise<void> {
    if (this.#isReading) {
      await this.#readLog(stop).catch(logFailure(this.deps.log, "silence.log_unread"));
      if (stop.aborted) return;
      this.#isReading = false;
    }
    await super.run(stop);
    await this.#saveArrivals().catch(() => {});
  }

  async #readLog(stop: AbortSignal): Promise<void> {
    const { store, clock, log } = this.deps;
    const now = clock.now();
    const fromAt = now - slotsKept * slotMs;
    let before: Position | undefined;
    let firstAt = now;
    let count = 0;
    do {
      const step = await store.listArrivals({ fromAt, before, limit: stepSize });
      for (const arrival of step) {
        this.#book.noteStored(arrival);
        firstAt = Math.min(firstAt, arrival.receivedAt);
      }
      count += step.length;
      before = step.at(-1)?.position;
      if (before !== undefined) await clock.sleep(restMs, stop);
    } while (before !== undefined && !stop.aborted);
    if (stop.aborted) return;
    this.#book.learnFrom(firstAt, now);
    await this.#saveArrivals().catch(() => {});
    log.info("silence.learned", { alerts: count, watches: this.#book.unknown });
  }

  /** Alerts that other relays have routed. One may appear late, so each look begins where the last one was complete. */
  async #readShared(stop: AbortSignal): Promise<void> {
    const { store, clock } = this.deps;
    const { routedUpTo } = await store.followArrivals(undefined, 0);
    let after = this.#readTo;
    for (let steps = 0; after !== undefined && steps < mostSteps; steps += 1) {
      const { arrivals: step } = await store.followArrivals(after, stepSize);
      for (const arrival of step) this.#book.note(arrival);
      after = step.length < stepSize ? undefined : step.at(-1)?.position;
      if (after !== undefined) await clock.sleep(restMs, stop);
    }
    this.#readTo = this.#routedAtLastLook ?? this.#readTo ?? routedUpTo;
    this.#routedAtLastLook = routedUpTo;
  }

  #toMemory(): Memory {
    return this.#readTo === undefined ? this.#book.save() : { ...this.#book.save(), readTo: this.#readTo };
  }

  async look(stop: AbortSignal): Promise<void> {
    const { store, clock, isShared } = this.deps;
    const health = await store.health();
    // A sender that is refused for lack of room is not silent.
    if (health.full) return;
    this.#oldestUnroutedAt = health.oldestUnroutedAt;
    if (isShared) await this.#readShared(stop);
    const now = clock.now();
    if (this.#book.isFarBehind(now) && this.#looksBehind < looksUntilBelieved) {
      this.#looksBehind += 1;
      return;
    }
    this.#looksBehind = 0;
    const takeBack = this.#book.pass(now);
    await this.keep(this.#toMemory()).catch(failAfter(takeBack));
    for (const news of this.#book.news(this.#knownUntil(now))) await this.#tell(news, now);
    if (Math.abs(now - this.#arrivalsSavedAt) >= saveArrivalsEveryMs) await this.#saveArrivals();
  }

  async #tell(news: SilenceNews, now: number): Promise<void> {
    const { says, state, lastedMs = state.quietMs } = news;
    const { rule, key } = state;
    const facts = writeSilenceNotice(news, this.#knownUntil(now), {
      link: `${this.deps.publicUrl}/silence`,
      account: this.deps.describeAccount?.(rule.of === "source" ? rule.name : undefined),
      hasSources: this.#sources.size > 0,
    });
    const isMuted = this.#findMute(rule, facts) !== undefined;
    if (isMuted && says === "silent") return;
    const untell = this.#book.told(news, now);
    await this.tell(isMuted ? undefined : facts, this.#toMemory()).catch(failAfter(untell));
    const event = says === "silent" ? "silence.began" : "silence.ended";
    this.deps.log.warn(event, { watch: key, quietMs: lastedMs, muted: isMuted });
  }

  /** An alert that is not routed yet may end the silence: a flood is routed when it is over. */
  #knownUntil(now: number): number {
    const at = this.#oldestUnroutedAt;
    return at === undefined || now - at > longestUnroutedMs ? now : Math.min(now, at);
  }

  async #saveArrivals(): Promise<void> {
    this.#arrivalsSavedAt = this.deps.clock.now();
    await this.deps.store.saveWatchState({ name: arrivalsName, state: this.#book.saveArrivals() });
  }

  /** Finds a mute in force that matches the notice. A mute of a source also mutes the watch of that source. */
  #findMute(rule: SilenceRule, facts: AlertFacts): Mute | undefined {
    const source = rule.of === "source" ? rule.name : facts.source;
    return findMuteOf({ ...facts, source }, this.deps.activeMutes());
  }

  view(): SilenceView[] {
    const until = this.#knownUntil(this.deps.clock.now());
    return this.#book.states(until).map((state) => this.#viewOf(state, until));
  }

  #viewOf(state: SilenceState, now: number): SilenceView {
    const { rule, key, since, last, quietMs, toldAt, learning, usualMs, tellsAt } = state;
    const facts = writeSilenceNotice({ says: "silent", state }, now, {});
    const mute = this.#findMute(rule, facts);
    const isSilent = toldAt !== undefined || state.isSilent;
    return {
      watch: key,
      of: rule.of,
      name: rule.name,
      afterMs: rule.after === "auto" ? undefined : rule.after,
      state: mute !== undefined ? "muted" : isSilent ? "silent" : learning !== undefined ? "learning" : "watching",
      since,
      lastAt: last?.at,
      lastId: last?.id,
      quietMs: Math.round(quietMs),
      usualMs: usualMs === undefined ? undefined : Math.round(usualMs),
      tellsAt: isSilent || mute !== undefined ? undefined : tellsAt,
      toldAt,
      learning: learning && { ...learning, daysNeeded, arrivalsNeeded, isReading: this.#isReading },
      mute: mute && { reason: mute.reason, until: mute.endsAt },
      alertKey: facts.alertKey,
    };
  }
}

function failAfter(takeBack: () => void) {
  return (error: unknown): never => {
    takeBack();
    throw error;
  };
}
