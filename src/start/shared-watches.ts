import { setMaxListeners } from "node:events";
import type { Config } from "../config/config.ts";
import type { AccountView, CanaryView, GapReport, ShapesView, SilenceView, WatchView } from "../contract/operations.ts";
import { AppError } from "../core/errors.ts";
import type { GapWindow } from "../core/gaps.ts";
import { createPoll } from "../core/poll.ts";
import type { Administration } from "../core/ports/administration.ts";
import type { LaneFence } from "../core/ports/lanes.ts";
import type { HookReport } from "../core/ports/relays.ts";
import type { DutyStates } from "../core/ports/watch.ts";
import type { SeenShape } from "../core/shape.ts";
import { dutiesGroup } from "../delivery/duties-lane.ts";
import type { Engine } from "../delivery/engine.ts";
import type { AccountWatch } from "../watch/account-watch.ts";
import { addUpHooks } from "../watch/refusals.ts";
import type { ShapeWatch } from "../watch/shapes.ts";
import type { SilenceWatch } from "../watch/silence.ts";
import { accountAccess, openWatches, type Watches, type WatchesDeps } from "./open-watches.ts";

export interface SharedWatchesDeps extends Omit<WatchesDeps, "store" | "notify" | "hooks" | "ranSince" | "isShared"> {
  store: WatchesDeps["store"] & DutyStates & Pick<Administration, "capabilities">;
  engine: Pick<Engine, "serveDuties" | "leaveDuties" | "lookForLanes" | "notify" | "others" | "requests">;
  /** What has come to the hooks of sources of this relay, by name. */
  hooks(): ReadonlyMap<string, HookReport>;
  /** When this relay began. Epoch milliseconds. */
  startedAt: number;
}

/** What the relays of one database watch, as each of them shows it, whichever has the duties. */
export interface SharedWatches {
  /** Those that page, API, metrics and status show alike, in the order in which people see them. */
  watches(): WatchView[];
  silence(): SilenceView[];
  canary(): CanaryView | undefined;
  /** Rejects as the store does. */
  shapes(): Promise<ShapesView>;
  /** Of a source, or of the account of the environment. Undefined: nobody watches it. */
  accountOf(source?: string): SharedAccount | undefined;
  /** Likewise. Undefined: nobody looks for alerts of it that did not come. */
  gapsOf(source?: string): SharedGaps | undefined;
  /** What has come to the hooks of sources of all relays that run, by name. */
  hooks(): ReadonlyMap<string, HookReport>;
  noteShapes: ShapeWatch["note"];
  noteArrival: SilenceWatch["note"];
  /** From when the relay is complete, until `stop` is aborted: the duties go to the next relay at once then. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}

export interface SharedAccount {
  known(): KnownAccount;
  /** See `AccountWatch`; rejects as `HolderRequests.ask` does besides. */
  putBack(): Promise<"put-back" | "unchanged">;
}

export interface SharedGaps {
  /** See `GapWatch`. Rejects as the store does. */
  report(): Promise<GapReport | undefined>;
  /** See `GapWatch`; rejects as `HolderRequests.ask` does besides. */
  check(window: GapWindow): Promise<GapReport>;
}

type KnownAccount = Pick<AccountView, "answer" | "canPutBack">;

/** What the owner saves for the others: small, since each of them reads it every two seconds. */
interface Shown {
  /** What another version has saved in another way is not read. */
  format: typeof format;
  at: number;
  watches: WatchView[];
  silence: SilenceView[];
  canary?: CanaryView;
  accounts: { source?: string; known: KnownAccount }[];
}

/** Larger, and read when somebody looks. */
interface ShownGaps {
  format: typeof format;
  reports: { source?: string; report: GapReport }[];
}
interface ShownShapes extends ShapesView {
  format: typeof format;
}

