import { AppError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import { type Env, envText, type RefuseVariable, readVariable } from "./variables.ts";

/** One interface of the market-data service: its address and its key. */
export interface UpstreamAccess {
  /** Absolute http(s) address without a trailing slash, credentials, query or fragment. */
  url: string;
  apiKey: Secret;
}

/** Reads the variables. Absent or refused ones stay absent. */
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
    /**
     * `PRICING_EQUITIES_PRICE_PATH`. The service documents neither method nor path of the equities price. The path can be set,
     * with `{symbols}` for the comma-separated list. Without it the list is sent as `?symbols=`. Default `/v1/equities/price`.
     */
    equitiesPricePath: readVariable(env, "PRICING_EQUITIES_PRICE_PATH", refuse),
  };
}

/** Reads the variables, and throws an `AppError("config_invalid")` for wrong ones. No error holds a value that may be secret. */
export function readUpstreamEnv(env: Env) {
  return readUpstream(env, (name, { message, instead }) => {
    throw new AppError("config_invalid", `${name} ${message}`, { hint: instead });
  });
}

/** The alerting interface. Throws `config_invalid` that names each missing variable. */
export function requireAlerting(env: Env): UpstreamAccess {
  const { alerting } = readUpstreamEnv(env);
  if (alerting !== undefined) return alerting;
  throw missing("alerting", unset(env, ["ALERTING_URL", "ALERTING_API_KEY"]));
}

/** The pricing interface. Throws `config_invalid` that names each missing variable. */
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
