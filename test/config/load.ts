import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { ConfigError, type ConfigProblem } from "../../src/config/shape/problem-list.ts";
import type { Rules } from "../../src/core/rules.ts";
import type { CheckRule } from "../../src/core/source.ts";
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

/** Loads a file that exists only here, as `tocsin.yaml`. Without `yaml` there is no file. */
export function load(yaml: string | undefined, env: Record<string, string> = {}): LoadedConfig {
  return loadConfig({
    env,
    cwd: "/srv/tocsin",
    readFile: (path) => (path === "/srv/tocsin/tocsin.yaml" ? yaml : undefined),
  }) as LoadedConfig;
}

/** The checks of a source, as they are written under `check:`. */
export function checksOf(check: string, env: Record<string, string>): CheckRule[] {
  const yaml = `destinations: { ops: { type: telegram, chatId: -1 } }\nsources: { forge: { check: ${check} } }`;
  return load(yaml, { ...botEnv, ...env }).sources[0]?.checks ?? [];
}

/** The mistakes of a configuration that must have some. */
export function problemsOf(yaml: string | undefined, env: Record<string, string> = {}): ConfigProblem[] {
  return errorOf(yaml, env).problems;
}

export function errorOf(yaml: string | undefined, env: Record<string, string> = {}): ConfigError {
  try {
    load(yaml, env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("the configuration was taken");
}
