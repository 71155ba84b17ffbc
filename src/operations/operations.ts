import type {
  AccountView,
  DestinationView,
  GapReport,
  MarketServiceView,
  Operations,
  Readiness,
  StatusView,
  Trouble,
  TryResult,
} from "../contract/operations.ts";
import { within } from "../core/clock.ts";
import type { DestinationState, Trial } from "../core/destination-status.ts";
import { AppError } from "../core/errors.ts";
import type { GapWindow } from "../core/gaps.ts";
import type { Administration, StoreHealth } from "../core/ports/administration.ts";
import type { AlertLog } from "../core/ports/alert-log.ts";
import type { BodyReader } from "../core/ports/body-reader.ts";
import type { Dispatch } from "../core/ports/dispatch.ts";
import type { RefusedLog } from "../core/ports/refused.ts";
import type { RoutingDesk } from "../core/ports/routing-desk.ts";
import type { Signals } from "../core/ports/signals.ts";
import type { Statistics } from "../core/ports/statistics.ts";
import type { Route } from "../core/rules.ts";
import { formatMetrics, type MetricsInput } from "./metrics.ts";
import type { MuteBook } from "./mute-book.ts";
import { createMutePreview } from "./preview-mute.ts";
import { createStoreLooks, longestLookMs, type ReadinessDeps, readinessOf } from "./readiness.ts";
import { findRefused, type RefusedDeps, releaseRefused } from "./refused.ts";
import { holdersOf } from "./relays.ts";
import { releaseHeld } from "./release-held.ts";
import { previewResend, resendAlert, resendFailed } from "./resend.ts";
import { type SystemDeps, viewSystem } from "./system.ts";
import { findNamed } from "./targets.ts";
import { createDestinationTests, type DestinationTestDeps } from "./test-destination.ts";
import { createTroubles } from "./troubles.ts";
import { viewDestinations, viewLog, viewRoutes } from "./views.ts";

/** Without `spool`, requests are refused while the store is away. */
export interface OperationsDeps
  extends DestinationTestDeps,
    Pick<RefusedDeps, "inbox">,
    Pick<ReadinessDeps, "spool" | "stopping" | "draining"> {
  store: AlertLog &
    Dispatch &
    RefusedLog &
    Statistics &
    Pick<RoutingDesk, "recordNotice"> &
    Pick<Administration, "health">;
  routes: Route[];
  parts: Pick<
    Operations,
    | "tryBody"
    | "routeAgain"
    | "downtimes"
    | "maxBodyBytes"
    | "doorRefusals"
    | "shapes"
    | "sources"
    | "routeNames"
    | "relays"
    | "watches"
    | "silence"
    | "canary"
  >;
  configuration: SystemDeps["configuration"];
  mutes: MuteBook;
  reader: BodyReader & ReadinessDeps["reader"];
  engine: Required<ReadinessDeps["engine"]> & {
    tryNow(name: string): Promise<Trial | undefined>;
    setPause(name: string, by: string | undefined): Promise<boolean>;
    statuses(): DestinationState[];
    figures: MetricsInput["delivery"];
  };
  /** Absent: no results of pictures are counted. */
  pictures?: { counts(): NonNullable<MetricsInput["pictures"]> };
  /** The requests at the hooks of this relay alone. */
  sourcesHere: Operations["sources"];
  keyOfRefused: RefusedDeps["keyOf"];
  /** The lane groups that no relay has had for a while. Default: none. */
  unheld?(now: number): Trouble[];
  counters: Pick<MetricsInput, "door" | "routing">;
  version: string;
  /** When this process began to relay, epoch milliseconds. */
  runsSince: number;
  socketIsHeld: boolean;
  hearing?: Signals["hearing"];
  retention: StatusView["retention"];
  account: Pick<AccountView, "publicUrl" | "serviceConfigured">;
  /** The watch of a source, or of the account of the environment. Undefined: the account is not watched. */
  accountWatchOf(source?: string): WatchedAccount | undefined;
  /** Absent: nobody looks for missing alerts. */
  gapWatchOf(
    source?: string,
  ): { report(): Promise<GapReport | undefined>; check(window: GapWindow): Promise<GapReport> } | undefined;
  market(): MarketServiceView[];
  /** The present health of the store. Default: unknown. */
  health?: StoreHealth;
}

