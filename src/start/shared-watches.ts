import { setMaxListeners } from "node:events";
import type { Config } from "../config/config.ts";
import type { CanaryView, GapReport, ShapesView, SilenceView, WatchView } from "../contract/operations.ts";
import { untilAborted } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { GapWindow } from "../core/gaps.ts";
import { logFailure } from "../core/log.ts";
import { Mailbox } from "../core/mailbox.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import { dutiesGroup, type LaneFence } from "../core/ports/lanes.ts";
import type { HookReport } from "../core/ports/relays.ts";
import type { SeenShape } from "../core/shape.ts";
import type { Engine } from "../delivery/engine.ts";
import type { AccountWatch } from "../watch/account-watch.ts";
import type { GapWatch } from "../watch/gaps/gap-watch.ts";
import { addUpHooks } from "../watch/refusals.ts";
import { readDowntimes } from "../watch/running-times.ts";
import type { ShapeWatch } from "../watch/shapes.ts";
import type { SilenceWatch } from "../watch/silence.ts";
import {
  accountAccess,
  openAccountWatch,
  openGaps,
  openWatches,
  type Watches,
  type WatchesDeps,
} from "./open-watches.ts";
import { type KnownAccount, type Shown, ShownWatches, showEveryMs } from "./shown-watches.ts";

export interface SharedWatchesDeps extends Omit<WatchesDeps, "notify" | "hooks" | "ranSince" | "isShared"> {
  engine: Pick<Engine, "duties" | "lookForLanes" | "notify" | "membership">;
  /** What came to the hooks of sources of this relay, by name. */
  hooks(): ReadonlyMap<string, HookReport>;
  /** When this relay began, epoch milliseconds. */
  startedAt: number;
}

/** The owner saves more often than this. Older views are from a time in which other relays ran. */
const shownForMs = 60_000;
const shipEveryMs = 5_000;
/** The most requests whose shapes wait for the owner. Losing more only makes a count too small. */
const mostWaiting = 1_000;
const mostAskedFor = 100;
/** A report to the owner on an event at another relay. */
interface Letter {
  /** The source of the account. Absent: the account of the environment. */
  source?: string;
  isPutBack?: true;
  gaps?: GapReport;
  shapes?: ShapeNote;
}

interface ShapeNote {
  alerts: SeenShape[];
  receivedAt: number;
  hook?: string;
}

/**
 * The watches have one owner among the relays on a database: the holder of the lane of the duties. People get each
 * notice once, and the next owner knows the sent ones.
 *     the lane is held ──▶ opened from what is saved ──▶ run, and shown to the others ──lost, left──▶ ended
 * The fence of the lane guards all that the owner saves and sends: a frozen owner that wakes after another has taken
 * over changes nothing. The log has the alerts that other relays have routed. Their reports have what came to their
 * hooks. Their mail has shapes, and the actions of people there. Other relays show what the owner has saved. A relay
 * that has the store alone holds the lane from start to stop.
 */
export class SharedWatches {
  readonly #isShared: boolean;
  readonly #saved: ShownWatches;
  readonly #mail: Mailbox<Letter>;
  readonly #reading: Poll;
  #own?: Watches;
  #opening?: Promise<void>;
  /** The views of the owner, as far as this relay knows them. */
  #shown: Shown = { at: 0, watches: [], silence: [], accounts: [] };
  /** The looks that people asked this relay for, by source. */
  readonly #checked = new Map<string | undefined, GapReport>();
  #waiting: Letter[] = [];
  /** Shapes that the next relay that sees them is to describe. */
  #askedFor: string[] = [];
  readonly #begun = new AbortController();
  #ranSince: number;

