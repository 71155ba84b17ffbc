import { AppError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import { type Env, envText, type RefuseVariable, readVariable } from "./variables.ts";

export interface UpstreamAccess {
  /** Absolute http(s) address without a trailing slash, credentials, query or fragment. */
  url: string;
  apiKey: Secret;
}

export function readUpstream(env: Env, refuse: RefuseVariable) {
  const alertingUrl = readVariable(env, "ALERTING_URL", refuse);
  const alertingKey = readVariable(env, "ALERTING_API_KEY", refuse);
  const pricingUrl = readVariable(env, "PRICING_URL", refuse);
  const pricingKey = readVariable(env, "PRICING_API_KEY", refuse) ?? alertingKey;
  return {
    /** `ALERTING_URL`, `ALERTING_API_KEY`. Absent unless both are set. */
    alerting: alertingUrl && alertingKey ? { url: alertingUrl, apiKey: alertingKey } : undefined,
    /** `PRICING_URL`, `PRICING_API_KEY` (default: the alerting key). Absent unless both are known. */
    pricing: pricingUrl && pricingKey ? { url: pricingUrl, apiKey: pricingKey } : undefined,
    /** The service does not document this path. `{symbols}` becomes the list, else sent as `?symbols=`. */
    equitiesPricePath: readVariable(env, "PRICING_EQUITIES_PRICE_PATH", refuse),
  };
}

/** Throws an `AppError("config_invalid")` for wrong variables. No error holds a value that may be secret. */
export function readUpstreamEnv(env: Env) {
  return readUpstream(env, (name, { message, instead }) => {
    throw new AppError("config_invalid", `${name} ${message}`, { hint: instead });
  });
}

/** Throws `config_invalid` that names each missing variable. */
export function requireAlerting(env: Env): UpstreamAccess {
  const { alerting } = readUpstreamEnv(env);
  if (alerting !== undefined) return alerting;
  throw missing("alerting", unset(env, ["ALERTING_URL", "ALERTING_API_KEY"]));
}

/** Throws `config_invalid` that names each missing variable. */
export function requirePricing(env: Env): UpstreamAccess {
  const { pricing } = readUpstreamEnv(env);
  if (pricing !== undefined) return pricing;
  const hasKey = unset(env, ["PRICING_API_KEY", "ALERTING_API_KEY"]).length < 2;
  throw missing("pricing", unset(env, hasKey ? ["PRICING_URL"] : ["PRICING_URL", "PRICING_API_KEY"]));
}

function missing(what: "alerting" | "pricing", names: string[]): AppError {
  const verb = names.length === 1 ? "is" : "are";
  return new AppError("config_invalid", `${names.join(" and ")} ${verb} not set`, {
    hint: `set ${names.length === 1 ? "it" : "them"} in the environment or in a .env file, to reach the ${what} interface`,
  });
}

function unset(env: Env, names: string[]): string[] {
  return names.filter((name) => envText(env, name) === undefined);
}