interface WatchedAccount {
  known(): Pick<AccountView, "answer" | "canPutBack">;
  putBack(): Promise<"put-back" | "unchanged">;
}

class RelayViews {
  readonly #looks: ReturnType<typeof createStoreLooks>;
  readonly troubles: ReturnType<typeof createTroubles>;

  constructor(private readonly deps: OperationsDeps) {
    this.#looks = createStoreLooks(deps.store, deps.clock, deps.health);
    this.troubles = createTroubles({
      destinations: this.destinations,
      lastAlertAt: async () => (await deps.store.countAlerts()).lastReceivedAt,
      ...deps.parts,
      canPutBack: (source) => deps.accountWatchOf(source)?.known().canPutBack ?? false,
      health: async () => this.#looks.lastHealth() ?? this.health(),
      readerProblem: () => deps.reader.problem(),
      unheld: deps.unheld,
      mutes: deps.mutes.active,
      spool: deps.spool,
      clock: deps.clock,
    });
  }

  readonly health = () => this.#looks.health();

  readonly destinations = async (): Promise<DestinationView[]> => {
    const counts = await this.deps.store.countByDestination();
    // Read after the wait: a page that asks for its version at the same time would otherwise show older states.
    const views = viewDestinations(this.deps.engine.statuses(), counts);
    const holders = holdersOf(this.deps.parts.relays());
    return holders.size === 0 ? views : views.map((view) => ({ ...view, relay: holders.get(view.name) }));
  };