const format = 2;
const shownName = "shown";
const shownGapsName = "shown:gaps";
const shownShapesName = "shown:shapes";
const showEveryMs = 2_000;
/** How long silence lasts by now changes all the time, and is told as seldom. */
const leastOftenMs = 15_000;
const shapesEveryMs = 5_000;
/** The owner saves it more often: older ones are of a time in which other relays ran. */
const shownForMs = 60_000;
const shipEveryMs = 5_000;
/** Requests whose shapes wait for the owner; what is lost beyond is a count. */
const mostWaiting = 1_000;
const subject = "the watches";
const howToSee = "The page Setup and `tocsin status` show in some seconds what was done. If nothing was, ask again.";
/** They ask the service, which may take its time. */
const answerWithinMs = { putBack: 60_000, gaps: 5 * 60_000 };

interface ShapeNote {
  alerts: SeenShape[];
  receivedAt: number;
  hook?: string;
}

/**
 * What is watched has one owner among the relays on a database: whoever holds the lane of the duties. People are told once,
 * and what was told is known to the next.
 *
 *     the lane is held ──▶ opened from what is saved ──▶ run, and shown to the others ──lost, left──▶ ended
 *
 * All that the owner saves and tells is written under the fence of the lane: one that stood still, and goes on when another
 * has taken over, saves and tells nothing more. It learns from the others what only they see: alerts that they have
 * routed, from the log; shapes, which they send it; what came to their hooks, as they report it. They show what it has saved
 * to be shown, and hand to it what people ask for. Where one relay has the store alone it holds the lane from the start to
 * the stop, and nothing is saved for others.
 */
