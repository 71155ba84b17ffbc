import { describeCanarySchedule } from "../core/canary-schedule.ts";
import type { FactMapping } from "../core/mapping.ts";
import { describeRetention } from "../core/ports/retention.ts";
import { type Destination, describeHours, type Mute, type QuietHours, type Route } from "../core/rules.ts";
import { describeCheck } from "../core/source.ts";
import { databasePlace } from "../ground/net/database-place.ts";
import { formatBytes } from "../ground/text/format-bytes.ts";
import { writeDuration } from "../ground/time/duration.ts";
import { describeMatchers } from "../matching/describe-match.ts";
import { writeGrouping } from "./grouping.ts";
import { writeRinging } from "../ringing/advise-on-rings.ts";
import type { HeartbeatSettings } from "../vendors/heartbeat.ts";
import { vendorOf } from "../vendors/index.ts";
import { hostOf } from "../vendors/options.ts";
import type { Config, SourceSettings } from "./config.ts";
import type { ConfigProblem } from "./shape/problem-list.ts";

/** What is configured, in words and without any secret; plain JSON. */
export interface ConfigDescription {
  /** Absent when everything comes from the environment. */
  file?: string;
  server: {
    listensOn: string;
    publicUrl?: string;
    /** Absent with PostgreSQL where none was named: nothing is written there. */
    dataDir?: string;
    /** `PostgreSQL tocsin at db.example.com:5432`; absent: SQLite in the folder. */
    database?: string;
    /** Where signals are heard. */
    listensAt?: string;
    /** `/var/lib/tocsin/spool, up to 1.0 GiB`; absent: nothing waits on this machine while the database is away. */
    spool?: string;
  };
  secrets: { webhookSecret: "given" | "generated"; adminToken: "given" | "generated" };
  upstream: { alerting?: string; pricing?: string };
  /** What is said of the market with alerts: `context`, `symbols`; empty where nothing is asked. */
  market: string[];
  /** To whom the signs of life go; the host alone. */
  heartbeat?: { to: string; service: string; every: string };
  destinations: DestinationDescription[];
  routes: RouteDescription[];
  /** Empty where no alert holds others back. */
  inhibit: { name: string; while: string; hold: string; equal: string[]; atMost: string }[];
  mutes: { when: string; disabled?: true; reason: string; from?: string; until: string }[];
  /** Absent: every fact is guessed. */
  mapping?: FactMapping;
  sources: SourceDescription[];
  /** `hook: auto`, `route critical: 6h`, `source Pyth: auto`; empty when silence makes no notice. */
  silence: string[];
  /** Absent: none is sent. `to` is empty when nobody gets it as a message. */
  canary?: { when: string; to: string[] };
  /** How long alerts are kept, in words. */
  retention: string;
  warnings: ConfigProblem[];
}

export interface DestinationDescription {
  name: string;
  type: Destination["type"];
  /** Chat id, mailboxes, or the server; never an address that is itself a secret. */
  reaches: string;
  quietHours?: string;
  /** How much of an alert its messages hold, where that is not `normal`. */
  detail?: Destination["detail"];
  /** Whether a picture of the value joins its messages; absent where the channel can show none. */
  chart?: boolean;
  definedAt: string;
}

export interface RouteDescription {
  name: string;
  /** The matchers in their text form, or "every alert". */
  when: string;
  disabled?: true;
  activeHours?: string;
  silent?: string[];
  to: string[];
  continue: boolean;
  fallback?: string;
  freshness?: string;
  /** What it says of ringing again, as it is written: `again: { furtherBy: 5% }, flapping: off`. */
  ringing?: string;
  /** As the file has it: `by: [token], wait: 20s, again: 5m`. */
  group?: string;
  definedAt: string;
}

/** A named hook. */
export interface SourceDescription {
  name: string;
  secret: "given" | "generated";
  /** What else its sender has to prove: `github`, `hmac (x-signature)`; empty: nothing. */
  checks: string[];
  /** The address of the service where it has an account of its own. */
  account?: string;
  /** `header:x-event-id`, `payload.eventId`; empty: what all senders use. */
  idempotency: string[];
  /** Absent: as for all. */
  mapping?: FactMapping;
  definedAt: string;
}