  readiness(of?: "relay" | "alerts", store: Pick<Administration, "health"> = this): Promise<Readiness> {
    return readinessOf({ ...this.deps, store, lastHealth: this.#looks.lastHealth }, of);
  }

  async status(): Promise<StatusView> {
    const { store, parts, stopping, draining = stopping, ...deps } = this.deps;
    const health = await store.health();
    const [alerts, views, { ready, reasons }] = await Promise.all([
      store.countAlerts(),
      this.destinations(),
      // Each look at the store's health commits once, so this one serves both.
      this.readiness("relay", { health: async () => health }),
    ]);
    return {
      relay: {
        version: deps.version,
        startedAt: deps.runsSince,
        uptimeMs: Math.max(0, deps.clock.now() - deps.runsSince),
        stopping: draining.aborted,
        ready,
        reasons,
        unreadableAlerts: deps.counters.routing.givenUp,
        socketIsHeld: deps.socketIsHeld,
        hearing: deps.hearing?.(),
      },
      relays: parts.relays(),
      ...viewLog(health, alerts, views, deps.retention),
      troubles: (await this.troubles.look()).troubles,
      account: { ...deps.account, canPutBack: false, ...deps.accountWatchOf()?.known() },
      sources: parts.sources(),
      watches: parts.watches(),
      silence: parts.silence(),
      canary: parts.canary(),
      spool: deps.spool?.(),
    };
  }

  /** A scrape must show that the store is away, so it does not fail with it. */
  async metricsText(): Promise<string> {
    const { parts, engine, clock, ...deps } = this.deps;
    const inTime = <T>(asked: Promise<T>) =>
      within(
        asked.catch(() => undefined),
        longestLookMs,
        clock,
      );
    const [found, views] = await Promise.all([inTime(this.health()), inTime(this.destinations())]);
    return formatMetrics({
      ...deps.counters,
      store: found ?? this.#looks.lastHealth(),
      destinations: views ?? viewDestinations(engine.statuses(), []),
      delivery: engine.figures,
      relays: parts.relays(),
      pictures: deps.pictures?.counts(),
      sources: deps.sourcesHere(),
      watches: parts.watches(),
      keyExpiresAt: deps.accountWatchOf()?.known().answer?.keyExpiresAt,
      silence: parts.silence(),
      market: deps.market(),
      canary: parts.canary(),
      spool: deps.spool?.(),
      now: clock.now(),
    });
  }
}

/** The error where this relay does not watch the account. */
function notWatched(source: string | undefined, ofSource: string, inGeneral: string, leave: string): AppError {
  return source === undefined
    ? new AppError("conflict", `This relay does not ${inGeneral}.`, {
        hint: `Set ALERTING_URL and ALERTING_API_KEY where it runs, and leave ${leave}.`,
      })
    : new AppError("not_found", `This relay ${ofSource} of a source ${source}.`, {
        hint: `Name a source with an account in the configuration, and leave ${leave}.`,
      });
}

/** The actions of people on a running relay, and its views. */
export function createOperations(deps: OperationsDeps): Operations {
  const { store, parts, mutes, engine, reader, clock, log } = deps;
  const views = new RelayViews(deps);
  const { destinations, troubles } = views;
  const changing = <T>(change: Promise<T>) => change.finally(() => troubles.forget());
  async function setPause(name: string, by: string | undefined): Promise<DestinationView> {
    await engine.setPause(name, by);
    troubles.forget();
    return findNamed(await destinations(), name);
  }
  const tryNamed = (name: string) => changing(tryDestination(name, engine.tryNow, destinations));
  const statusOf = (name: string) => viewDestinations(engine.statuses(), []).find((view) => view.name === name);
  const resending = {
    store,
    destinations: deps.destinations,
    listMutes: mutes.listMutes,
    healthOf: (name: string) => statusOf(name)?.health ?? "ok",
    isPaused: (name: string) => statusOf(name)?.paused !== undefined,
    tryDestination: tryNamed,
    clock,
    log,
  };

  return {
    ...parts,
    spool: () => deps.spool?.(),
    listMutes: mutes.listMutes,
    addMute: (input) => changing(mutes.addMute(input)),
    endMute: (id) => changing(mutes.endMute(id)),
    previewMute: createMutePreview({ store, reader, clock }),
    resend: (alertId, names) => resendAlert(resending, alertId, names),
    previewResend: (filter) => previewResend(resending, filter),
    resendFailed: (filter) => changing(resendFailed(resending, filter)),
    releaseHeld: (filter) => releaseHeld(resending, filter),
    tryDestination: tryNamed,
    testDestination: createDestinationTests(deps),
    pauseDestination: setPause,
    resumeDestination: (name) => setPause(name, undefined),
    destinationStatistics: () =>
      store.destinationStatistics(
        deps.destinations.map(({ name }) => name),
        clock.now(),
      ),
    destinations,
    destinationNames: () => engine.statuses().map(({ destination }) => destination.name),
    async routes() {
      const [counted, { oldestReceivedAt }] = await Promise.all([
        store.routeStatistics(clock.now()),
        store.countAlerts(),
      ]);
      return viewRoutes(deps.routes, counted, oldestReceivedAt);
    },
    system: () => viewSystem({ ...deps, watches: parts.watches, store: { ...store, health: views.health } }),
    async putBackOutputs(source) {
      const watch = deps.accountWatchOf(source);
      if (watch === undefined)
        throw notWatched(source, "watches no account", "watch the account", "watch.enabled as it is");
      return changing(watch.putBack());
    },
    listRefused: store.listRefused,
    findRefused: (id) => findRefused(store, id),
    releaseRefused: (id) => releaseRefused({ ...deps, keyOf: deps.keyOfRefused }, id),
    gaps: async (source) => deps.gapWatchOf(source)?.report(),
    async checkGaps(window, source) {
      const watch = deps.gapWatchOf(source);
      if (watch !== undefined) return watch.check(window);
      const leave = "watch.enabled and watch.gaps as they are";
      throw notWatched(source, "looks for no missing alerts", "look for alerts that did not come", leave);
    },
    readiness: (of) => views.readiness(of),
    health: troubles.look,
    status: () => views.status(),
    metricsText: () => views.metricsText(),
  };
}

export async function tryDestination(
  name: string,
  tryNow: OperationsDeps["engine"]["tryNow"],
  destinations: Operations["destinations"],
): Promise<TryResult> {
  const trial = await tryNow(name);
  const view = findNamed(await destinations(), name);
  if (trial === undefined) throw new Error(`the engine does not know ${name}`);
  const { counts, health } = view;
  const waiting = (counts.queued ?? 0) + (counts.waiting ?? 0);
  const known = { destination: name, health, waiting };
  if (trial.kind === "parked") return { ...known, result: "parked", detail: trial.why, nextTryAt: trial.until };
  const { outcome } = trial;
  if (outcome.kind !== "sent") return { ...known, result: "fails", detail: outcome.detail, nextTryAt: view.nextTryAt };
  if (health === "ok") return { ...known, result: "works", detail: outcome.note ?? "" };
  return { ...known, result: "answers", detail: outcome.note ?? "", nextTryAt: view.nextTryAt };
}
