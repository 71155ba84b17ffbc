import type { Config } from "../../config/config.ts";
import type { Now } from "../../core/clock.ts";
import type { Mute } from "../../core/rules.ts";
import type { KnownNames } from "../../operations/name-book.ts";
import { connectRelay, localUrlOf, type RelayRun } from "./connect-relay.ts";
import { openWithoutRelay, type ReadOnlyStore } from "./open-read-only.ts";
import type { MuteOnWire, RelayClient } from "./relay-client.ts";

/** The log as commands read it, in the API's form whichever way it comes. */
export interface AlertLog extends Pick<RelayClient, "listAlerts" | "findAlert" | "findByIdPart" | "listMutes"> {
  /** `relay`: asked over its API. `database`: its file was read, since no relay answers. */
  readonly source: "relay" | "database";
  close(): Promise<void>;
}

/** The running relay's log, or its database file read-only when no relay answers. */
export async function openAlertLog(run: RelayRun): Promise<AlertLog> {
  const relay = await connectRelay(run);
  const { client } = relay;
  try {
    await client.isReady();
  } catch (error) {
    const { store, config } = await openWithoutRelay(error, relay, run.output);
    return readStore(store, config, run.context.now);
  }
  return {
    source: "relay",
    listAlerts: client.listAlerts,
    findAlert: client.findAlert,
    findByIdPart: client.findByIdPart,
    listMutes: client.listMutes,
    close: async () => {},
  };
}

/** As many as a relay gives. */
const mostNamed = 10;

async function readStore(store: ReadOnlyStore, config: Config, now: Now): Promise<AlertLog> {
  const publicUrl = config.server.publicUrl ?? localUrlOf(config);
  const wire = { publicUrl, learnedName: (await readNames(store, config)).find };
  const { viewAlert, viewAlertDetail, viewMute } = await import("../../contract/make-views.ts");
  const { alertDetailView, alertView, muteView } = await import("../../contract/views.ts");
  const { encode, toIso } = await import("../../contract/encode.ts");
  const [{ createGetAlert }, { readPayloads }] = await Promise.all([
    import("../../explain/processing.ts"),
    import("../../intake/read-payloads.ts"),
  ]);
  const getAlert = createGetAlert(store, readPayloads);
  const { listAlertPage, readCursor } = await import("../../contract/alert-query.ts");
  return {
    source: "database",
    async listAlerts({ limit, cursor, ...filters }) {
      const page = { limit, cursor: readCursor(store, cursor) };
      const { alerts, nextCursor } = await listAlertPage(store, filters, page);
      const data = alerts.map((alert) => encode(alertView, viewAlert(alert, wire)));
      return { data, meta: { nextCursor: nextCursor ?? null } };
    },
    async findAlert({ id }) {
      const alert = await getAlert(id);
      return alert && encode(alertDetailView, viewAlertDetail(alert, wire));
    },
    async findByIdPart({ part }) {
      const { alerts, searchedTo } = await store.findByIdPart(part, mostNamed);
      const data = alerts.map((alert) => encode(alertView, viewAlert(alert, wire)));
      return { data, meta: { searchedTo: searchedTo === undefined ? undefined : toIso(searchedTo) } };
    },
    async listMutes({ ended }) {
      const includeEnded = ended === "true";
      const kept = await store.listMutes(now(), includeEnded);
      const ofConfiguration = config.rules.mutes.filter((mute) => includeEnded || mute.endsAt > now());
      return [...ofConfiguration, ...kept].map((mute) => encode(muteView, viewMute(mute, now())));
    },
    close: () => store.close(),
  };
}

/**
 * The names that the relay here has learned, from its database, whether it runs or not; none where it learns none or
 * they cannot be read: an alert is shown all the same.
 */
export async function readNames(store: Pick<ReadOnlyStore, "loadWatchState">, config: Config): Promise<KnownNames> {
  const { learnsNames } = await import("../../start/open-market.ts");
  const { readTokenNames } = await import("../../operations/name-book.ts");
  const none: KnownNames = { nameOf: () => undefined, symbolOf: () => undefined, find: () => undefined };
  return learnsNames(config) ? readTokenNames(store).catch(() => none) : none;
}

/** The mutes made at run time, as routing wants them; those of the configuration come with the configuration. */
export function toRuntimeMutes(mutes: MuteOnWire[]): Mute[] {
  return mutes
    .filter(({ createdBy }) => createdBy !== "configuration")
    .map(({ id, matchers, reason, createdBy, startsAt, endsAt, createdAt }) => ({
      id,
      matchers,
      reason,
      createdBy,
      startsAt: Date.parse(startsAt),
      endsAt: Date.parse(endsAt),
      createdAt: Date.parse(createdAt),
    }));
}
