import { z } from "zod";
import type { SilenceView } from "../contract/operations.ts";
import type { AlertFacts, AlertOrigin } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { createPoll } from "../core/poll.ts";
import type { Administration } from "../core/ports/administration.ts";
import type { AlertLog, Position } from "../core/ports/alert-log.ts";
import type { WatchState, WatchStore } from "../core/ports/watch.ts";
import { type Decision, type Mute, routesThatTook, type SilenceRule } from "../core/rules.ts";
import { findMuteOf } from "./find-mute.ts";
import { type Arrival, createSilenceBook, type SilenceState } from "./silence-book.ts";
import { writeSilenceNotice } from "./silence-notice.ts";
import { slotMs, slotsKept } from "./slot-ring.ts";
import { arrivalsNeeded, daysNeeded } from "./usual-quiet.ts";

export interface SilenceDeps {
  /** At least one; each key once. */
  rules: SilenceRule[];
  /** Names of the sources with a hook of their own. Default: none. */
  sources?: string[];
  store: WatchStore & Pick<AlertLog, "listArrivals" | "followArrivals"> & Pick<Administration, "health">;
  /** Other relays route as well, so what has come is read from the log, too. Default: `note` is told of all. */
  isShared?: boolean;
  /** Sends a notice of the relay itself, and saves the state in the same step. Rejects as the store does. */
  notify(facts: AlertFacts, watch: WatchState): Promise<void>;
  /** Those that hold now. */
  activeMutes(): Mute[];
  /** What is known of the account that should send to this source, in one sentence. Absent or undefined: nothing is. */
  describeAccount?(source?: string): string | undefined;
  /** How people reach the page. */
  publicUrl: string;
  clock: Clock;
  log: Log;
}

/** What is looked at of an alert that was judged. */
interface JudgedAlert extends Omit<Arrival, "routes"> {
  origin: AlertOrigin;
  decisions: Decision[];
}