export async function shareWatches(config: Config, deps: SharedWatchesDeps): Promise<SharedWatches> {
  const { store, engine, clock, log } = deps;
  const { requests } = engine;
  const isShared = store.capabilities.sharedByRelays;
  let own: Watches | undefined;
  let opening: Promise<void> | undefined;
  let shown: Shown = { format, at: 0, watches: [], silence: [], accounts: [] };
  let waiting: ShapeNote[] = [];
  let hasNewShapes = false;
  /** Shapes that are to be described by whichever relay sees them next. */
  let askedFor: string[] = [];
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let ranSince = deps.startedAt;
  function noteRelays(): void {
    ranSince = Math.min(ranSince, ...engine.others().map(({ startedAt }) => startedAt));
  }

  function depsUnder(lane: LaneFence): WatchesDeps {
    let isLost = false;
    async function keep(written: Promise<"done" | "lost">): Promise<void> {
      if ((await written) === "done") return;
      isLost = true;
      engine.lookForLanes();
      throw new AppError("conflict", "Another relay has taken over what is watched.");
    }
    return {
      ...deps,
      // That nothing of it is kept any more, one line says for all: `lane.lost`.
      log: { ...log, error: (event, fields) => (isLost ? log.debug : log.error)(event, fields) },
      store: { ...store, saveWatchState: (watch) => keep(store.saveWatchStateFor(lane, watch)) },
      notify: (facts, watch) => keep(engine.notify(facts, watch, lane)),
      hooks: addUpHooks(deps.hooks, engine.others),
      askForShape(id) {
        askedFor.push(id);
        deps.askForShape(id);
      },
      ranSince: () => ranSince,
      isShared,
    };
  }

  async function serve(lane: LaneFence, stop: AbortSignal): Promise<void> {
    // Every watch listens to it.
    setMaxListeners(0, stop);
    noteRelays();
    opening = openWatches(config, depsUnder(lane)).then((opened) => {
      own = opened;
    });
    await opening;
    const mine = own as Watches;
    for (const note of waiting.splice(0)) noteShapes(note);
    // The heartbeat asks the whole relay how it is.
    await Promise.race([begun, whenAborted(stop)]);
    await Promise.all([mine.run(stop), isShared ? showOthers(mine, lane).run(stop) : undefined]);
    // Whatever the next owner saves is newer.
    shown = { ...viewsOf(mine), at: 0 };
    own = undefined;
  }

  // Until a watch has looked itself, what the former owner has found is known.
  function listOf(watches: Watches): WatchView[] {
    return watches.list.map((watch) => {
      const view = watch.view();
      const before = shown.watches.find(({ name }) => name === view.name);
      return view.lookedAt === undefined && before !== undefined ? before : view;
    });
  }

  function knownOf(source: string | undefined, account?: AccountWatch): KnownAccount {
    const known = account?.known();
    if (known?.answer !== undefined) return known;
    return shown.accounts.find((other) => other.source === source)?.known ?? known ?? { canPutBack: false };
  }

  function viewsOf(watches: Watches): Shown {
    const accounts = [[undefined, watches.account] as const, ...watches.accounts];
    return {
      format,
      at: clock.now(),
      watches: listOf(watches),
      silence: watches.silence?.views() ?? [],
      canary: watches.canary?.view(),
      accounts: accounts.flatMap(([source, account]) =>
        account === undefined ? [] : { source, known: knownOf(source, account) },
      ),
    };
  }

  function showOthers(mine: Watches, lane: LaneFence) {
    let last: { at: number; text: string } | undefined;
    let shapesAt = Number.NEGATIVE_INFINITY;
    let gapsText: string | undefined;
    const save = (name: string, state: unknown) => store.saveWatchStateFor(lane, { name, state });
    return createPoll({
      async look() {
        noteRelays();
        if (engine.others().length === 0) return;
        const now = clock.now();
        const state = viewsOf(mine);
        const text = JSON.stringify({ ...state, at: 0 }, (key, value) => (growing.has(key) ? undefined : value));
        if (last?.text !== text || Math.abs(now - last.at) >= leastOftenMs) {
          await save(shownName, state);
          last = { at: now, text };
        }
        const reports = [...mine.gaps].flatMap(([source, gaps]) => {
          const report = gaps.report();
          return report === undefined ? [] : { source, report };
        });
        const gaps: ShownGaps = { format, reports };
        if (reports.length > 0 && JSON.stringify(gaps) !== gapsText) {
          await save(shownGapsName, gaps);
          gapsText = JSON.stringify(gaps);
        }
        if (!hasNewShapes && Number.isFinite(shapesAt)) return;
        if (Math.abs(now - shapesAt) < shapesEveryMs) return;
        hasNewShapes = false;
        shapesAt = now;
        const shapes: ShownShapes = { format, ...mine.shapes.view() };
        await save(shownShapesName, shapes);
      },
      everyMs: showEveryMs,
      clock,
      onFailed: (error) => log.error("watches.not_shown", { error: String(error).slice(0, 300) }),
    });
  }

  async function load<T extends { format: number }>(name: string): Promise<T | undefined> {
    const saved = (await store.loadWatchState(name)) as T | undefined;
    return saved?.format === format ? saved : undefined;
  }

  async function readShown(): Promise<void> {
    noteRelays();
    if (own !== undefined) return;
    const saved = await load<Shown>(shownName);
    if (saved !== undefined && saved.at > shown.at && clock.now() - saved.at < shownForMs) shown = saved;
  }
  const following = createPoll({
    look: readShown,
    everyMs: showEveryMs,
    clock,
    onFailed: (error) => log.error("watches.not_read", { error: String(error).slice(0, 300) }),
  });

  function noteShapes({ alerts, receivedAt, hook }: ShapeNote): void {
    hasNewShapes = true;
    own?.shapes.note(alerts, receivedAt, hook);
  }

  const shipping = createPoll({
    async look() {
      if (own !== undefined || waiting.length === 0) return;
      const notes = waiting.splice(0);
      try {
        const asked = (await requests.ask(dutiesGroup, "note shapes", { notes }, { subject, howToSee })) as string[];
        for (const id of asked) deps.askForShape(id);
      } catch (error) {
        waiting = [...notes, ...waiting].slice(-mostWaiting);
        if (!isForNow(error)) throw error;
        log.debug("shapes.not_noted", { error: error.message });
      }
    },
    everyMs: shipEveryMs,
    clock,
    onFailed: (error) => log.warn("shapes.not_noted", { error: String(error).slice(0, 300) }),
  });

  function owned(): Watches {
    if (own !== undefined) return own;
    throw new AppError("conflict", "The relay that watches has only just begun.", {
      hint: "Try again in some seconds.",
      retryAfterMs: 5_000,
    });
  }

  const ofSource = <T>(source: string | null, one: T | undefined): T => {
    if (one !== undefined) return one;
    const whose = source === null ? "the account" : `an account of a source ${source}`;
    throw new AppError("conflict", `The relay that watches does not watch ${whose}.`, {
      hint: "Run all relays with the same configuration.",
    });
  };

  requests.answer("put back", (args) => {
    const { source } = args as { source: string | null };
    const { account, accounts } = owned();
    return ofSource(source, source === null ? account : accounts.get(source)).putBack();
  });
  requests.answer("check gaps", (args) => {
    const { source, window } = args as { source: string | null; window: GapWindow };
    return ofSource(source, owned().gaps.get(source ?? undefined)).check(window);
  });
  requests.answer("note shapes", async (args) => {
    owned();
    askedFor = [];
    for (const note of (args as { notes: ShapeNote[] }).notes) noteShapes(note);
    return [...new Set(askedFor)];
  });

  engine.serveDuties(serve);
  await opening;
  if (isShared) await readShown();

  return {
    watches: () => (own === undefined ? shown.watches : listOf(own)),
    silence: () => (own === undefined ? shown.silence : (own.silence?.views() ?? [])),
    canary: () => (own === undefined ? shown.canary : own.canary?.view()),
    async shapes() {
      if (own !== undefined) return own.shapes.view();
      const saved = await load<ShownShapes>(shownShapesName);
      return saved ?? { kinds: [], unfollowed: { unknown: 0, without: 0 } };
    },
    accountOf(source) {
      if (accountAccess(config, source) === undefined) return undefined;
      return {
        known: () => knownOf(source, source === undefined ? own?.account : own?.accounts.get(source)),
        putBack: () =>
          requests.ask(
            dutiesGroup,
            "put back",
            { source: source ?? null },
            { subject, howToSee, answerWithinMs: answerWithinMs.putBack },
          ) as ReturnType<SharedAccount["putBack"]>,
      };
    },
    gapsOf(source) {
      const { gapsEveryMs } = config.watch;
      if (accountAccess(config, source) === undefined || gapsEveryMs === undefined) return undefined;
      return {
        async report() {
          const report = own?.gaps.get(source)?.report();
          if (report !== undefined || !isShared) return report;
          const saved = await load<ShownGaps>(shownGapsName);
          const last = saved?.reports.find((one) => one.source === source)?.report;
          // What is older was found by relays that ran at another time.
          return last && clock.now() - last.checkedAt < 2 * gapsEveryMs ? last : undefined;
        },
        check: (window) =>
          requests.ask(
            dutiesGroup,
            "check gaps",
            { source: source ?? null, window },
            { subject, howToSee, answerWithinMs: answerWithinMs.gaps },
          ) as Promise<GapReport>,
      };
    },
    // Those that are gone are left out: each relay knows others of them.
    hooks: () => addUpHooks(deps.hooks, engine.others)(),
    noteShapes(alerts, receivedAt, hook) {
      if (own !== undefined) return noteShapes({ alerts: [...alerts], receivedAt, hook });
      // Only a shape that is described needs the words that name it.
      const short = alerts.map(({ shape, facts }) =>
        shape?.places ? { shape, facts } : { shape, facts: { title: "" } },
      );
      if (waiting.length < mostWaiting) waiting.push({ alerts: short, receivedAt, hook });
    },
    noteArrival: (alert) => own?.silence?.note(alert),
    async run(stop) {
      begin();
      const others = isShared ? [following.run(stop), shipping.run(stop)] : [];
      await Promise.all([...others, whenAborted(stop).then(engine.leaveDuties)]);
    },
  };
}

/** Nobody has the watches for some seconds after their owner was killed, or the database is away, which its own lines say. */
const isForNow = (error: unknown): error is AppError =>
  error instanceof AppError && (error.code === "conflict" || error.code === "store_unavailable");

/** What grows by itself, and is no news. */
const growing: ReadonlySet<string> = new Set(["quietMs", "tellsAt"]);

function whenAborted(stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted) resolve();
    else stop.addEventListener("abort", () => resolve(), { once: true });
  });
}