export function describeConfig(config: Config): ConfigDescription {
  const { server, upstream, rules } = config;
  return {
    ...(config.configFile === undefined ? {} : { file: config.configFile }),
    server: {
      listensOn: `${server.host.includes(":") ? `[${server.host}]` : server.host}:${server.port}`,
      ...(server.publicUrl === undefined ? {} : { publicUrl: server.publicUrl }),
      ...(config.dataDir !== undefined && { dataDir: config.dataDir }),
      ...(config.databaseUrl && { database: `PostgreSQL ${databasePlace(config.databaseUrl.reveal())}` }),
      ...(config.databaseListenUrl && {
        listensAt: `PostgreSQL ${databasePlace(config.databaseListenUrl.reveal())}`,
      }),
      ...(config.spool && { spool: `${config.spool.dir}, up to ${formatBytes(config.spool.maxBytes)}` }),
    },
    secrets: {
      webhookSecret: config.webhookSecret === undefined ? "generated" : "given",
      adminToken: config.adminToken === undefined ? "generated" : "given",
    },
    upstream: {
      ...(upstream.alerting === undefined ? {} : { alerting: upstream.alerting.url }),
      ...(upstream.pricing === undefined ? {} : { pricing: upstream.pricing.url }),
    },
    market: describeMarket(config),
    ...(config.heartbeat && { heartbeat: describeHeartbeat(config.heartbeat) }),
    destinations: rules.destinations.map(describeDestination),
    routes: rules.routes.map(describeRoute),
    inhibit: (rules.inhibit ?? []).map(({ name, hold, equal, atMostMs, ...rule }) => ({
      name,
      while: describeMatchers(rule.while),
      hold: describeMatchers(hold),
      equal,
      atMost: writeDuration(atMostMs),
    })),
    mutes: rules.mutes.map(describeMute),
    ...(Object.keys(config.mapping).length === 0 ? {} : { mapping: config.mapping }),
    sources: config.sources.map(describeSource),
    silence: config.silence.map(({ of, name, after }) => {
      const what = name === undefined ? of : `${of} ${name}`;
      return `${what}: ${after === "auto" ? after : writeDuration(after)}`;
    }),
    ...(config.canary && { canary: { when: describeCanarySchedule(config.canary), to: rules.canaryTo ?? [] } }),
    retention: describeRetention(config.retention),
    warnings: config.warnings,
  };
}

function describeMarket({ upstream, watch, market }: Config): string[] {
  if (upstream.alerting === undefined || !watch.enabled) return [];
  return [...(market.context ? ["context"] : []), ...(market.symbols ? ["symbols"] : [])];
}

function describeSource({
  name,
  secret,
  checks,
  account,
  keyPlaces,
  mapping,
  definedAt,
}: SourceSettings): SourceDescription {
  return {
    name,
    secret: secret === undefined ? "generated" : "given",
    checks: checks.map(describeCheck),
    ...(account && { account: account.url }),
    idempotency: keyPlaces.map((place) => ("path" in place ? place.path : `header:${place.header}`)),
    ...(Object.keys(mapping).length === 0 ? {} : { mapping }),
    definedAt,
  };
}

function describeHeartbeat({ url, service, everyMs }: HeartbeatSettings) {
  return { to: hostOf(url.reveal()), service, every: writeDuration(everyMs) };
}

function describeDestination(destination: Destination): DestinationDescription {
  const { name, type, definedAt, quietHours, timeZone, detail, chart } = destination;
  return {
    name,
    type,
    reaches: vendorOf(type).describe(destination),
    ...(quietHours === undefined ? {} : { quietHours: describeQuietHours(quietHours, timeZone) }),
    ...(detail === undefined || detail === "normal" ? {} : { detail }),
    ...(chart === undefined ? {} : { chart }),
    definedAt,
  };
}

function describeQuietHours(quietHours: QuietHours, timeZone: string): string {
  const { except } = quietHours;
  return `${describeHours(quietHours, timeZone)}${except.length === 0 ? "" : `, except ${except.join(", ")}`}`;
}

function describeRoute(route: Route): RouteDescription {
  const { name, to, definedAt, fallback, freshnessMs, isDisabled, activeHours, silent, ringing, group } = route;
  const when = describeMatchers(route.matchers);
  return {
    name,
    when: route.isDefault ? `no other route matches${route.matchers.length === 0 ? "" : `, and ${when}`}` : when,
    ...(isDisabled && { disabled: true as const }),
    ...(activeHours && { activeHours: describeHours(activeHours, activeHours.timeZone) }),
    ...(silent && { silent }),
    to,
    continue: route.continue,
    ...(fallback === undefined ? {} : { fallback: `${fallback.to} after ${writeDuration(fallback.afterMs)}` }),
    ...(freshnessMs === undefined ? {} : { freshness: writeDuration(freshnessMs) }),
    ...(ringing && { ringing: writeRinging(ringing) }),
    ...(group && { group: writeGrouping(group) }),
    definedAt,
  };
}

function describeMute({ matchers, isDisabled, reason, startsAt, endsAt }: Mute) {
  return {
    when: describeMatchers(matchers),
    ...(isDisabled && { disabled: true as const }),
    reason,
    ...(startsAt === 0 ? {} : { from: new Date(startsAt).toISOString() }),
    until: new Date(endsAt).toISOString(),
  };
}
