import {
  type CanaryView,
  countRefused,
  type DestinationView,
  type MarketServiceView,
  type RunningRelay,
  type SilenceView,
  type SourceView,
  type SpoolView,
} from "../contract/operations.ts";
import type { PictureResult } from "../core/picture-outcome.ts";
import type { StoreHealth } from "../core/ports/administration.ts";
import { type WatchView, watchVerdicts } from "../core/ports/watch.ts";
import { vendorOf } from "../vendors/index.ts";

export interface MetricsInput {
  /** Counters of the door since the start, by name. */
  door: Readonly<Record<string, number>>;
  /** Undefined: it does not answer. */
  store: StoreHealth | undefined;
  destinations: DestinationView[];
  /** Calls since the start that were refused for what the message is, by destination. */
  refusedMessages: ReadonlyMap<string, number>;
  /** Pictures for messages since the start, by what became of them. Default: there are none. */
  pictures?: Readonly<Record<PictureResult, number>>;
  /** Alerts since the start: `givenUp` went out as they came, `repeats` were not sent. */
  routing: { givenUp: number; repeats: number };
  sources: SourceView[];
  /** All that run on the database. Default: nothing is known of any. */
  relays?: RunningRelay[];
  watches: WatchView[];
  /** Of the account at the alerting service, if it is known. Epoch milliseconds. */
  keyExpiresAt?: number;
  silence: SilenceView[];
  /** Default: nothing is asked. */
  market?: MarketServiceView[];
  /** Default: none is sent. */
  canary?: CanaryView;
  /** Default: there is none. */
  spool?: SpoolView;
  now: number;
}

/**
 * The state of the relay as Prometheus text. Made anew for each scrape from the store and the counters, so that nothing
 * is counted twice; labels are destination names of the configuration, never texts of senders or ids of chats.
 */