  /** Resolves when the watches are open, where this relay is their owner. */
  static async open(config: Config, deps: SharedWatchesDeps): Promise<SharedWatches> {
    const watches = new SharedWatches(config, deps);
    deps.engine.duties.serveBy((lane, stop) => watches.#serve(lane, stop));
    await watches.#opening;
    if (watches.#isShared) await watches.#follow();
    return watches;
  }

  private constructor(
    private readonly config: Config,
    private readonly deps: SharedWatchesDeps,
  ) {
    this.#isShared = deps.store.capabilities.sharedByRelays;
    this.#saved = new ShownWatches(deps);
    this.#mail = new Mailbox(deps.store, dutiesGroup, mostWaiting);
    this.#reading = this.#pollOf("watches.mail_unread", showEveryMs, async () => {
      if (this.#own !== undefined) this.#take(this.#own, await this.#mail.take());
    });
    this.#ranSince = deps.startedAt;
  }

  /** In the order in which people see them. Page, API, metrics and status all show these. */
  readonly watches = (): WatchView[] => (this.#own === undefined ? this.#shown.watches : this.#listOf(this.#own));
  readonly silence = (): SilenceView[] =>
    this.#own === undefined ? this.#shown.silence : (this.#own.silence?.view() ?? []);
  readonly canary = (): CanaryView | undefined =>
    this.#own === undefined ? this.#shown.canary : this.#own.canary?.view();

  async shapes(): Promise<ShapesView> {
    return this.#own === undefined ? this.#saved.readShapes() : this.#own.shapes.view();
  }

  /** Default: the account of the environment. Undefined: it is not watched. */
  accountOf(source?: string) {
    if (accountAccess(this.config, source) === undefined) return undefined;
    return {
      known: () => this.#knownOf(source, this.#own?.accounts.get(source)),
      putBack: () => this.#putBack(source),
    };
  }

  /** Undefined: nobody looks for missing alerts of the account. */
  gapsOf(source?: string) {
    const { gapsEveryMs } = this.config.watch;
    if (accountAccess(this.config, source) === undefined || gapsEveryMs === undefined) return undefined;
    return {
      /** See `GapWatch`. Rejects as the store does. */
      report: async () => {
        const report = this.#own?.gaps.get(source)?.report();
        if (report !== undefined || !this.#isShared) return report;
        return this.#saved.readGaps(source, 2 * gapsEveryMs, this.#checked.get(source));
      },
      /** See `GapWatch`. */
      check: (window: GapWindow) => this.#checkGaps(window, source),
    };
  }

  /** What came to the hooks of sources of all running relays, by source. */
  hooks(): ReadonlyMap<string, HookReport> {
    return addUpHooks(this.deps.hooks, this.deps.engine.membership.others)();
  }

  readonly noteShapes: ShapeWatch["note"] = (alerts, receivedAt, hook) => {
    if (this.#own !== undefined) return this.#own.shapes.note(alerts, receivedAt, hook);
    // Only a shape that brings its places needs a title. Other titles are not kept, to save memory.
    const short = alerts.map(({ shape, facts }) =>
      shape?.places ? { shape, facts } : { shape, facts: { title: "" } },
    );
    if (this.#waiting.length < mostWaiting) this.#waiting.push({ shapes: { alerts: short, receivedAt, hook } });
  };

  readonly noteArrival: SilenceWatch["note"] = (alert) => this.#own?.silence?.note(alert);

  /** Another relay may have left a report for the owner. */
  readonly wake = (): void => this.#reading.wake();

  /** Called when the relay is complete. After `stop` the duties go to the next relay. Never rejects. */
  async run(stop: AbortSignal): Promise<void> {
    this.#begun.abort();
    const others = this.#isShared
      ? [
          this.#pollOf("watches.not_read", showEveryMs, () => this.#follow()),
          this.#pollOf("watches.letters_unsent", shipEveryMs, () => this.#ship()),
        ]
      : [];
    await Promise.all([
      ...others.map((poll) => poll.run(stop)),
      untilAborted(stop).then(this.deps.engine.duties.leave),
    ]);
  }

  #pollOf(failed: string, everyMs: number, look: () => Promise<void>): Poll {
    return createPoll({ look, everyMs, clock: this.deps.clock, onFailed: logFailure(this.deps.log, failed) });
  }

  async #serve(lane: LaneFence, stop: AbortSignal): Promise<void> {
    // Every watch listens to it, so the many listeners are no leak.
    setMaxListeners(0, stop);
    this.#noteRelays();
    this.#opening = openWatches(this.config, this.#depsUnder(lane)).then((opened) => {
      this.#own = opened;
    });
    await this.#opening;
    const mine = this.#own as Watches;
    this.#take(mine, this.#waiting.splice(0));
    // Waits for `run`, since the heartbeat asks the whole relay for its state.
    await Promise.race([untilAborted(this.#begun.signal), untilAborted(stop)]);
    const forOthers = this.#isShared ? [this.#savingOf(mine, lane).run(stop), this.#reading.run(stop)] : [];
    await Promise.all([mine.run(stop), ...forOthers]);
    // `at: 0`: anything that the next owner saves is newer.
    this.#shown = { ...this.#viewsOf(mine), at: 0 };
    this.#own = undefined;
  }

  #depsUnder(lane: LaneFence): WatchesDeps {
    const { store, engine, log } = this.deps;
    let isLost = false;
    async function keep(written: Promise<"done" | "lost">): Promise<void> {
      if ((await written) === "done") return;
      isLost = true;
      engine.lookForLanes();
      throw new AppError("conflict", "Another relay has taken over what is watched.");
    }
    return {
      ...this.#depsAlways(),
      // The line `lane.lost` is enough: after it nothing of this owner is kept.
      log: { ...log, error: (event, fields) => (isLost ? log.debug : log.error)(event, fields) },
      store: { ...store, saveWatchState: (watch) => keep(store.saveWatchStateFor(lane, watch)) },
      notify: (facts, watch, to) => keep(engine.notify(facts, watch, lane, to)),
      askForShape: (id) => {
        this.#askedFor = [...this.#askedFor, id].slice(-mostAskedFor);
        this.deps.askForShape(id);
      },
    };
  }

  /** With these any relay can look, by the saved state. The result is not saved. */
  #depsOfAny(): WatchesDeps {
    return {
      ...this.#depsAlways(),
      store: { ...this.deps.store, saveWatchState: async () => {} },
      notify: async () => {},
    };
  }

  #depsAlways() {
    return {
      ...this.deps,
      hooks: addUpHooks(this.deps.hooks, this.deps.engine.membership.others),
      ranSince: () => this.#ranSince,
      isShared: this.#isShared,
    };
  }

  #savingOf(mine: Watches, lane: LaneFence): Poll {
    return this.#saved.saving(lane, {
      views: () => this.#viewsOf(mine),
      gaps: () => {
        const reports = [...mine.gaps].flatMap(([source, one]) => {
          const report = one.report();
          return report === undefined ? [] : { source, report };
        });
        return reports.length === 0 ? undefined : { reports };
      },
      shapes: () => mine.shapes.view(),
      hasOthers: () => {
        this.#noteRelays();
        return this.deps.engine.membership.others().length > 0;
      },
    });
  }

  #viewsOf(watches: Watches): Omit<Shown, "at"> {
    return {
      watches: this.#listOf(watches),
      silence: watches.silence?.view() ?? [],
      canary: watches.canary?.view(),
      askFor: this.#askedFor,
      accounts: [...watches.accounts].map(([source, account]) => ({ source, known: this.#knownOf(source, account) })),
    };
  }

  /** Until a watch has looked, it shows the findings of the former owner. */
  #listOf(watches: Watches): WatchView[] {
    return watches.list.map((watch) => {
      const view = watch.view();
      const before = this.#shown.watches.find(({ name }) => name === view.name);
      return view.lookedAt === undefined && before !== undefined ? before : view;
    });
  }

  async #putBack(source?: string): Promise<"put-back" | "unchanged"> {
    const own = this.#own?.accounts.get(source);
    if (own !== undefined) return own.putBack();
    const watch = (await openAccountWatch(this.config, this.#depsOfAny(), source)) as AccountWatch;
    const done = await watch.putBack();
    await this.#leave({ source, isPutBack: true });
    return done;
  }

  async #checkGaps(window: GapWindow, source?: string): Promise<GapReport> {
    const own = this.#own?.gaps.get(source);
    if (own !== undefined) return own.check(window);
    const downtimes = await readDowntimes(this.deps.store, this.deps.clock.now(), true);
    const running = { downtimes: () => downtimes };
    const watch = (await openGaps(this.config, this.#depsOfAny(), running, source)) as GapWatch;
    const report = await watch.check(window);
    const gaps = watch.report();
    if (gaps === undefined) return report;
    this.#checked.set(source, gaps);
    await this.#leave({ source, gaps });
    return report;
  }

  /** A report that cannot be sent now goes with the next ones. */
  #leave(letter: Letter): Promise<void> {
    this.#waiting.push(letter);
    return this.#ship().catch(() => {});
  }

  #take(mine: Watches, letters: readonly Letter[]): void {
    if (letters.some(({ shapes }) => shapes !== undefined)) this.#askedFor = [];
    for (const { source, isPutBack, gaps, shapes } of letters) {
      if (isPutBack) mine.accounts.get(source)?.wake();
      if (gaps !== undefined) mine.gaps.get(source)?.adopt(gaps);
      if (shapes !== undefined) mine.shapes.note(shapes.alerts, shapes.receivedAt, shapes.hook);
    }
  }

  #knownOf(source: string | undefined, account?: AccountWatch): KnownAccount {
    const known = account?.known();
    if (known?.answer !== undefined) return known;
    return this.#shown.accounts.find((other) => other.source === source)?.known ?? known ?? { canPutBack: false };
  }

  #noteRelays(): void {
    const starts = this.deps.engine.membership.others().map(({ startedAt }) => startedAt);
    this.#ranSince = Math.min(this.#ranSince, ...starts);
  }

  async #follow(): Promise<void> {
    this.#noteRelays();
    if (this.#own !== undefined) return;
    const saved = await this.#saved.readViews();
    const now = this.deps.clock.now();
    if (saved === undefined || saved.at <= this.#shown.at || now - saved.at >= shownForMs) return;
    this.#shown = saved;
    for (const id of saved.askFor ?? []) this.deps.askForShape(id);
  }

  async #ship(): Promise<void> {
    const letters = this.#waiting.splice(0);
    if (this.#own !== undefined) return this.#take(this.#own, letters);
    if (letters.length === 0) return;
    try {
      await this.#mail.put(letters);
    } catch (error) {
      this.#waiting = [...letters, ...this.#waiting].slice(-mostWaiting);
      throw error;
    }
  }
}
