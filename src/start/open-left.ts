import type { Config } from "../config/config.ts";
import type { UpstreamAccess } from "../config/upstream-env.ts";
import { createLogAnswers, type LogAnswersDeps } from "../contract/log-answers.ts";
import type { DestinationView } from "../contract/operations.ts";
import type { Clock, Now, Random } from "../core/clock.ts";
import type { StatusKey } from "../core/destination-status.ts";
import { stateOf } from "../delivery/plan/health.ts";
import { createGetAlert } from "../explain/processing.ts";
import { listMutes } from "../operations/mute-book.ts";
import { type KnownNames, readTokenNames } from "../operations/name-book.ts";
import { findRefused } from "../operations/refused.ts";
import { viewDestinations, viewLog } from "../operations/views.ts";
import { openReadOnly, type ReadOnlyStore } from "../store/open-read-only.ts";
import { learnsNames } from "./open-market.ts";

export type LeftLog = Awaited<ReturnType<typeof openLeft>>;

export interface LeftLogOptions extends Pick<Clock, "now" | "sleep"> {
  publicUrl: string;
  /** The account whose records are compared with the log. Throws where no account is known. */
  accountOf(source?: string): UpstreamAccess;
  random: Random;
  signal: AbortSignal;
}

/** The routes that the log of a stopped relay can answer. Read only. @throws as `openReadOnly` does */
export async function openLeft(config: Config, options: LeftLogOptions) {
  const store = await openReadOnly(config);
  const answers = createLogAnswers({
    store: { ...store, getAlert: createGetAlert(store) },
    operations: {
      listMutes: (includeEnded) => listMutes(store, config.rules.mutes, options.now(), includeEnded),
      listRefused: store.listRefused,
      findRefused: (id) => findRefused(store, id),
      checkGaps: createLeftGapCheck(store, config, options),
      destinations: () => viewLeft(store, config, options.now),
    },
    learnedName: (await readNames(store, config)).find,
    publicUrl: options.publicUrl,
    clock: options,
  });
  return { answers, store, close: () => store.close() };
}

function createLeftGapCheck(
  store: ReadOnlyStore,
  { retention }: Config,
  { accountOf, now, sleep, random, signal }: LeftLogOptions,
): LogAnswersDeps["operations"]["checkGaps"] {
  const clock = { now, sleep };
  return async (window, source) => {
    const access = accountOf(source);
    const [{ createAlertingClient }, { GapCheck, gapCalls }, { loadGapMemory }, { readDowntimes }] = await Promise.all([
      import("../upstream/alerting-client.ts"),
      import("../watch/gaps/gap-check.ts"),
      import("../watch/gaps/gap-watch.ts"),
      import("../watch/running-times.ts"),
    ]);
    const service = createAlertingClient({ ...access, ...clock, random, ...gapCalls });
    const { known, offs, ends } = await loadGapMemory(store, now(), source);
    const memory = { known, save: async () => {} };
    const check = new GapCheck({ service, store, clock, keptForMs: retention.maxAgeMs, source, memory });
    const downtimes = await readDowntimes(store, now());
    return check.check({ ...window, downtimes, offs, ends }, signal);
  };
}

/** Only a running relay knows whether new alerts are refused for lack of room. @throws as `openReadOnly` does */
export async function readLeftStatus(config: Config, now: Now) {
  const store = await openReadOnly(config);
  try {
    const destinations = await viewLeft(store, config, now);
    const log = viewLog(await store.health(), await store.countAlerts(), destinations, config.retention);
    const { full: _, ...disk } = log.disk;
    return { ...log, disk };
  } finally {
    await store.close();
  }
}

async function viewLeft(store: ReadOnlyStore, { rules }: Config, now: Now): Promise<DestinationView[]> {
  const saved = await store.loadStatuses();
  const find = ({ kind, name }: StatusKey) => saved.find((status) => status.kind === kind && status.name === name);
  const states = rules.destinations.map((one) => stateOf(one, find, now()));
  return viewDestinations(states, await store.countByDestination());
}

/** The names that the relay here has learned. None where they cannot be read: the alert is shown without names. */
export async function readNames(store: Pick<ReadOnlyStore, "loadWatchState">, config: Config): Promise<KnownNames> {
  const none: KnownNames = { nameOf: () => undefined, symbolOf: () => undefined, find: () => undefined };
  return learnsNames(config) ? readTokenNames(store).catch(() => none) : none;
}
