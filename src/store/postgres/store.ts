import { randomUUID } from "node:crypto";
import { createIdSource } from "../../core/id.ts";
import type { SharedAllowances } from "../../core/ports/shared.ts";
import type { Hearing, SignalTopic } from "../../core/ports/signals.ts";
import type { Store } from "../../core/ports/store.ts";
import { databasePlace } from "../../ground/net/database-place.ts";
import { createSignalHub } from "../signals.ts";
import { createSharedTransactions } from "../transactions/index.ts";
import { createAccepting } from "./accepting.ts";
import { createAdministering } from "./administering.ts";
import { type ConnectOptions, connect, placeOf } from "./connect.ts";
import { createKeptRecords } from "./kept-records.ts";
import { createLog } from "./log.ts";
import { migrate, requireNewest } from "./migrate.ts";
import { Notices } from "./notify.ts";
import { toText } from "./parameters.ts";
import { createReading } from "./reading.ts";
import { createRelays } from "./relays.ts";
import { createRouting } from "./routing.ts";
import { bindJoint } from "./sharing.ts";
import { toOpenError } from "./store-error.ts";
import { bindShared, postgresDialect } from "./tx.ts";

export interface PostgresStoreOptions
  extends Pick<ConnectOptions, "url" | "answerWithinMs" | "machineClock" | "onClockCorrected" | "onAway" | "onStored"> {
  /** The name under which this relay claims alerts to route. The same after a restart, and different from other relays. */
  relayName: string;
  /** The id under which this process is announced. Default: a new one, for a process that is not announced. */
  relayId?: string;
  /** The schema must exist already, and is not changed. Default false. */
  isExisting?: boolean;
  /** The same database for `LISTEN` alone, where `url` leads through a pooler. Default: `url`, where it can carry `LISTEN`. */
  listenUrl?: string;
  /** See `NoticesDeps`. */
  onHearing?(hearing: Hearing): void;
  /** Called with the error that a listener of `subscribe` throws. */
  onListenerFailed?(topic: SignalTopic, error: unknown): void;
}

/** Tests make other modules of this folder from it, without the whole store. */
export type PostgresDatabase = Awaited<ReturnType<typeof openPostgresDatabase>>;

/**
 * Connects, and brings the schema up to date.
 * @throws AppError `store_too_new` when a newer Tocsin wrote it, `store_unavailable` when it cannot be reached or must not be
 * used, `config_invalid` for a wrong address.
 */
export async function openPostgresDatabase(options: PostgresStoreOptions) {
  const { relayName, isExisting = false, listenUrl, onHearing, onListenerFailed, ...ofConnections } = options;
  const hub = createSignalHub(onListenerFailed);
  let notices: Notices | undefined;
  const connections = await connect({
    ...ofConnections,
    name: `tocsin ${relayName}`.slice(0, 63),
    onCommitted: (notes) => notices?.tell(notes),
  });
  let startedAt = "";
  try {
    const client = await connections.open(true);
    try {
      await (isExisting ? requireNewest(client) : migrate(client));
      const { rows } = await client.query<{ now: string }>("SELECT clock_timestamp()::text AS now");
      startedAt = rows[0]?.now ?? "";
    } finally {
      await client.end();
    }
  } catch (error) {
    await connections.close();
    throw toOpenError(error, placeOf(options.url));
  }
  const opened = new Notices({
    send: (channel, text) =>
      connections.transaction(async (tx) => {
        // The message needs no durability.
        const local = tx.query("SET LOCAL synchronous_commit = off");
        await Promise.all([local, tx.query("SELECT pg_notify($1, $2)", [channel, text])]);
      }, true),
    look: () => connections.read.query("SELECT 1"),
    ...(listenUrl !== undefined
      ? { openListener: () => connections.openListener(listenUrl) }
      : !connections.isPooled() && { openListener: () => connections.open() }),
    hasListenUrl: listenUrl !== undefined,
    hub,
    self: randomUUID(),
    onHearing,
  });
  notices = opened;
  await opened.ready;
  return {
    ...connections,
    /** ISO 8601, by the database's clock. */
    startedAt,
    subscribe: hub.subscribe,
    hearing: () => ({ ...opened.hearing(), isPooled: connections.isPooled() }),
    emitAccepted: () => hub.emit("accepted", undefined),
    async close(): Promise<void> {
      await connections.settled();
      await opened.close();
      await connections.close();
    },
  };
}

/** Every port, with the housekeeping that PostgreSQL does not do itself, and the records that SQLite keeps in files. */
export type PostgresStore = Store & SharedAllowances & Required<Pick<Store, "maintain" | "kept" | "standbys">>;

/** Only the kept records, for a command or before there is a relay. @throws as `openPostgresDatabase` does. */
export async function openKeptRecords(
  options: Pick<PostgresStoreOptions, "url" | "isExisting">,
): Promise<Pick<PostgresStore, "kept" | "close">> {
  const database = await openPostgresDatabase({ ...options, relayName: "command" });
  return { kept: createKeptRecords(database, placeFor(options.url)), close: database.close };
}

const placeFor = (url: string): string => `PostgreSQL ${databasePlace(url)}`;

/** The store that several relays share. @throws as `openPostgresDatabase` does. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { relayName } = options;
  const database = await openPostgresDatabase(options);
  const { isFull, now, startedAt } = database;
  const newId = createIdSource(now);
  const { relayId = newId() } = options;
  const reading = createReading(database.read);
  const { shared, joint, acceptRequests, removeOld } = createSharedTransactions(postgresDialect, {
    ...{ relayName, startedAt, newId },
  });
  const methods = bindShared(database, reading, shared);
  const { giveUpRouting, isLeft, noteLeft, ...routing } = createRouting(database, {
    ...{ relayName, relayId },
    ...shared,
  });
  const { settled, ...accepting } = createAccepting(database, {
    relayName,
    now: database.now,
    acceptRequests,
    isLeft,
    onAccepted: database.emitAccepted,
  });
  database.subscribe("left", noteLeft);
  return {
    capabilities: { sharedByRelays: true },
    now,
    subscribe: database.subscribe,
    ...methods,
    ...bindJoint(database, joint),
    hearing: database.hearing,
    ...accepting,
    ...routing,
    ...createRelays(database, { relayName }),
    ...createLog(database, reading),
    ...createAdministering(database, { relayName, isFull, removeOld, ...shared }),
    kept: createKeptRecords(database, placeFor(options.url)),
    async useAllowances(allowances) {
      const { rows } = await database.single.query<{ waits: number[] }>("SELECT use_allowances($1, $2, $3) AS waits", [
        allowances.map(({ name }) => toText(name)),
        allowances.map(({ burst }) => burst),
        allowances.map(({ intervalMs }) => intervalMs),
      ]);
      return (rows[0]?.waits ?? []).map((ms) => Math.max(0, Math.ceil(ms)));
    },
    async close() {
      await settled();
      // Fails while the database is away. The others then wait until this relay's time for its alerts is over.
      await giveUpRouting().catch(() => {});
      await database.close();
    },
  } as PostgresStore;
}
