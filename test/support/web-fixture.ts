import { join } from "node:path";
import { onTestFinished } from "vitest";
import { readOtherRules } from "../../src/config/read-config.ts";
import type {
  AccountView,
  CanaryView,
  DoorRefusalView,
  GapReport,
  Operations,
  RunningRelay,
  ShapesView,
  SilenceView,
  SourceView,
  SystemView,
  WatchView,
} from "../../src/contract/operations.ts";
import type { Alert, AlertFacts } from "../../src/core/alert.ts";
import type { Outcome } from "../../src/core/delivery.ts";
import type { NextStep } from "../../src/core/delivery-job.ts";
import type { DestinationState, DestinationStatus } from "../../src/core/destination-status.ts";
import type { Downtime } from "../../src/core/gaps.ts";
import { createIdSource } from "../../src/core/id.ts";
import { type Log, silentLog } from "../../src/core/log.ts";
import type { AttemptRecord } from "../../src/core/ports/dispatch.ts";
import type { Signals } from "../../src/core/ports/signals.ts";
import type { Store } from "../../src/core/ports/store.ts";
import type { Decision, Destination, PlannedDelivery, Route } from "../../src/core/rules.ts";
import { Secret } from "../../src/core/secret.ts";
import { createComposer } from "../../src/delivery/lane/compose.ts";
import { createTryRules } from "../../src/explain/backtest.ts";
import { createBodyExplainer } from "../../src/explain/explain-body.ts";
import { createRouteAgain } from "../../src/explain/route-again.ts";
import { openMuteBook } from "../../src/operations/mute-book.ts";
import { createOperations } from "../../src/operations/operations.ts";
import { createRouter } from "../../src/routing/router.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { createTokenCheck } from "../../src/web/access/token-check.ts";
import { createWeb } from "../../src/web/web.ts";
import type { WebDeps } from "../../src/web/web-deps.ts";
import {
  request as acceptable,
  attemptOf,
  claimOf,
  findUnrouted,
  planned,
  routed,
} from "../conformance/store/scene-samples.ts";
import { chat, facts, route as routeTo } from "../routing/sample.ts";
import { takeLane } from "./lane.ts";
import { createLocalReader } from "./reader.ts";
import { createRendering } from "./rendering.ts";
import { makeTempFolder } from "./temp-folder.ts";
import { createTestClock, type TestClock } from "./test-clock.ts";

export const adminToken = "canary-admin-token-9f3b1c77aa";
export const hookSecret = "canary-hook-secret-51c0de";

export type WebFixture = Awaited<ReturnType<typeof createWebFixture>>;

/** Several values where a field is sent several times. */
type SentFields = Record<string, string | string[]>;

export interface AlertInput {
  facts?: Partial<AlertFacts>;
  body?: string | Uint8Array;
  headers?: [string, string][];
  contentType?: string;
  dedupeKey?: string;
  deliveries?: Partial<PlannedDelivery>[];
  decisions?: Decision[];
  /** See `RoutingRecord`. */
  repeatWindowMs?: number;
  /** Left as it was accepted. */
  unrouted?: boolean;
}

export interface WebFixtureOptions extends Partial<WebDeps> {
  silence?: SilenceView[];
  canary?: CanaryView;
  /** Default: none. */
  routes?: Route[];
  configuration?: SystemView["configuration"];
  doorRefusals?: DoorRefusalView[];
  relays?: RunningRelay[];
  /** How it hears of them. Default: there can be none. */
  hearing?: Signals["hearing"];
  clock?: TestClock;
  log?: Log;
  /** The statuses of `ops` and `treasury`; default: well. */
  statuses?: Record<string, Partial<Omit<DestinationStatus, "kind">>>;
  /** What the watch over the account has heard. Default: nothing. */
  account?: Partial<AccountView>;
  sources?: SourceView[];
  watches?: WatchView[];
  putBack?: Operations["putBackOutputs"];
  /** What a destination says when it is tried. Default: that it works. */
  probe?: Outcome;
  /** Default: none have come. */
  shapes?: ShapesView;
  /** Default: it has not been looked. */
  gaps?: GapReport;
  checkGaps?: Operations["checkGaps"];
  /** Default: a relay has always run. */
  downtimes?: Downtime[];
}

/** What a page says, without its tags. */
export const plain = (page: string) =>
  page
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll("&#39;", "'")
    .replaceAll(/\s+/g, " ");

/** What a page says of its own, a line for each paragraph, row and fact. */
export const linesOf = (page: string) =>
  page
    .slice(page.indexOf("<main"))
    .split(/<\/(?:p|li|tr|dd|h\d|summary)>/)
    .map((part) => plain(part).trim())
    .join("\n");

