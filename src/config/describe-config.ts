import { describeCanarySchedule } from "../core/canary-schedule.ts";
import type { FactMapping } from "../core/mapping.ts";
import { describeRetention } from "../core/ports/retention.ts";
import { type Destination, describeHours, type Mute, type QuietHours, type Route } from "../core/rules.ts";
import type { Secret } from "../core/secret.ts";
import { describeCheck } from "../core/source.ts";
import { databasePlace } from "../ground/net/database-place.ts";
import { formatBytes } from "../ground/text/format-bytes.ts";
import { writeDuration } from "../ground/time/duration.ts";
import { describeMatchers } from "../matching/describe-match.ts";
import { writeRinging } from "../ringing/advise-on-rings.ts";
import type { HeartbeatSettings } from "../vendors/heartbeat.ts";
import { vendorOf } from "../vendors/index.ts";
import { hostOf } from "../vendors/vendor.ts";
import type { Config, SourceSettings } from "./config.ts";
import { writeGrouping } from "./grouping.ts";

export type ConfigDescription = ReturnType<typeof describeConfig>;

/** Without secrets, as plain JSON. Undefined parts are left out. */
export function describeConfig(config: Config) {
  const { server, upstream, rules } = config;
  return {
    file: config.configFile,
    server: {
      listensOn: `${server.host.includes(":") ? `[${server.host}]` : server.host}:${server.port}`,
      publicUrl: server.publicUrl,
      /** Absent with PostgreSQL and without `DATA_DIR`: no files are written there. */
      dataDir: config.dataDir,
      /** `PostgreSQL tocsin at db.example.com:5432`. Absent: SQLite in the folder. */
      database: config.databaseUrl && `PostgreSQL ${databasePlace(config.databaseUrl.reveal())}`,
      listensAt: config.databaseListenUrl && `PostgreSQL ${databasePlace(config.databaseListenUrl.reveal())}`,
      /** Absent: no spool on this machine. */
      spool: config.spool && `${config.spool.dir}, up to ${formatBytes(config.spool.maxBytes)}`,
    },
    secrets: { webhookSecret: originOf(config.webhookSecret), adminToken: originOf(config.adminToken) },
    upstream: { alerting: upstream.alerting?.url, pricing: upstream.pricing?.url },
    /** The market facts in messages. Empty without requests to the service. */
    market: describeMarket(config),
    /** The receiver of the signs of life, only its host. */
    heartbeat: config.heartbeat && describeHeartbeat(config.heartbeat),
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
    /** Absent: every fact is guessed. */
    mapping: unlessEmpty(config.mapping),
    sources: config.sources.map(describeSource),
    /** `hook: auto`, `route critical: 6h`, `source Pyth: auto`. Empty when silence is not watched. */
    silence: config.silence.map(({ of, name, after }) => {
      const what = name === undefined ? of : `${of} ${name}`;
      return `${what}: ${after === "auto" ? after : writeDuration(after)}`;
    }),
    canary: config.canary && { when: describeCanarySchedule(config.canary), to: rules.canaryTo ?? [] },
    retention: describeRetention(config.retention),
    warnings: config.warnings,
  };
}

function originOf(secret: Secret | undefined): "given" | "generated" {
  return secret === undefined ? "generated" : "given";
}

function unlessEmpty(mapping: FactMapping): FactMapping | undefined {
  return Object.keys(mapping).length === 0 ? undefined : mapping;
}

function describeMarket({ upstream, watch, market }: Config): string[] {
  if (upstream.alerting === undefined || !watch.enabled) return [];
  return [...(market.context ? ["context"] : []), ...(market.symbols ? ["symbols"] : [])];
}

function describeSource({ name, secret, checks, account, keyPlaces, mapping, definedAt }: SourceSettings) {
  return {
    name,
    secret: originOf(secret),
    /** Further checks of its sender: `github`, `hmac (x-signature)`. Empty: none. */
    checks: checks.map(describeCheck),
    account: account?.url,
    /** Empty: the places for all senders. */
    idempotency: keyPlaces.map((place) => ("path" in place ? place.path : `header:${place.header}`)),
    mapping: unlessEmpty(mapping),
    definedAt,
  };
}

function describeHeartbeat({ url, service, everyMs }: HeartbeatSettings) {
  return { to: hostOf(url.reveal()), service, every: writeDuration(everyMs) };
}

function describeDestination(destination: Destination) {
  const { name, type, definedAt, quietHours, timeZone, detail, chart } = destination;
  return {
    name,
    type,
    /** Chat id, mailboxes, or the server, but never an address that is a secret itself. */
    reaches: vendorOf(type).describe(destination),
    quietHours: quietHours && describeQuietHours(quietHours, timeZone),
    detail: detail === "normal" ? undefined : detail,
    chart,
    definedAt,
  };
}

function describeQuietHours(quietHours: QuietHours, timeZone: string): string {
  const { except } = quietHours;
  return `${describeHours(quietHours, timeZone)}${except.length === 0 ? "" : `, except ${except.join(", ")}`}`;
}

function describeRoute(route: Route) {
  const { name, to, definedAt, fallback, freshnessMs, isDisabled, activeHours, silent, ringing, group } = route;
  const when = describeMatchers(route.matchers);
  return {
    name,
    when: route.isDefault ? `no other route matches${route.matchers.length === 0 ? "" : `, and ${when}`}` : when,
    disabled: isDisabled || undefined,
    activeHours: activeHours && describeHours(activeHours, activeHours.timeZone),
    silent,
    to,
    continue: route.continue,
    fallback: fallback && `${fallback.to} after ${writeDuration(fallback.afterMs)}`,
    freshness: freshnessMs === undefined ? undefined : writeDuration(freshnessMs),
    ringing: ringing && writeRinging(ringing),
    group: group && writeGrouping(group),
    definedAt,
  };
}

function describeMute({ matchers, isDisabled, reason, startsAt, endsAt }: Mute) {
  return {
    when: describeMatchers(matchers),
    disabled: isDisabled || undefined,
    reason,
    from: startsAt === 0 ? undefined : new Date(startsAt).toISOString(),
    until: new Date(endsAt).toISOString(),
  };
}
