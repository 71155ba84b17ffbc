import { registrationRecord } from "../config/account-records.ts";
import type { Config } from "../config/config.ts";
import type { UpstreamAccess } from "../config/upstream-env.ts";
import type { Readiness } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { Administration } from "../core/ports/administration.ts";
import type { WatchState } from "../core/ports/watch.ts";
import { isActive, type Mute } from "../core/rules.ts";
import { Secret } from "../core/secret.ts";
import { readRoom } from "../ground/files/disk-room.ts";
import { mostReceiptKeys, writeMuteReceipt } from "../rendering/mute-receipt.ts";
import { isFull } from "../store/postgres/store-error.ts";
import type { UpstreamClientOptions } from "../upstream/requester.ts";
import type { AccountWatch } from "../watch/account-watch.ts";
import { type ConfigurationWatchDeps, openConfigurationWatch } from "../watch/configuration.ts";
import { type DiskSight, openDiskWatch } from "../watch/disk.ts";
import type { GapWatch } from "../watch/gaps/gap-watch.ts";
import { openHeartbeatWatch } from "../watch/heartbeat.ts";
import { openMuteReceipts } from "../watch/mute-receipts.ts";
import { type HookSight, RefusalWatch } from "../watch/refusals.ts";
import { createRetention } from "../watch/retention.ts";
import { openRunningTimes, type RunningTimes } from "../watch/running-times.ts";
import { ShapeWatch } from "../watch/shapes.ts";
import type { Common } from "./relaying.ts";

export interface WatchesDeps extends Common {
  notify(facts: AlertFacts, watch?: WatchState, to?: string): Promise<void>;
  configuration: ConfigurationWatchDeps["configuration"];
  /** Other relays accept and route as well. */
  isShared: boolean;
  /** Since when some relay has run on this store, epoch milliseconds. */
  ranSince(): number;
  /** The mutes that were made at run time and are in force now. */
  activeMutes(): Mute[];
  /** The secrets that the door accepts now for a source's hook, or for the account's, the current one first. */
  hookSecrets(source?: string): readonly Secret[];
  /** What came to the hooks of sources, of all relays together, by name. */
  hooks(): ReadonlyMap<string, HookSight>;
  /** Whether the id that a door answers belongs to this relay, or to one on the same database. */
  isOwnRelay(id: string): Promise<boolean>;
  readiness(): Promise<Readiness>;
  /** Requests that the door could not store since this relay started. */
  countStoreRefused(): number;
  askForShape(id: string): void;
}

export type Watches = Awaited<ReturnType<typeof openWatches>>;

/** Builds the duties of `watch/` that the configuration asks for. Most are loaded only then. */
export async function openWatches(config: Config, deps: WatchesDeps) {
  const { store, clock, log, publicUrl, isShared } = deps;
  const { rules, retention } = config;
  const activeMutes = () => [...rules.mutes.filter((mute) => isActive(mute, clock.now())), ...deps.activeMutes()];
  const accounts = new Map<string | undefined, AccountWatch>();
  const senders = [undefined, ...config.sources.map(({ name }) => name)];
  const gaps = new Map<string | undefined, GapWatch>();
  const running = await openRunningTimes(isShared ? deps : { store, clock, log });
  for (const source of senders) {
    const account = await openAccountWatch(config, deps, source);
    if (account !== undefined) accounts.set(source, account);
    const ofGaps = await openGaps(config, { ...deps, activeMutes }, running, source);
    if (ofGaps !== undefined) gaps.set(source, ofGaps);
  }
  const shapes = await new ShapeWatch({
    ...deps,
    routes: rules.routes,
    readBy: JSON.stringify([config.mapping, config.sources.map(({ name, mapping }) => [name, mapping])]),
  }).open();
  /** A source is another sender: the account of the environment says nothing about it. */
  const describeAccount = (source?: string) => {
    const view = accounts.get(senders.includes(source) ? source : undefined)?.view();
    return view === undefined || view.verdict === "idle" ? undefined : [view.summary, ...view.troubles].join(" ");
  };
  const silence =
    config.silence.length === 0
      ? undefined
      : await new (await import("../watch/silence.ts")).SilenceWatch({
          ...deps,
          rules: config.silence,
          sources: config.sources.map(({ name }) => name),
          activeMutes,
          describeAccount,
        }).open();
  const canary =
    config.canary === undefined
      ? undefined
      : await new (await import("../watch/canary.ts")).Canary({
          ...deps,
          schedule: config.canary,
          hookUrl: () => new Secret(`${publicUrl}/hooks/${deps.hookSecrets()[0]?.reveal()}`),
          findSpoiling: (stop) => findSpoiling(config, deps, stop),
          findAlert: store.getAlert,
          activeMutes,
        }).open();
  const checked = config.sources.filter(({ checks }) => checks.length > 0).map(({ name }) => name);
  const refusals =
    checked.length === 0
      ? undefined
      : await new RefusalWatch({
          ...deps,
          hooks: () => new Map([...deps.hooks()].filter(([name]) => checked.includes(name))),
        }).open();
  const receipts = await openMuteReceipts({
    ...deps,
    configured: rules.mutes.filter(({ isDisabled }) => !isDisabled),
    destinations: new Set(rules.destinations.map(({ name }) => name)),
    write: (mute, silenced) => writeMuteReceipt(mute, silenced, publicUrl),
    mostKeys: mostReceiptKeys,
  });
  const given = { ...deps, activeMutes, lookAtDisk: () => lookAtDisk(config, store) };
  const others = await Promise.all([
    openDiskWatch(config, given),
    openConfigurationWatch(config, given),
    openHeartbeatWatch(config, given),
  ]);
  const list = [...accounts.values(), refusals, ...gaps.values(), ...others].filter((watch) => watch !== undefined);
  const duties = [
    createRetention({ store, rules: retention, clock, log }),
    running,
    shapes,
    silence,
    canary,
    receipts,
    ...list,
  ];
  return {
    /** In the order in which people see them. */
    list,
    /** Keyed by source. `undefined`: the account of the environment. */
    accounts,
    gaps,
    shapes,
    /** Absent: no silence is reported. */
    silence,
    canary,
    async run(stop: AbortSignal): Promise<void> {
      await Promise.all(duties.map((duty) => duty?.run(stop)));
    },
  };
}

