import type { z } from "zod";
import type { Said } from "../../contract/api.ts";
import { encode } from "../../contract/encode.ts";
import { statusView } from "../../contract/views/status.ts";
import { AppError } from "../../core/errors.ts";
import type { StorePlace } from "../../core/store-place.ts";
import { databasePlace } from "../../ground/net/database-place.ts";
import { readVersion } from "../../ground/version.ts";
import { statusPanel } from "../../panels/status.ts";
import { readLeftStatus } from "../../start/open-left.ts";
import { DatabaseMissing } from "../../store/open-read-only.ts";
import { connectRelay, type RelayConnection, type RelayRun } from "../relay/connect-relay.ts";
import { RelayUnreachable } from "../relay/relay-client.ts";

/** Whether the disk is full is known of a relay alone. */
const knownView = statusView.extend({ disk: statusView.shape.disk.partial({ full: true }) }).partial();

/**
 * What the relay says under `/api/status`; without one, what its database holds; else nothing but that it does not run.
 * Exit status 1 unless it runs and is ready.
 */
export async function showStatus(run: RelayRun): Promise<void> {
  const { output, context } = run;
  const connection = await connectRelay(run);
  const { client, isElsewhere, loadConfig } = connection;
  const config = isElsewhere ? undefined : await loadConfig();
  const status = await askRelay(run, connection);
  const known = status ?? (await readLeft(run, connection)) ?? {};
  const publicUrl = status === undefined ? config?.server.publicUrl : status.account.publicUrl;
  const shown = {
    version: readVersion(),
    hook: `${publicUrl ?? client.url}/hooks/***`,
    url: client.url,
    publicUrl,
    ...(config && placeOf(config)),
    running: status !== undefined,
    ready: status?.relay.ready ?? false,
  };
  const said = encode(knownView, known);
  const data = { ...shown, ...said, store: toStore(said), destinations: said.destinations ?? [] };
  await output.result(data, () => statusPanel({ destinations: [], ...known, ...shown }));
  if (!shown.ready) context.setExitStatus(1);
}

/** Undefined, and a note, where none answers. */
async function askRelay({ output }: RelayRun, { client }: RelayConnection): Promise<Said<"readStatus"> | undefined> {
  try {
    return await client.readStatus();
  } catch (error) {
    if (!(error instanceof RelayUnreachable)) throw error;
    await output.note(error.message);
    return undefined;
  }
}

/** What the relay left in its database; nothing where that cannot be read, and a note says why. */
async function readLeft({ output, context }: RelayRun, { isElsewhere, loadConfig }: RelayConnection) {
  if (isElsewhere) return undefined;
  try {
    return await readLeftStatus(await loadConfig(), context.now);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // No relay has run here yet: that nothing answers says it all.
    if (!(error instanceof DatabaseMissing)) await output.note(error.message);
    return undefined;
  }
}

/** The folder; or `PostgreSQL tocsin at db.example.com:5432`. */
function placeOf({ databaseUrl, dataDir }: StorePlace): { dataDir: string } | { database: string } {
  if (databaseUrl === undefined) return { dataDir };
  return { database: `PostgreSQL ${databasePlace(databaseUrl.reveal())}` };
}

/** The parts `alerts`, `queue` and `disk` in one, under the names that scripts know. */
function toStore({ alerts, queue, disk }: z.input<typeof knownView>): object {
  return {
    alerts: alerts?.total,
    kept: alerts?.kept,
    oldestReceivedAt: alerts?.oldestReceivedAt,
    lastReceivedAt: alerts?.lastReceivedAt,
    unrouted: queue?.unrouted,
    oldestUnroutedAt: queue?.oldestUnroutedAt,
    databaseBytes: disk?.databaseBytes,
    freeBytes: disk?.freeBytes,
    diskFull: disk?.full,
  };
}
