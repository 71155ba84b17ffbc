import { countRefused, type DestinationView, type MarketServiceView, type StatusView } from "../contract/operations.ts";
import type { DeliveryFigures } from "../core/delivery-figures.ts";
import type { PictureResult } from "../core/picture-outcome.ts";
import type { StoreHealth } from "../core/ports/administration.ts";
import { watchVerdicts } from "../core/ports/watch.ts";
import { Histogram, type Labels } from "../ground/numbers/figures.ts";
import { vendorOf } from "../vendors/index.ts";

/** An absent `relays`, `canary` or `spool` is unknown, or the relay has none. */
export interface MetricsInput
  extends Pick<StatusView, "destinations" | "sources" | "watches" | "silence">,
    Partial<Pick<StatusView, "relays" | "canary" | "spool">> {
  /** Counters of the door since the start, by name. */
  door: Readonly<Record<string, number>>;
  /** Undefined: the store does not answer. */
  store: StoreHealth | undefined;
  delivery: Pick<DeliveryFigures, "attempts" | "refusedMessages" | "seconds">;
  /** Pictures for messages since the start, by their results. Default: the relay draws none. */
  pictures?: Readonly<Record<PictureResult, number>>;
  /** Alerts since the start. `givenUp`: sent as they came. `repeats`: not sent. */
  routing: { givenUp: number; repeats: number; senderLag: Histogram };
  /** When the key of the account at the alerting service expires, epoch milliseconds. Absent: unknown. */
  keyExpiresAt?: number;
  market?: MarketServiceView[];
  now: number;
}

/** Undefined: the figure is unknown now, and left out. */
type Figure = number | undefined;
type Figures = readonly (readonly [labels: Labels, figure: Figure])[];
type Metrics = Readonly<
  Record<string, readonly [help: string, read: (input: MetricsInput) => Figure | Figures | Histogram]>
>;

/** These metrics add up over relays. The others below are the same on each relay. */
const ofThisRelay: Metrics = {
  tocsin_hook_requests_total: [
    "Requests at the hook of this relay since its start, by what became of them.",
    ({ door: { alerts: _, ...requests } }) => byName("result", requests),
  ],
  tocsin_alerts_accepted_total: [
    "Alerts that this relay has stored since its start, or since it took over a changed file; a batch holds several.",
    ({ door }) => door.alerts ?? 0,
  ],
  tocsin_source_requests_total: [
    "Requests at the hooks of sources at this relay since its start, by what became of them.",
    ({ sources }) =>
      sources.flatMap(({ name: source, accepted, refused }) =>
        byName("result", { accepted, refused: countRefused({ refused }) }, { source }),
      ),
  ],
  tocsin_source_refused_total: [
    "Requests at this relay since its start that did not pass the check of their source, by why.",
    ({ sources }) => sources.flatMap(({ name: source, refused }) => byName("reason", refused, { source })),
  ],
  tocsin_repeated_alerts_total: [
    "Alerts that this relay has routed since its start and not sent, because an earlier one had the very same body.",
    ({ routing }) => routing.repeats,
  ],
  tocsin_unreadable_alerts_total: [
    "Alerts that this relay has sent as received since its start, because reading or routing them failed twice.",
    ({ routing }) => routing.givenUp,
  ],
  tocsin_refused_messages_total: [
    "Calls of this relay since its start that were refused for what the message is; each is tried once more as plain text.",
    ofDestinations(({ name }, { delivery }) => delivery.refusedMessages.get(name) ?? 0),
  ],
  tocsin_attempts_total: [
    "Calls of this relay to destinations since its start, by what came of them and why.",
    ({ delivery }) => delivery.attempts.series(),
  ],
  tocsin_delivery_seconds: [
    "Time from the acceptance of an alert until a message of this relay had it, quiet hours and pauses included.",
    ({ delivery }) => delivery.seconds,
  ],
  tocsin_sender_lag_seconds: [
    "Time from when senders say that it happened until it came to this relay, of alerts that say so; up to a day.",
    ({ routing }) => routing.senderLag,
  ],
  tocsin_pictures_total: [
    "Pictures of this relay for messages since its start, by what became of them.",
    ({ pictures }) => pictures && byName("result", pictures),
  ],
  tocsin_store_writable: ["1 when a commit of this relay just succeeded.", ({ store }) => Number(!!store?.writable)],
  tocsin_disk_full: [
    "1 while new alerts are refused by this relay because the disk is full.",
    ({ store }) => store && Number(store.full),
  ],
  tocsin_database_damaged: [
    "1 when this relay could not look up earlier alerts since its start, so that repeats may be sent.",
    ({ store }) => store && Number(store.damage !== undefined),
  ],
  tocsin_spool_alerts: ["Alerts that wait in the spool of this relay for the database.", ({ spool }) => spool?.alerts],
  tocsin_spool_oldest_seconds: [
    "Age of the oldest alert that waits in the spool of this relay.",
    ({ spool, now }) => spool && ageOf(spool.oldestAt, now),
  ],
  tocsin_spool_bytes: ["Size of the spool of this relay.", ({ spool }) => spool?.bytes],
  tocsin_spool_max_bytes: ["What the spool of this relay may come to (SPOOL_SIZE).", ({ spool }) => spool?.maxBytes],
  tocsin_spool_writable: [
    "0 when the last alert that should have waited in the spool of this relay could not be put there.",
    ({ spool }) => spool && Number(spool.problem === undefined),
  ],
  tocsin_relay_destinations: [
    "Destinations that this relay delivers to just now.",
    ({ relays }) => relays?.find(({ isSelf }) => isSelf)?.destinations.length ?? 0,
  ],
  tocsin_market_calls: [
    "Calls of this relay in the last hour for what decorates messages and pages.",
    ({ market = [] }) => market.map(({ interface: of, calls }) => [{ interface: of }, calls.made]),
  ],
  tocsin_market_paused: [
    "1 while this relay does not ask the service for it, as it refuses or fails.",
    ({ market = [] }) =>
      market.map(({ interface: of, pausedUntil }) => [{ interface: of }, Number(pausedUntil !== undefined)]),
  ],
};

