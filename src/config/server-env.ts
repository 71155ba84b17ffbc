import { isIP } from "node:net";
import { createIpRanges, isIpRange } from "../ground/net/ip-ranges.ts";
import { isLoopback } from "../ground/net/local-host.ts";
import { readDuration, readHttpUrl, readNumber } from "../ground/shape/field.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import type { ServerSettings } from "./config.ts";
import type { ProblemList } from "./shape/problem-list.ts";

export type Env = Readonly<Record<string, string | undefined>>;

const defaultDrainMs = 5_000;

/** An empty variable counts as one that is not set: that is how deployment tools write "nothing". */
export function envText(env: Env, name: string): string | undefined {
  const text = env[name]?.trim();
  return text === undefined || text === "" ? undefined : text;
}

export function readVariable<T>(
  env: Env,
  name: string,
  read: (value: unknown) => T | Refusal,
  problems: ProblemList,
): T | undefined {
  const text = envText(env, name);
  if (text === undefined) return undefined;
  const value = read(text);
  if (!(value instanceof Refusal)) return value;
  problems.addEnv(name, value.message, value.instead);
  return undefined;
}

/** Where it listens and how it is reached, without what all other variables take to be read. */
export function readServer(env: Env, problems: ProblemList): ServerSettings {
  const port = readVariable(env, "PORT", readNumber({ least: 0, most: 65_535, whole: true }), problems) ?? 8080;
  const host = readVariable(env, "HOST", readHost, problems) ?? "127.0.0.1";
  const flyApp = envText(env, "FLY_APP_NAME");
  const publicUrl =
    readVariable(env, "PUBLIC_URL", readPublicUrl, problems) ??
    (flyApp === undefined ? undefined : `https://${flyApp}.fly.dev`);
  const proxies = readTrustedProxies(env, problems);
  const isPublic =
    !isLoopback(host) ||
    (publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname)) ||
    (proxies?.length ?? 0) > 0;
  if (publicUrl?.startsWith("http://") && !isLoopback(new URL(publicUrl).hostname)) {
    const why = "is not https: the webhook's secret and the page's session travel in the clear";
    problems.warn("PUBLIC_URL", why, "put a proxy with a certificate in front, and write https://");
  }
  if (flyApp !== undefined && isLoopback(host)) {
    const why = "is an address that nobody outside of the machine can reach, not even Fly's proxy";
    problems.warn("HOST", why, "set HOST=0.0.0.0");
  }
  const drainMs = readVariable(env, "DRAIN_TIME", readDuration("0s", "5m"), problems) ?? defaultDrainMs;
  const relayName = readVariable(env, "RELAY_NAME", readRelayName, problems);
  return {
    port,
    host,
    drainMs,
    isPublic,
    trustedProxies: proxies ?? (isLoopback(host) ? ["127.0.0.0/8", "::1/128"] : []),
    isBehindFly: flyApp !== undefined,
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(relayName === undefined ? {} : { relayName }),
  };
}

function readHost(value: unknown): string | Refusal {
  const text = String(value);
  if (/^[A-Za-z0-9._:%-]+$/.test(text)) return text;
  return new Refusal(`${showValue(text)} is not an address`, "write 0.0.0.0 for every interface, or 127.0.0.1");
}

function readRelayName(value: unknown): string | Refusal {
  const text = String(value);
  if (/^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,58}[A-Za-z0-9])?$/.test(text)) return text;
  return new Refusal(
    `${showValue(text)} is not a name`,
    "write up to 60 letters, digits, spaces and . _ -, e.g. relay-1",
  );
}

function readPublicUrl(value: unknown): string | Refusal {
  const example = "write the base address alone, e.g. https://alerts.example.com";
  const written = String(value);
  const text = readHttpUrl(written);
  if (text instanceof Refusal) {
    const isBare = /^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[^\s?#]*)?$/i.test(written);
    const scheme = /^(?:localhost|127\.)/i.test(written) ? "http" : "https";
    return new Refusal(text.message, isBare ? `write ${scheme}://${withoutHook(written)}` : example);
  }
  if (/\s/.test(text)) return new Refusal("holds a space", example);
  // What follows may be the secret itself, and is not repeated.
  if (withoutHook(text) !== text) {
    return new Refusal("holds /hooks, which Tocsin adds by itself", `write ${withoutHook(text)}`);
  }
  const { search, hash } = new URL(text);
  if (search === "" && hash === "") return text;
  return new Refusal("has a query or fragment", example);
}

/** The address up to a last part `hooks` or `hooks/<secret>`. */
function withoutHook(address: string): string {
  return address.replace(/\/+hooks(\/[^/]*)?\/*$/i, "");
}

/** Undefined when nobody has said. */
function readTrustedProxies(env: Env, problems: ProblemList): string[] | undefined {
  const text = envText(env, "TRUSTED_PROXIES");
  if (text === undefined) return undefined;
  if (text.toLowerCase() === "none") return [];
  const ranges: string[] = [];
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  for (const part of parts.length > 0 ? parts : [text]) {
    const range = readProxyRange(part);
    if (range instanceof Refusal) problems.addEnv("TRUSTED_PROXIES", range.message, range.instead);
    else ranges.push(range);
  }
  return ranges;
}

function readProxyRange(text: string): string | Refusal {
  const instead = "write the proxies' addresses or ranges, e.g. TRUSTED_PROXIES=127.0.0.1,10.0.0.0/8, or none";
  if (!isIpRange(text)) return new Refusal(`${showValue(text)} is neither an address nor a range`, instead);
  const [address = "", bits = isIP(address) === 6 ? "128" : "32"] = text.split("/");
  const range = `${address}/${bits}`;
  if (!isEverybody(range)) return range;
  return new Refusal(`${showValue(text)} is everybody, who could then make up any address`, instead);
}

/** All of IPv4, also where it is mapped into IPv6 (`::ffff:0:0/96`). */
function isEverybody(range: string): boolean {
  const ranges = createIpRanges([range]);
  return ["0.0.0.0", "255.255.255.255"].every((end) => ranges.includes(end));
}