export interface SilenceWatch {
  /** Routing has judged an alert: as cheap as a few comparisons, and the same alert may be noted twice. */
  note(alert: JudgedAlert): void;
  views(): SilenceView[];
  /** Looks twice a minute until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}

const stateName = "silence";
const arrivalsName = "silence:arrivals";
const lookEveryMs = 30_000;
/** What is lost of it by a kill counts as time in which the relay did not run. */
const saveArrivalsEveryMs = 10 * 60_000;
/** A clock that has gone back by more than a day is believed after so many looks: what it forgets is gone. */
const looksUntilBelieved = 20;
/** What could not be routed for longer keeps no silence from being told. */
const longestUnroutedMs = 60 * 60_000;
/** The log is read in steps that keep nobody who reads waiting, with rests between. */
const stepSize = 500;
const restMs = 20;
/** What one look reads of the log at most, in steps: where more has come nothing is silent. */
const mostSteps = 200;
const readToSchema = z.object({ readTo: z.string().transform((text) => text as Position) });

/**
 * Tells people once when alerts do not come that should have come, and once when they come again. What is silence and
 * what is usual: `silence-book.ts`, `usual-quiet.ts`.
 */
export async function openSilenceWatch(deps: SilenceDeps): Promise<SilenceWatch> {
  const { rules, store, clock, log, sources = [] } = deps;
  const [state, arrivals] = [await store.loadWatchState(stateName), await store.loadWatchState(arrivalsName)];
  const book = createSilenceBook(rules, { state, arrivals }, clock.now(), new Set(sources));
  /** Behind it the next look reads the log. */
  let readTo = readToSchema.safeParse(state).data?.readTo;
  let routedAtLastLook: Position | undefined;
  let stopping: AbortSignal | undefined;
  let arrivalsSavedAt = clock.now();
  let isReading = book.unknown.length > 0;
  let looksBehind = 0;
  let oldestUnroutedAt: number | undefined;
  const watchesRoutes = rules.some(({ of }) => of === "route");

  /** A watch that is new learns from the log what came before it was asked for. */
  async function readLog(stop: AbortSignal): Promise<void> {
    const now = clock.now();
    const fromAt = now - slotsKept * slotMs;
    let before: Position | undefined;
    let firstAt = now;
    let count = 0;
    do {
      const step = await store.listArrivals({ fromAt, before, limit: stepSize });
      for (const arrival of step) {
        book.noteStored(arrival);
        firstAt = Math.min(firstAt, arrival.receivedAt);
      }
      count += step.length;
      before = step.at(-1)?.position;
      if (before !== undefined) await clock.sleep(restMs, stop);
    } while (before !== undefined && !stop.aborted);
    if (stop.aborted) return;
    book.learnFrom(firstAt, now);
    isReading = false;
    await saveArrivals().catch(() => {});
    log.info("silence.learned", { alerts: count, watches: book.unknown });
  }

  /**
   * What other relays have routed, the former owner of this watch among them. What one of them was storing when the last
   * look was made could not be seen then: each begins where all was routed at the one before.
   */
  async function readShared(): Promise<void> {
    const { routedUpTo } = await store.followArrivals(undefined, 0);
    let after = readTo;
    for (let steps = 0; after !== undefined && steps < mostSteps; steps += 1) {
      const { arrivals: step } = await store.followArrivals(after, stepSize);
      for (const arrival of step) book.note(arrival);
      after = step.length < stepSize ? undefined : step.at(-1)?.position;
      if (after !== undefined) await clock.sleep(restMs, stopping);
    }
    readTo = routedAtLastLook ?? readTo ?? routedUpTo;
    routedAtLastLook = routedUpTo;
  }

  const saved = (): WatchState => ({
    name: stateName,
    state: readTo === undefined ? book.save() : { ...book.save(), readTo },
  });

  async function look(): Promise<void> {
    const health = await store.health();
    // Whoever is refused for want of room is not silent.
    if (health.full) return;
    oldestUnroutedAt = health.oldestUnroutedAt;
    if (deps.isShared) await readShared();
    const now = clock.now();
    if (book.isFarBehind(now) && looksBehind < looksUntilBelieved) {
      looksBehind += 1;
      return;
    }
    looksBehind = 0;
    const takeBack = book.pass(now);
    await orElse(takeBack, store.saveWatchState(saved()));
    for (const news of book.news(knownUntil(now))) {
      const context = {
        link: pageOf(deps.publicUrl),
        account: deps.describeAccount?.(ofSource(news.state.rule)),
        hasSources: sources.length > 0,
      };
      const facts = writeSilenceNotice(news, knownUntil(now), context);
      const mute = findMute(news.state.rule, facts);
      if (mute !== undefined && news.says === "silent") continue;
      const untell = book.told(news, now);
      const watch = saved();
      await orElse(untell, mute === undefined ? deps.notify(facts, watch) : store.saveWatchState(watch));
      log.warn(news.says === "silent" ? "silence.began" : "silence.ended", {
        watch: news.state.key,
        quietMs: news.lastedMs ?? news.state.quietMs,
        muted: mute !== undefined,
      });
    }
    if (Math.abs(now - arrivalsSavedAt) >= saveArrivalsEveryMs) await saveArrivals();
  }

  /** What has come and is not routed yet may be what is missed: a flood is routed when it is over. */
  function knownUntil(now: number): number {
    if (oldestUnroutedAt === undefined || now - oldestUnroutedAt > longestUnroutedMs) return now;
    return Math.min(now, oldestUnroutedAt);
  }

  async function saveArrivals(): Promise<void> {
    arrivalsSavedAt = clock.now();
    await store.saveWatchState({ name: arrivalsName, state: book.saveArrivals() });
  }

  /** Those that hold for the notice itself; a mute of a source also mutes the watch of that source. */
  function findMute(rule: SilenceRule, facts: AlertFacts): Mute | undefined {
    const source = rule.of === "source" ? rule.name : facts.source;
    return findMuteOf({ ...facts, source }, deps.activeMutes());
  }

  function view(state: SilenceState, now: number): SilenceView {
    const { rule, key, since, last, quietMs, toldAt, learning, usualMs, tellsAt } = state;
    const facts = writeSilenceNotice({ says: "silent", state }, now, {});
    const mute = findMute(rule, facts);
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
      learning: learning && { ...learning, daysNeeded, arrivalsNeeded, isReading },
      mute: mute && { reason: mute.reason, until: mute.endsAt },
      alertKey: facts.alertKey,
    };
  }

  const poll = createPoll({
    look,
    everyMs: lookEveryMs,
    clock,
    onFailed: (error) => log.error("silence.not_looked", { error: String(error).slice(0, 300) }),
  });

  return {
    note({ id, origin, receivedAt, source, decisions }) {
      if (origin !== "hook") return;
      const routes = watchesRoutes ? routesThatTook(decisions) : [];
      if (book.note({ id, receivedAt, source, routes })) poll.wake();
    },
    views() {
      const until = knownUntil(clock.now());
      return book.states(until).map((state) => view(state, until));
    },
    async run(stop) {
      stopping = stop;
      if (isReading)
        await readLog(stop).catch((error: unknown) => {
          isReading = false;
          log.error("silence.log_unread", { error: String(error).slice(0, 300) });
        });
      // Until the log was read nothing is on record of the new watches, so that the next start reads it again.
      if (isReading) return;
      await poll.run(stop);
      await saveArrivals().catch(() => {});
    },
  };
}

/** Lets nothing stand that was not written. */
async function orElse(takeBack: () => void, written: Promise<void>): Promise<void> {
  try {
    await written;
  } catch (error) {
    takeBack();
    throw error;
  }
}

function pageOf(publicUrl: string): string {
  return `${publicUrl.replace(/(?<!\/)\/+$/, "")}/silence`;
}

function ofSource({ of, name }: SilenceRule): string | undefined {
  return of === "source" ? name : undefined;
}