async function findSpoiling(
  { intake }: Config,
  { hookSecrets, publicUrl }: WatchesDeps,
  stop: AbortSignal,
): Promise<string | undefined> {
  const [secret] = hookSecrets();
  if (secret === undefined) return undefined;
  const upstream = await import("../upstream/prove-address.ts");
  const url = `${publicUrl}/hooks/${secret.reveal()}`;
  return upstream.findSpoiling(url, secret, intake.maxBodyBytes, stop).catch(() => undefined);
}

/** How the relay asks a watched account. Undefined: the source has none. Default: the account of the environment. */
export function accountAccess({ watch, upstream, sources }: Config, source?: string) {
  if (!watch.enabled) return undefined;
  return source === undefined ? upstream.alerting : sources.find(({ name }) => name === source)?.account;
}

async function connect(access: UpstreamAccess, deps: WatchesDeps, how: Partial<UpstreamClientOptions>) {
  const { createAlertingClient } = await import("../upstream/alerting-client.ts");
  const { clock, random } = deps;
  return createAlertingClient({ ...access, now: clock.now, sleep: clock.sleep, random, ...how });
}

export async function openAccountWatch(
  config: Config,
  deps: WatchesDeps,
  source?: string,
): Promise<AccountWatch | undefined> {
  const { watch, server } = config;
  const access = accountAccess(config, source);
  if (access === undefined) return undefined;
  const { AccountWatch } = await import("../watch/account-watch.ts");
  const { findRelayAt } = await import("../upstream/prove-address.ts");
  // Two attempts are enough: the next look asks again.
  const service = await connect(access, deps, { retry: { attempts: 2 }, maxAnswerBytes: 1024 * 1024 });
  const { everyMs, putBack } = watch;
  const hookSecrets = () => deps.hookSecrets(source);
  async function answersAt(url: string): Promise<boolean> {
    const relay = await findRelayAt(url, hookSecrets());
    return relay !== undefined && deps.isOwnRelay(relay).catch(() => false);
  }
  return new AccountWatch(
    { ...deps, answersAt, hookSecrets, service, registration: registrationRecord(deps.store.kept, source) },
    { source, publicUrl: server.publicUrl, pageUrl: `${deps.publicUrl}/setup`, everyMs, putBack },
  );
}

/** With PostgreSQL the room of this machine is for its spool, if it has one. */
async function lookAtDisk({ spool }: Config, store: WatchesDeps["store"]): Promise<DiskSight> {
  const { full, freeBytes, diskBytes } = await lookAtStore(store);
  return { full, ...(spool === undefined ? { freeBytes, diskBytes } : readRoom(spool.dir)) };
}

/** A full disk of a database server may refuse even the look. */
export async function lookAtStore(store: Pick<Administration, "health">): Promise<DiskSight> {
  try {
    return await store.health();
  } catch (error) {
    if (isFull((error as Error).cause)) return { full: true };
    throw error;
  }
}

/** Has its own client, since it reads much more than the account watch and is in no hurry. */
export async function openGaps(
  config: Config,
  deps: WatchesDeps,
  { downtimes }: Pick<RunningTimes, "downtimes">,
  source?: string,
): Promise<GapWatch | undefined> {
  const { watch, retention } = config;
  const { gapsEveryMs: everyMs } = watch;
  const access = accountAccess(config, source);
  if (access === undefined || everyMs === undefined) return undefined;
  const { openGapWatch } = await import("../watch/gaps/gap-watch.ts");
  const { gapCalls } = await import("../watch/gaps/gap-check.ts");
  const service = await connect(access, deps, gapCalls);
  const registration = registrationRecord(deps.store.kept, source);
  async function readOff() {
    const registered = await registration.read();
    return { isOff: registered?.webhookOff === true, at: registered?.at ?? deps.clock.now() };
  }
  return openGapWatch({ ...deps, service, downtimes, readOff, keptForMs: retention.maxAgeMs, source }, { everyMs });
}
