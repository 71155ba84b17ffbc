import { AppError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";

/** One interface of the market-data service: where it is and the key that opens it. */
export interface UpstreamAccess {
  /** Absolute http(s) address without a trailing slash, credentials, query or fragment. */
  url: string;
  apiKey: Secret;
}

export interface UpstreamSettings {
  /** `ALERTING_URL`, `ALERTING_API_KEY`. Absent unless both are set. */
  alerting?: UpstreamAccess;
  /** `PRICING_URL`, `PRICING_API_KEY` (default: the alerting key). Absent unless both are known. */
  pricing?: UpstreamAccess;
  /**
   * `PRICING_EQUITIES_PRICE_PATH`. The service documents neither method nor path of the equities price, so both the
   * path and how the symbols go into it can be set: `{symbols}` stands for the comma-separated list; without it the
   * list is sent as `?symbols=`. Default `/v1/equities/price`.
   */
  equitiesPricePath: string;
}

const defaultEquitiesPricePath = "/v1/equities/price";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads what is set. What is absent stays absent; what is set wrongly is an `AppError("config_invalid")`. No error
 * holds a value that may be secret.
 */
export function readUpstreamEnv(env: Env): UpstreamSettings {
  const alertingUrl = readUrl(env, "ALERTING_URL");
  const alertingKey = readKey(env, "ALERTING_API_KEY");
  const pricingUrl = readUrl(env, "PRICING_URL");
  const pricingKey = readKey(env, "PRICING_API_KEY") ?? alertingKey;
  return {
    alerting: alertingUrl && alertingKey ? { url: alertingUrl, apiKey: alertingKey } : undefined,
    pricing: pricingUrl && pricingKey ? { url: pricingUrl, apiKey: pricingKey } : undefined,
    equitiesPricePath: readPath(env, "PRICING_EQUITIES_PRICE_PATH") ?? defaultEquitiesPricePath,
  };
}

/** The alerting interface, or `config_invalid` naming each variable that is missing. */
export function requireAlerting(env: Env): UpstreamAccess {
  const { alerting } = readUpstreamEnv(env);
  if (alerting !== undefined) return alerting;
  throw missing("alerting", unset(env, ["ALERTING_URL", "ALERTING_API_KEY"]));
}

/** The pricing interface, or `config_invalid` naming each variable that is missing. */
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
  return names.filter((name) => !env[name]?.trim());
}

function readUrl(env: Env, name: string): string | undefined {
  const text = env[name]?.trim();
  if (!text) return undefined;
  const refuse = (what: string) =>
    new AppError("config_invalid", `${name} ${what}`, {
      hint: `write it like ${name}=https://api.example.com`,
    });
  if (!URL.canParse(text)) throw refuse("is not an address");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") throw refuse("does not begin with https:// or http://");
  if (url.username !== "" || url.password !== "")
    throw refuse("holds a user name or password; the key goes into its own variable");
  if (url.search !== "" || url.hash !== "") throw refuse("has a query or fragment; give the base address alone");
  return url.href.replace(/\/+$/, "");
}

/** A key travels as a header's value, so only visible ASCII can be one; a pasted line break is the usual mistake. */
function readKey(env: Env, name: string): Secret | undefined {
  const text = env[name]?.trim();
  if (!text) return undefined;
  if (!/^[\x21-\x7e]+$/.test(text)) {
    throw new AppError("config_invalid", `${name} holds a space, a line break or a character that no key has`, {
      hint: "copy the key again, without quotes and line breaks",
    });
  }
  return new Secret(text);
}

function readPath(env: Env, name: string): string | undefined {
  const text = env[name]?.trim();
  if (!text) return undefined;
  // A query of its own is possible only together with a place for the list in it.
  if (/^\/[^\s#]*$/.test(text) && (!text.includes("?") || text.includes("{symbols}"))) return text;
  throw new AppError("config_invalid", `${name} must be a path that begins with "/"`, {
    hint: `write it like ${name}=${defaultEquitiesPricePath} or ${name}=/v1/equities/{symbols}/price`,
  });
}