export const route = (name: string, over?: Partial<Route>): Route => routeTo(name, ["ops"], over);

/** The pages over a real store in a folder of their own, with the real operations behind them. */
export async function createWebFixture(options: WebFixtureOptions = {}) {
  const { clock = createTestClock(), sources = [], relays = [], watches = [], silence = [] } = options;
  const doorRefusals = options.doorRefusals ?? [];
  const newId = createIdSource(clock.now);
  const store = openLocalStore({ path: join(makeTempFolder(), "tocsin.db"), ballastBytes: 0, now: clock.now });
  const { countOverTime } = store;
  // A page gives it a few milliseconds, in which a busy machine counts as many steps as it can.
  store.countOverTime = (steps) => countOverTime(steps, Number.POSITIVE_INFINITY);
  const configured = [chat("ops"), chat("treasury")];
  const stateOf = (destination: Destination): DestinationState => ({
    destination,
    own: {
      ...{ kind: "destination", name: destination.name, health: "ok", reason: "", since: 0, failures: 0 },
      ...options.statuses?.[destination.name],
    },
  });
  const states = configured.map(stateOf);
  const mutes = await openMuteBook({ store, configured: [], clock, newId, log: silentLog });
  const reader = { ...createLocalReader(), problem: () => undefined };
  const rules = { destinations: configured, routes: options.routes ?? [], mutes: [] };
  const router = createRouter(rules);
  const explaining = { router, destinations: configured, activeMutes: () => [], now: clock.now };
  const publicUrl = "http://tocsin.test";
  const composer = createComposer({ rendering: createRendering({ publicUrl }), log: silentLog, publicUrl });
  const outcome: Outcome = options.probe ?? { kind: "sent" };
  const maxBodyBytes = 1024 * 1024;
  const operations = createOperations({
    ...{
      store,
      inbox: store,
      destinations: configured,
      routes: rules.routes,
      mutes,
      reader,
      clock,
      newId,
      log: silentLog,
    },
    parts: {
      tryBody: createBodyExplainer({ ...explaining, reader, composer, sources, maxBodyBytes, newId }),
      routeAgain: createRouteAgain(explaining),
      downtimes: async () => options.downtimes ?? [],
      maxBodyBytes,
      shapes: async () => options.shapes ?? { kinds: [], unfollowed: { unknown: 0, without: 0 } },
      routeNames: () => ["critical", "all"],
      ...{ doorRefusals: () => doorRefusals, sources: () => sources, relays: () => relays },
      ...{ watches: () => watches, silence: () => silence, canary: () => options.canary },
    },
    engine: {
      tryNow: async () => ({ kind: "probed", outcome }),
      lastTurnAt: clock.now,
      laneTurns: () => [],
      configuration: () => "newest",
      async setPause(name, by) {
        const own = states.find(({ destination }) => destination.name === name)?.own;
        if (own !== undefined) own.paused = by === undefined ? undefined : { at: clock.now(), by };
        return own !== undefined;
      },
      statuses: () => states,
      figures: { attempts: [], refusedMessages: [], seconds: [] } as never,
    },
    configuration: () => options.configuration ?? { onDisk: "none" },
    retention: { maxAgeMs: 90 * 86_400_000 },
    sourcesHere: () => [],
    keyOfRefused: () => undefined,
    counters: { door: {}, routing: { givenUp: 0, repeats: 0, senderLag: {} as never } },
    ...{ version: "0.0.0", runsSince: clock.now(), socketIsHeld: false, stopping: new AbortController().signal },
    hearing: options.hearing,
    account: { serviceConfigured: options.account?.serviceConfigured ?? false },
    accountWatchOf: () => ({
      known: () => ({ canPutBack: false, ...options.account }),
      putBack: async () => (await options.putBack?.()) ?? "unchanged",
    }),
    gapWatchOf: (source) => {
      const check = options.checkGaps;
      if (check === undefined && options.gaps === undefined) return undefined;
      return { report: async () => options.gaps, check: async (window) => check?.(window, source) as never };
    },
    market: () => [],
  });
  const tryRules = createTryRules({ store, reader, listMutes: () => operations.listMutes(true) });
  const web = await createWeb({
    store,
    operations,
    adminToken: new Secret(adminToken),
    tokenCheck: createTokenCheck({ adminToken: new Secret(adminToken), store, clock }),
    publicUrl: "http://tocsin.test",
    hookUrl: () => new Secret(`${options.publicUrl ?? "http://tocsin.test"}/hooks/${hookSecret}`),
    trustedProxies: [],
    behindFly: false,
    tryFile: async (text, from) => tryRules(readOtherRules(text, rules), from),
    newId,
    log: silentLog,
    ...options,
    clock,
  });
  onTestFinished(async () => {
    web.close();
    await store.close();
  });
  const request = async (path: string, init?: RequestInit) =>
    web.fetch(new Request(`http://tocsin.test${path}`, init), {});

  const sameOrigin = { origin: "http://tocsin.test" };
  /** A browser that has logged in; its cookie goes with each request. */
  async function logIn() {
    const headers = { ...sameOrigin, host: "tocsin.test" };
    const body = new URLSearchParams({ token: adminToken });
    const answer = await request("/login", { method: "POST", headers, body });
    const cookie = (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
    const get = (path: string, init: RequestInit = {}) =>
      request(path, { ...init, headers: { cookie, ...init.headers } });
    return {
      cookie,
      get,
      /** A form of ours: same origin, with the form token of its page. */
      async post(path: string, fields: SentFields = {}, headers: Record<string, string> = {}) {
        const page = await (await get("/mutes")).text();
        const token = /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? "";
        const sent = new URLSearchParams();
        for (const [name, value] of Object.entries({ form_token: token, ...fields }))
          for (const one of [value].flat()) sent.append(name, one);
        return request(path, { method: "POST", headers: { cookie, ...sameOrigin, ...headers }, body: sent });
      },
    };
  }

  let first: ReturnType<typeof logIn> | undefined;
  const theFirst = () => {
    first ??= logIn();
    return first;
  };
  return {
    /** The first who logs in: when one of these asks for a page. `read` gives its text. */
    get: async (...asked: [path: string, init?: RequestInit]) => (await theFirst()).get(...asked),
    post: async (...asked: [path: string, fields?: SentFields, headers?: Record<string, string>]) =>
      (await theFirst()).post(...asked),
    read: async (path: string) => (await (await theFirst()).get(path)).text(),
    ...{ web, store, clock, operations, destinations: states, ask: request },
    /** With the admin token. */
    api: (path: string, init: RequestInit = {}) =>
      request(path, { ...init, headers: { authorization: `Bearer ${adminToken}`, ...init.headers } }),
    /** A browser that has logged in; its cookie goes with each request. */
    logIn,
    addAlert: (input: AlertInput = {}) => addAlert(store, clock.now(), newId, input),
    /** Routes one that was left unrouted. */
    routeAlert: (alert: Alert, input: AlertInput = {}) => routeAlert(store, clock.now(), alert, input),
  };
}

/** Accepts and routes one alert, as intake and routing would. */
export async function addAlert(store: Store, now: number, newId: () => string, input: AlertInput): Promise<Alert> {
  const { body = "{}", headers, contentType, dedupeKey } = input;
  const id = newId();
  const asked = { receivedAt: now, ids: [id], dedupeKey, dedupeWindowMs: 3_600_000 };
  const told = {
    ...(contentType !== undefined && { contentType }),
    ...(headers && { headers: JSON.stringify(headers) }),
  };
  await store.acceptRequest(acceptable({ ...asked, ...told, body: Buffer.from(body as string) }));
  const { seq } = await findUnrouted(store, id);
  const alert: Alert = { id, seq, origin: "hook", receivedAt: now, facts: facts(input.facts) };
  if (input.unrouted !== true) await routeAlert(store, now, alert, input);
  return alert;
}

async function routeAlert(store: Store, now: number, { seq, facts }: Alert, input: AlertInput): Promise<void> {
  const usual = { recipient: "-1001234567890", reason: "the route takes every alert", dueAt: now };
  const deliveries = (input.deliveries ?? [{}]).map((over) =>
    planned(over.destination ?? "ops", { ...usual, ...over }),
  );
  const decisions: Decision[] =
    input.decisions ??
    deliveries.map(({ route, destination, reason }) => ({ route, destination, result: "deliver", reason }));
  const { repeatWindowMs } = input;
  await store.recordRouting([routed(seq, { facts, decisions, deliveries, routedAt: now, repeatWindowMs })]);
  await store.maintain?.(now);
}

/** One attempt at every due delivery of a destination, with the step that follows. */
export async function attempt(
  store: Store,
  destination: string,
  now: number,
  record: Partial<AttemptRecord> & { outcome: AttemptRecord["outcome"]; next: NextStep },
): Promise<void> {
  const due = await store.listDue(destination, now, 100);
  const lane = await takeLane(store);
  for (const delivery of due) {
    const token = `claim-${delivery.id}-${now}`;
    await store.claimDeliveries(lane, claimOf(token, delivery.seq), []);
    const call = { at: now, durationMs: 240, progress: { refs: [] }, ...record };
    await store.recordAttempt(lane, attemptOf(token, [delivery.seq], call), []);
  }
}