export async function formatMetrics(input: MetricsInput): Promise<string> {
  // Loaded by the first scrape: it takes as long as several rooms, and many a relay is never scraped.
  const { Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });

  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name, help, labelNames, registers: [registry] });

  const { alerts = 0, ...requestCounts } = input.door;
  const requests = counter(
    "tocsin_hook_requests_total",
    "Requests at the hook of this relay since its start, by what became of them.",
    ["result"],
  );
  for (const [result, count] of Object.entries(requestCounts)) requests.inc({ result: toSnake(result) }, count);
  counter(
    "tocsin_alerts_accepted_total",
    "Alerts that this relay has stored since its start; a batch holds several.",
  ).inc(alerts);

  const bySource = counter(
    "tocsin_source_requests_total",
    "Requests at the hooks of sources at this relay since its start, by what became of them.",
    ["source", "result"],
  );
  const refusals = counter(
    "tocsin_source_refused_total",
    "Requests at this relay since its start that did not pass the check of their source, by why.",
    ["source", "reason"],
  );
  for (const { name: source, accepted, refused: byReason } of input.sources) {
    const counts = Object.entries(byReason);
    bySource.inc({ source, result: "accepted" }, accepted);
    bySource.inc({ source, result: "refused" }, countRefused({ refused: byReason }));
    for (const [reason, count] of counts) refusals.inc({ source, reason }, count);
  }

  counter(
    "tocsin_repeated_alerts_total",
    "Alerts that this relay has routed since its start and not sent, because an earlier one had the very same body.",
  ).inc(input.routing.repeats);

  counter(
    "tocsin_unreadable_alerts_total",
    "Alerts that this relay has sent as received since its start, because reading or routing them failed twice.",
  ).inc(input.routing.givenUp);

  gauge("tocsin_store_writable", "1 when a commit of this relay just succeeded.").set(input.store?.writable ? 1 : 0);
  if (input.store !== undefined) {
    const { unrouted, oldestUnroutedAt: oldest, full, damage, bytes } = input.store;
    gauge(
      "tocsin_unrouted_alerts",
      "Accepted alerts that no decision has been made for yet (of the database, the same on every relay).",
    ).set(unrouted);
    gauge(
      "tocsin_oldest_unrouted_seconds",
      "Age of the oldest accepted alert that no decision has been made for yet (of the database, the same on every relay).",
    ).set(oldest === undefined ? 0 : (input.now - oldest) / 1000);
    gauge("tocsin_disk_full", "1 while new alerts are refused by this relay because the disk is full.").set(
      full ? 1 : 0,
    );
    gauge(
      "tocsin_database_damaged",
      "1 when this relay could not look up earlier alerts since its start, so that repeats may be sent.",
    ).set(damage === undefined ? 0 : 1);
    gauge(
      "tocsin_database_bytes",
      "Size of the database with its write-ahead log (of the database, the same on every relay).",
    ).set(bytes);
  }

  if (input.spool !== undefined) {
    const { alerts: waitingAlerts, bytes, maxBytes, oldestAt, problem } = input.spool;
    gauge("tocsin_spool_alerts", "Alerts that wait in the spool of this relay for the database.").set(waitingAlerts);
    gauge("tocsin_spool_oldest_seconds", "Age of the oldest alert that waits in the spool of this relay.").set(
      oldestAt === undefined ? 0 : Math.max(0, (input.now - oldestAt) / 1000),
    );
    gauge("tocsin_spool_bytes", "Size of the spool of this relay.").set(bytes);
    gauge("tocsin_spool_max_bytes", "What the spool of this relay may come to (SPOOL_SIZE).").set(maxBytes);
    gauge(
      "tocsin_spool_writable",
      "0 when the last alert that should have waited in the spool of this relay could not be put there.",
    ).set(problem === undefined ? 1 : 0);
  }

  const relays = gauge(
    "tocsin_relays",
    "Relays by their configuration: those with the newest one route and deliver (of the database, the same on every relay).",
    ["configuration"],
  );
  for (const configuration of ["newest", "older", "starting"] as const) {
    relays.set({ configuration }, (input.relays ?? []).filter((relay) => relay.configuration === configuration).length);
  }
  const own = (input.relays ?? []).find(({ isSelf }) => isSelf);
  gauge("tocsin_relay_destinations", "Destinations that this relay delivers to just now.").set(
    own?.destinations.length ?? 0,
  );

  const watches = gauge(
    "tocsin_watch",
    "1 for what a watch finds now, 0 for the other verdicts (of the relay that watches for all, the same on every relay).",
    ["watch", "verdict"],
  );
  const looked = gauge(
    "tocsin_watch_looked_seconds",
    "Time since a watch last looked; absent: not yet (of the relay that watches for all, the same on every relay).",
    ["watch"],
  );
  for (const { name: watch, verdict: found, lookedAt } of input.watches) {
    for (const verdict of watchVerdicts) watches.set({ watch, verdict }, verdict === found ? 1 : 0);
    if (lookedAt !== undefined) looked.set({ watch }, Math.max(0, input.now - lookedAt) / 1000);
  }
  if (input.keyExpiresAt !== undefined) {
    gauge(
      "tocsin_account_key_expires_seconds",
      "Time until the key of the alerting service expires (of the relay that watches for all, the same on every relay).",
    ).set((input.keyExpiresAt - input.now) / 1000);
  }

  const calls = gauge(
    "tocsin_market_calls",
    "Calls of this relay in the last hour for what decorates messages and pages.",
    ["interface"],
  );
  const paused = gauge(
    "tocsin_market_paused",
    "1 while this relay does not ask the service for it, as it refuses or fails.",
    ["interface"],
  );
  for (const { interface: of, calls: counted, pausedUntil } of input.market ?? []) {
    calls.set({ interface: of }, counted.made);
    paused.set({ interface: of }, pausedUntil === undefined ? 0 : 1);
  }

  const keys = input.sources.filter(({ account }) => account?.answer?.keyExpiresAt !== undefined);
  if (keys.length > 0) {
    const text =
      "Time until the key of a source's own account expires (of the relay that watches for all, the same on every relay).";
    const expires = gauge("tocsin_source_key_expires_seconds", text, ["source"]);
    for (const { name: source, account } of keys) {
      expires.set({ source }, ((account?.answer?.keyExpiresAt ?? 0) - input.now) / 1000);
    }
  }

  const deliveries = gauge(
    "tocsin_deliveries",
    "Deliveries by destination and state; one that was resent counts as its resend does (of the database, the same on every relay).",
    ["destination", "state"],
  );
  const up = gauge(
    "tocsin_destination_up",
    "1 when the destination takes messages (as the relay that delivers to it says, the same on every relay).",
    ["destination"],
  );
  const waiting = gauge(
    "tocsin_oldest_waiting_seconds",
    "Age of the oldest delivery that waits (of the database, the same on every relay).",
    ["destination"],
  );
  const delivered = gauge(
    "tocsin_destination_last_delivered_timestamp_seconds",
    "When it last took a message (of the database, the same on every relay).",
    ["destination"],
  );
  const proven = gauge(
    "tocsin_destination_last_proven_timestamp_seconds",
    "When it last said yes to a probe; absent where that proves no more than that its host answers (as the relay that delivers to it says, the same on every relay).",
    ["destination"],
  );
  const refused = counter(
    "tocsin_refused_messages_total",
    "Calls of this relay since its start that were refused for what the message is; each is tried once more as plain text.",
    ["destination"],
  );
  if (input.pictures !== undefined) {
    const pictures = counter(
      "tocsin_pictures_total",
      "Pictures of this relay for messages since its start, by what became of them.",
      ["result"],
    );
    for (const [result, count] of Object.entries(input.pictures)) pictures.inc({ result }, count);
  }
  const silent = gauge(
    "tocsin_silent",
    "1 while no alert arrives that should have (of all relays, the same on every relay).",
    ["watch"],
  );
  const quiet = gauge(
    "tocsin_quiet_seconds",
    "Time since the last alert, without that in which no relay ran (of all relays, the same on every relay).",
    ["watch"],
  );
  for (const { watch, state, quietMs } of input.silence) {
    silent.set({ watch }, state === "silent" ? 1 : 0);
    quiet.set({ watch }, quietMs / 1000);
  }
  if (input.canary !== undefined)
    gauge(
      "tocsin_canary_up",
      "0 while Tocsin does not reach itself at its public address (of the relay that watches for all, the same on every relay).",
    ).set(input.canary.state === "fails" ? 0 : 1);
  const labelOf = labelDestinations(input.destinations);
  for (const destination of input.destinations) {
    const label = labelOf(destination);
    refused.inc({ destination: label }, input.refusedMessages.get(destination.name) ?? 0);
    up.set({ destination: label }, destination.health === "ok" || destination.health === "degraded" ? 1 : 0);
    const { lastSentAt, lastProvenAt, channel } = destination;
    if (lastSentAt !== undefined) delivered.set({ destination: label }, lastSentAt / 1000);
    if (lastProvenAt !== undefined && vendorOf(channel).probeProves !== "connection")
      proven.set({ destination: label }, lastProvenAt / 1000);
    waiting.set(
      { destination: label },
      destination.oldestWaitingAt === undefined ? 0 : (input.now - destination.oldestWaitingAt) / 1000,
    );
    for (const [state, count] of Object.entries(destination.counts)) {
      deliveries.set({ destination: label, state }, count ?? 0);
    }
  }
  return registry.metrics();
}

/**
 * The names of `TELEGRAM_CHAT_IDS` are chat ids: those destinations are named by their place in the list,
 * `telegram:1`.
 */
function labelDestinations(destinations: DestinationView[]): (destination: DestinationView) => string {
  const chats = destinations.map(({ name }) => name).filter((name) => /^telegram:-\d+$/.test(name));
  return ({ name }) => (chats.includes(name) ? `telegram:${chats.indexOf(name) + 1}` : name);
}

function toSnake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