const ofAllRelays: Metrics = {
  // From the database.
  tocsin_unrouted_alerts: ["Accepted alerts that no decision has been made for yet", ({ store }) => store?.unrouted],
  tocsin_oldest_unrouted_seconds: [
    "Age of the oldest accepted alert that no decision has been made for yet",
    ({ store, now }) => store && ageOf(store.oldestUnroutedAt, now),
  ],
  tocsin_database_bytes: ["Size of the database with its write-ahead log", ({ store }) => store?.bytes],
  tocsin_relays: [
    "Relays by their configuration: those with the newest one route and deliver",
    ({ relays = [] }) =>
      (["newest", "older", "starting"] as const).map((configuration) => [
        { configuration },
        relays.filter((relay) => relay.configuration === configuration).length,
      ]),
  ],
  tocsin_deliveries: [
    "Deliveries by destination and state; one that was resent counts as its resend does",
    ({ destinations }) => destinations.flatMap((one) => byName("state", one.counts, { destination: one.name })),
  ],
  tocsin_oldest_waiting_seconds: [
    "Age of the oldest delivery that waits",
    ofDestinations(({ oldestWaitingAt }, { now }) => ageOf(oldestWaitingAt, now)),
  ],
  tocsin_destination_last_delivered_timestamp_seconds: [
    "When it last took a message",
    ofDestinations(({ lastSentAt }) => lastSentAt && lastSentAt / 1000),
  ],
  // From the relay that delivers.
  tocsin_destination_up: [
    "1 when the destination takes messages",
    ofDestinations(({ health }) => Number(health === "ok" || health === "degraded")),
  ],
  tocsin_destination_last_proven_timestamp_seconds: [
    "When it last said yes to a probe; absent where that proves no more than that its host answers",
    ofDestinations(({ lastProvenAt, channel }) =>
      vendorOf(channel).probeProves === "connection" ? undefined : lastProvenAt && lastProvenAt / 1000,
    ),
  ],
  // From the relay that watches.
  tocsin_watch: [
    "1 for what a watch finds now, 0 for the other verdicts",
    ({ watches }) =>
      watches.flatMap(({ name: watch, verdict: found }) =>
        watchVerdicts.map((verdict) => [{ watch, verdict }, Number(verdict === found)] as const),
      ),
  ],
  tocsin_watch_looked_seconds: [
    "Time since a watch last looked; absent: not yet",
    ({ watches, now }) =>
      watches.map(({ name: watch, lookedAt }) => [
        { watch },
        lookedAt === undefined ? undefined : ageOf(lookedAt, now),
      ]),
  ],
  tocsin_account_key_expires_seconds: [
    "Time until the key of the alerting service expires",
    ({ keyExpiresAt, now }) => keyExpiresAt && (keyExpiresAt - now) / 1000,
  ],
  tocsin_source_key_expires_seconds: [
    "Time until the key of a source's own account expires",
    ({ sources, now }) =>
      sources.map(({ name: source, account }) => {
        const at = account?.answer?.keyExpiresAt;
        return [{ source }, at && (at - now) / 1000];
      }),
  ],
  tocsin_canary_up: [
    "0 while Tocsin does not reach itself at its public address",
    ({ canary }) => canary && Number(canary.state !== "fails"),
  ],
  tocsin_silent: [
    "1 while no alert arrives that should have",
    ({ silence }) => silence.map(({ watch, state }) => [{ watch }, Number(state === "silent")]),
  ],
  tocsin_quiet_seconds: [
    "Time since the last alert, without that in which no relay ran",
    ({ silence }) => silence.map(({ watch, quietMs }) => [{ watch }, quietMs / 1000]),
  ],
};

