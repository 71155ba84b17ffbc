import { statfs } from "node:fs/promises";
import type { Config } from "../../config/config.ts";
import { AppError } from "../../core/errors.ts";
import type { DestinationView } from "../../core/operations.ts";
import type { Store } from "../../core/store.ts";
import { connectRelay, type RelayConnection, type RelayRun } from "../connect-relay.ts";
import { openDatabaseFile } from "../open-database-file.ts";
import { RelayUnreachable } from "../relay-failure.ts";
import type { DestinationOnWire } from "../wire.ts";
import { readStoreMetrics } from "./read-metrics.ts";

export interface StoreStatus {
  /** All that were ever accepted. Absent for a relay elsewhere. */
  alerts?: number;
  lastReceivedAt?: string;
  /** Accepted, and not decided about yet. */
  unrouted?: number;
  /** Since when the oldest of them waits. */
  oldestUnroutedAt?: string;
  databaseBytes?: number;
  /** Room on the disk of the data folder. Absent for a relay elsewhere. */
  freeBytes?: number;
  /** New alerts are refused until there is room. */
  diskFull?: boolean;
}

export interface RelayStatus {
  running: boolean;
  ready: boolean;
  url: string;
  publicUrl?: string;
  dataDir?: string;
  store: StoreStatus;
  destinations: DestinationOnWire[];
}

type Left = Pick<RelayStatus, "store" | "destinations">;

/** From the running relay; when none answers here, from the database that it left. */
export async function readStatus(run: RelayRun): Promise<RelayStatus> {
  const connection = await connectRelay(run);
  const config = connection.isElsewhere ? undefined : await connection.loadConfig();
  const place = { url: connection.client.url, publicUrl: config?.server.publicUrl, dataDir: config?.dataDir };
  try {
    const ready = await connection.client.isReady();
    return { running: true, ready, ...place, ...(await askRelay(connection, config, run)) };
  } catch (error) {
    if (!(error instanceof RelayUnreachable)) throw error;
    await run.output.note(error.message);
    const left = config === undefined ? { store: {}, destinations: [] } : await readLeft(config);
    return { running: false, ready: false, ...place, ...left };
  }
}

async function askRelay(
  { client }: RelayConnection,
  config: Config | undefined,
  { context }: RelayRun,
): Promise<Left> {
  const { alerts } = await client.listAlerts({}, { limit: 1 });
  const metrics = readStoreMetrics(await client.readMetrics());
  const oldest = metrics.unrouted ? metrics.oldestUnroutedSeconds : undefined;
  const store: StoreStatus = {
    ...(config === undefined ? {} : await readLocal(config)),
    lastReceivedAt: alerts[0]?.receivedAt,
    unrouted: metrics.unrouted,
    oldestUnroutedAt:
      oldest === undefined ? undefined : new Date(context.now() - oldest * 1_000).toISOString(),
    databaseBytes: metrics.databaseBytes,
    diskFull: metrics.isDiskFull,
  };
  return { store, destinations: await client.listDestinations() };
}

/** What the API does not tell: the number of alerts and the room on the disk. */
async function readLocal(config: Config): Promise<StoreStatus> {
  return withDatabase<StoreStatus>(config, {}, async (store) => ({
    alerts: (await store.countAlerts()).total,
    freeBytes: await readFreeBytes(config.dataDir),
  }));
}

async function readLeft(config: Config): Promise<Left> {
  const { destinationToWire } = await import("../../web/api/to-wire.ts");
  return withDatabase<Left>(config, { store: {}, destinations: [] }, async (store) => {
    const { total, lastReceivedAt } = await store.countAlerts();
    const { unrouted, oldestUnroutedAt, databaseBytes } = await store.health();
    const toIso = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());
    return {
      store: {
        alerts: total,
        lastReceivedAt: toIso(lastReceivedAt),
        unrouted,
        oldestUnroutedAt: toIso(oldestUnroutedAt),
        databaseBytes,
        freeBytes: await readFreeBytes(config.dataDir),
      },
      destinations: (await viewLeft(config, store)).map(destinationToWire),
    };
  });
}

/** The destinations as the relay left them. */
async function viewLeft({ rules }: Config, store: Store): Promise<DestinationView[]> {
  const { viewDestinations } = await import("../../operations/view-destinations.ts");
  const { accountOf } = await import("../../delivery/accounts.ts");
  const { newStatus } = await import("../../delivery/health.ts");
  const kept = new Map((await store.loadStatuses()).map((status) => [status.name, status]));
  const states = rules.destinations.map((destination) => ({
    destination,
    own: kept.get(destination.name) ?? newStatus(destination.name, 0),
    account: kept.get(accountOf(destination) ?? ""),
  }));
  return viewDestinations(states, await store.countByDestination());
}

async function withDatabase<T>(config: Config, otherwise: T, read: (store: Store) => Promise<T>): Promise<T> {
  let store: Store;
  try {
    store = await openDatabaseFile(config.dataDir);
  } catch (error) {
    // Not there, or of another version: what the relay itself says is still worth showing.
    if (error instanceof AppError) return otherwise;
    throw error;
  }
  try {
    return await read(store);
  } finally {
    await store.close();
  }
}

async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
