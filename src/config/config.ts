import type { z } from "zod";
import type { CanarySchedule } from "../core/canary-schedule.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import { AppError } from "../core/errors.ts";
import type { FactMapping } from "../core/mapping.ts";
import type { RetentionRules } from "../core/ports/retention.ts";
import type { Rules, SilenceRule } from "../core/rules.ts";
import type { Secret } from "../core/secret.ts";
import type { Source } from "../core/source.ts";
import type { StorePlace } from "../core/store-place.ts";
import { suggestOrList } from "../ground/text/suggest.ts";
import type { HeartbeatSettings } from "../vendors/heartbeat.ts";
import type { intakeSchema, marketSchema, watchSchema } from "./sections.ts";
import type { readServer } from "./server-env.ts";
import type { ConfigProblem } from "./shape/problem-list.ts";
import type { readUpstream, UpstreamAccess } from "./upstream-env.ts";

export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

export interface SourceSettings extends Source {
  /** The secret in the hook's path. Absent: `loadOrCreateSecrets` makes and keeps one. */
  secret?: Secret;
  /** Secrets that are accepted while senders move to the new address. */
  formerSecrets: Secret[];
  /** Another account of the service, which sends to this hook. It is watched, and `setup --source` registers it. */
  account?: UpstreamAccess;
  /** Also in `Config.silence`. */
  silence?: SilenceRule["after"] | "off";
  /** `tocsin.yaml:12:5` */
  definedAt: string;
}

export interface SpoolSettings {
  dir: string;
  maxBytes: number;
}

export type Config = StorePlace & {
  server: ReturnType<typeof readServer>;
  /** Absent: alerts are refused while PostgreSQL is away. */
  spool?: SpoolSettings;
  /** Absent: `loadOrCreateSecrets` makes and keeps one. */
  webhookSecret?: Secret;
  /** Absent: `loadOrCreateSecrets` makes and keeps one. */
  adminToken?: Secret;
  upstream: ReturnType<typeof readUpstream>;
  rules: Rules;
  intake: z.output<typeof intakeSchema>;
  /** Empty: every fact is guessed. */
  mapping: FactMapping;
  /** Named hooks besides the account's. Empty without a file. */
  sources: SourceSettings[];
  /** Each sender or route that is watched for missing alerts, once. */
  silence: SilenceRule[];
  /** Absent: no canary is sent. */
  canary?: CanarySchedule;
  delivery: DeliverySettings;
  retention: RetentionRules;
  /** The watch over the account at the service. Needs the alerting interface. */
  watch: z.output<typeof watchSchema>;
  /** Requests that only decorate messages and pages. They need the alerting interface and an enabled watch. */
  market: z.output<typeof marketSchema>;
  /** Absent: no outside service gets signs of life. */
  heartbeat?: HeartbeatSettings;
  logLevel: (typeof logLevels)[number];
  /** Absolute path of the YAML file. Absent: there is none. */
  configFile?: string;
  configHash?: string;
  /** Settings that work, but perhaps not as meant. */
  warnings: ConfigProblem[];
};

/** @param known all sources @throws AppError `usage` for an unknown name */
export function requireSource<S extends { name: string }>(
  known: readonly S[],
  name: string,
  { why = "is not in the configuration", none = "no source is configured" } = {},
): S {
  const found = known.find((source) => source.name === name);
  if (found !== undefined) return found;
  const names = known.map((source) => source.name);
  const hint = names.length === 0 ? none : suggestOrList(name, names);
  throw new AppError("usage", `the source ${name} ${why}`, { hint });
}

/** @throws AppError `usage` for a source without an account. */
export function findAccount({ sources }: Config, name: string): SourceSettings & { account: UpstreamAccess } {
  const having = sources.flatMap(({ account, ...source }) => (account === undefined ? [] : { ...source, account }));
  const why = sources.some((source) => source.name === name) ? "has no account of its own" : undefined;
  return requireSource(having, name, { why, none: "give it one: sources.NAME.account with url and apiKey" });
}