/** Made anew for each scrape, so nothing is counted twice. Labels hold no texts of senders and no ids of chats. */
export function formatMetrics(input: MetricsInput): string {
  const write = (metrics: Metrics, isShared = false) =>
    Object.entries(metrics).flatMap(([name, [help, read]]) => {
      const figures = read(input);
      if (figures === undefined) return [];
      const said = isShared ? `${help} (the same on every relay).` : help;
      const type = figures instanceof Histogram ? "histogram" : name.endsWith("_total") ? "counter" : "gauge";
      const lines = samplesOf(figures).flatMap(([suffix, labels, figure]) =>
        figure === undefined ? [] : `${name}${suffix}${written(nameDestination(labels, input))} ${figure}\n`,
      );
      return `# HELP ${name} ${said}\n# TYPE ${name} ${type}\n${lines.join("")}`;
    });
  return [...write(ofThisRelay), ...write(ofAllRelays, true)].join("\n");
}

type Sample = readonly [suffix: string, labels: Labels, figure: Figure];

/** Each bucket of a histogram also counts those below it. */
function samplesOf(figures: number | Figures | Histogram): Sample[] {
  if (typeof figures === "number") return [["", {}, figures]];
  if (!(figures instanceof Histogram)) return figures.map(([labels, figure]) => ["", labels, figure]);
  return figures.series().flatMap(({ labels, counts, sum }) => {
    let count = 0;
    const buckets = counts.map((one, index): Sample => {
      count += one;
      return ["_bucket", { ...labels, le: String(figures.bounds[index] ?? "+Inf") }, count];
    });
    return [...buckets, ["_sum", labels, sum] as const, ["_count", labels, count] as const];
  });
}

function written(labels: Figures[number][0]): string {
  const escaped = (text: string) => text.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n");
  const all = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return all.length === 0 ? "" : `{${all.join(",")}}`;
}

const ageOf = (at: number | undefined, now: number) => (at === undefined ? 0 : Math.max(0, now - at) / 1000);

/** Counters have names in camel case in the code, labels of metrics in snake case. */
function byName(label: string, counts: Readonly<Record<string, number | undefined>>, labels = {}): Figures {
  const toSnake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.entries(counts).map(([name, count]) => [{ ...labels, [label]: toSnake(name) }, count]);
}

function ofDestinations(read: (destination: DestinationView, input: MetricsInput) => Figure) {
  return (input: MetricsInput): Figures =>
    input.destinations.map((one) => [{ destination: one.name }, read(one, input)]);
}

/** Destinations of `TELEGRAM_CHAT_IDS` are named by chat ids. Here their place in the list counts: `telegram:1`. */
function nameDestination(labels: Labels, { destinations }: MetricsInput): Labels {
  const { destination = "" } = labels;
  if (!/^telegram:-\d+$/.test(destination)) return labels;
  const chats = destinations.map(({ name }) => name).filter((name) => /^telegram:-\d+$/.test(name));
  return { ...labels, destination: `telegram:${chats.indexOf(destination) + 1}` };
}
