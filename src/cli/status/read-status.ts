import type { Config } from "../../config/config.ts";
import type { StatusKey } from "../../core/destination-status.ts";
import { AppError } from "../../core/errors.ts";
import type { StorePlace } from "../../core/store-place.ts";
import { databasePlace } from "../../ground/net/database-place.ts";
import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import { DatabaseMissing, openReadOnly, type ReadOnlyStore } from "../relay/open-read-only.ts";
import type { DestinationOnWire, StatusOnWire } from "../relay/relay-client.ts";
import { RelayUnreachable } from "../relay/relay-transport.ts";

/** What is known without a relay. */
type LogOnWire = Omit<
  StatusOnWire,
  "relay" | "relays" | "troubles" | "account" | "sources" | "watches" | "silence" | "canary" | "spool"
>;

/**
 * What the relay says under `/api/status`; without one, what its database holds; else nothing but that it does not
 * run.
 */
export interface RelayStatus extends Partial<Omit<StatusOnWire, "destinations" | "disk">> {
  running: boolean;
  ready: boolean;
  url: string;
  publicUrl?: string;
  /** Absent with PostgreSQL. */
  dataDir?: string;
  /** `PostgreSQL tocsin at db.example.com:5432`; absent: SQLite in the folder. */
  database?: string;
  /** The parts `alerts`, `queue` and `disk` in one, under the names that scripts know. */
  store: StoreStatus;
  destinations: DestinationOnWire[];
  /** Whether it is full is known of a relay alone. */
  disk?: Omit<StatusOnWire["disk"], "full"> & { full?: boolean };
}

export interface StoreStatus {
  /** All that were ever accepted. */
  alerts?: number;
  /** Those that were not removed since. */
  kept?: number;
  oldestReceivedAt?: string;
  lastReceivedAt?: string;
  /** Accepted, and not decided about yet. */
  unrouted?: number;
  /** Since when the oldest of them waits. */
  oldestUnroutedAt?: string;
  databaseBytes?: number;
  freeBytes?: number;
  /** New alerts are refused until there is room. Absent without a relay. */
  diskFull?: boolean;
}

/** From the running relay; when none answers here, from the database that it left. */
export async function readStatus(run: RelayRun): Promise<RelayStatus> {
  const { client, isElsewhere, loadConfig } = await connectRelay(run);
  const config = isElsewhere ? undefined : await loadConfig();
  const place = { url: client.url, publicUrl: config?.server.publicUrl, ...(config && placeOf(config)) };
  try {
    // Needs no token: where none is known, that nobody answers is still the news.
    await client.isReady();
    const status = await client.readStatus();
    const { relay, account, disk } = status;
    return {
      ...place,
      publicUrl: account.publicUrl,
      running: true,
      ready: relay.ready,
      ...status,
      store: { ...toStore(status), diskFull: disk.full },
    };
  } catch (error) {
    if (!(error instanceof RelayUnreachable)) throw error;
    await run.output.note(error.message);
    const stopped = { ...place, running: false, ready: false };
    const left = config && (await readLeft(run, config));
    if (left === undefined) return { ...stopped, store: {}, destinations: [] };
    return { ...stopped, ...left, disk: { ...left.disk, full: undefined }, store: toStore(left) };
  }
}

function placeOf({ databaseUrl, dataDir }: StorePlace): Pick<RelayStatus, "dataDir" | "database"> {
  if (databaseUrl === undefined) return { dataDir };
  return { database: `PostgreSQL ${databasePlace(databaseUrl.reveal())}` };
}

function toStore({ alerts, queue, disk }: LogOnWire): StoreStatus {
  const { unrouted, oldestUnroutedAt } = queue;
  const { databaseBytes, freeBytes } = disk;
  const { total, kept, oldestReceivedAt, lastReceivedAt } = alerts;
  return {
    alerts: total,
    kept,
    oldestReceivedAt,
    lastReceivedAt,
    unrouted,
    oldestUnroutedAt,
    databaseBytes,
    freeBytes,
  };
}

/** What the relay left in its database; nothing where that cannot be read, and a note says why. */
async function readLeft({ output, context }: RelayRun, config: Config): Promise<LogOnWire | undefined> {
  let store: ReadOnlyStore;
  try {
    store = await openReadOnly(config);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // No relay has run here yet: that nothing answers says it all.
    if (!(error instanceof DatabaseMissing)) await output.note(error.message);
    return undefined;
  }
  try {
    const { viewDestinations, viewLog } = await import("../../operations/views.ts");
    const { viewDestination } = await import("../../contract/make-views.ts");
    const { logView } = await import("../../contract/views.ts");
    const { encode } = await import("../../contract/encode.ts");
    const { stateOf } = await import("../../delivery/plan/health.ts");
    const saved = await store.loadStatuses();
    const find = ({ kind, name }: StatusKey) => saved.find((status) => status.kind === kind && status.name === name);
    const states = config.rules.destinations.map((one) => stateOf(one, find, context.now()));
    const destinations = viewDestinations(states, await store.countByDestination());
    const log = viewLog(await store.health(), await store.countAlerts(), destinations, config.retention);
    return encode(logView, { ...log, destinations: destinations.map(viewDestination) });
  } finally {
    await store.close();
  }
}
