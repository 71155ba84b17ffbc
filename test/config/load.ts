import { expect } from "vitest";
import { parseDocument } from "yaml";
import type { Config } from "../../src/config/config.ts";
import { configJsonSchema } from "../../src/config/file.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { ConfigError, type ConfigProblem } from "../../src/config/shape/problem-list.ts";
import type { Rules } from "../../src/core/rules.ts";
import type { CheckRule } from "../../src/core/source.ts";
import { fitsJsonSchema } from "../support/json-schema.ts";
import type { KnownDestination } from "../support/known-vendors.ts";

export const botToken = "123456789:AAcanaryBotTokenThatNobodyMaySee_0001";
export const botEnv = { TELEGRAM_BOT_TOKEN: botToken };
export const mailEnv = {
  SMTP_URL: "smtps://relay%40example.com:canarySmtpPassword@smtp.example.com",
  EMAIL_FROM: "Tocsin <tocsin@example.com>",
};
export const whsec = `whsec_${Buffer.from("canary-canary-canary-canary").toString("base64")}`;
/** All that the example file and the examples of the documents refer to. */
export const exampleEnv = {
  ...botEnv,
  ...mailEnv,
  ALERTING_URL: "https://alerting.example.com",
  ALERTING_API_KEY: "canaryAlertingKey",
  INCIDENT_SIGNING_SECRET: whsec,
  INCIDENT_TOKEN: "canaryIncident",
  SLACK_WEBHOOK_URL: "https://hooks.slack.com/services/T0/B0/canarySlack",
  DISCORD_WEBHOOK_URL: "https://discord.com/api/webhooks/1/canaryDiscord",
  NTFY_TOKEN: "tk_canaryNtfy",
  PAGERDUTY_ROUTING_KEY: "canaryRoutingKeyOf32Characters00",
  GITHUB_HOOK_SECRET: "canary-github-hook-kS93jdLwm2Pz",
  TREASURY_API_KEY: "canaryTreasuryKey",
  GITHUB_HMAC: "canary-github-hmac",
  QUICKNODE_TOKEN: "canary-quicknode-token",
  STRIPE_NEW: "canary-stripe-new",
  STRIPE_OLD: "canary-stripe-old",
  HEARTBEAT_URL: "https://hc-ping.com/canaryHeartbeat-1b2c3d4e",
  TEAMS_WORKFLOW_URL: "https://prod-1.westeurope.logic.azure.com/workflows/a?sig=canaryTeams",
};

type WithRules<C> = C extends Config
  ? Omit<C, "rules"> & { rules: Rules & { destinations: KnownDestination[] } }
  : never;
type LoadedConfig = WithRules<Config>;

const schema = configJsonSchema();

/** Whether an editor that knows the JSON Schema finds nothing wrong. Undefined for what is no YAML. */
function isFineInEditor(yaml: string): boolean | undefined {
  const { contents, errors } = parseDocument(yaml);
  return errors.length > 0 ? undefined : fitsJsonSchema(schema, contents?.toJSON() ?? {});
}

/** Mistakes that a JSON Schema cannot say. */
const unsayable = [
  // What times and sizes come to, and which of two is later.
  /out of bounds|is more than/,
  /is not after from|makes no group|is longer than wait|is the same as while/,
  // What variables hold, and where they are needed.
  /environment variable|PUBLIC_URL|EMAIL_TO|ALERTING_API_KEY|^"\*\*\*"/,
  /characters; |part of an address|secret of Standard Webhooks|no such header carries|a secret is written|has no sig=/,
  // What other parts of the file say.
  /there is no destination|listed twice|also the name|default already|can never match|gets every alert|same as another secret/,
  /said below|has no meaning|the route names|no effect together|asks for what|cannot be used in a source|are the most|one more than/,
  // What stands in a text: days, paths, conditions, names of headers, addresses.
  /not a day of the week|not a path to one value|neither a path|names no header|no number is that|a missing value|matches nothing/,
  /neither a host name nor|neither an address nor|the password would begin|own hook$|header's name|set by Tocsin itself|a header cannot carry/,
  /leaves the body out|no part of a request|has no } at its end|holds the signature itself|not among what is signed|needs the header that has the time/,
  // What depends on the type of a destination, or on the name of a header in any case.
  /shows no pictures|does not belong in the file/,
];

/** Of a `match` it knows the fields and the forms alone: what its texts and values mean is for their own reader. */
const isInMatch = (path = "") => /\.(?:match|while|hold)(?:$|[.[])/.test(path);

/** Loads a file that exists only here, as `tocsin.yaml`. Without `yaml` there is no file. */
export function load(yaml: string | undefined, env: Record<string, string> = {}): LoadedConfig {
  const config = loadConfig({
    env,
    cwd: "/srv/tocsin",
    readFile: (path) => (path === "/srv/tocsin/tocsin.yaml" ? yaml : undefined),
  }) as LoadedConfig;
  if (yaml !== undefined) expect(isFineInEditor(yaml), "the JSON Schema takes what is taken").not.toBe(false);
  return config;
}

/** The checks of a source, as they are written under `check:`. */
export function checksOf(check: string, env: Record<string, string>): CheckRule[] {
  const yaml = `destinations: { ops: { type: telegram, chatId: -1 } }\nsources: { forge: { check: ${check} } }`;
  return load(yaml, { ...botEnv, ...env }).sources[0]?.checks ?? [];
}

/** The mistakes of a configuration that must have some. */
export const problemsOf = (yaml: string | undefined, env: Record<string, string> = {}): ConfigProblem[] =>
  errorOf(yaml, env).problems;

export function errorOf(yaml: string | undefined, env: Record<string, string> = {}): ConfigError {
  try {
    load(yaml, env);
  } catch (error) {
    if (error instanceof ConfigError) {
      const said = error.problems.filter(({ where }) => where.startsWith("tocsin.yaml"));
      if (yaml !== undefined && isFineInEditor(yaml) === true)
        expect(
          said.filter(({ path, message }) => !isInMatch(path) && !unsayable.some((form) => form.test(message))),
        ).toEqual([]);
      return error;
    }
    throw error;
  }
  throw new Error("the configuration was taken");
}
