import { isLoopback } from "../ground/net/local-host.ts";
import type { ServerSettings } from "./config.ts";
import type { ProblemList } from "./shape/problem-list.ts";
import { type Env, envText, readVariable } from "./variables.ts";

/** Where it listens and how it is reached, without what all other variables take to be read. */
export function readServer(env: Env, problems: ProblemList): ServerSettings {
  const host = readVariable(env, "HOST", problems.refuseVariable);
  const flyApp = envText(env, "FLY_APP_NAME");
  const publicUrl =
    readVariable(env, "PUBLIC_URL", problems.refuseVariable) ??
    (flyApp === undefined ? undefined : `https://${flyApp}.fly.dev`);
  const proxies = readVariable(env, "TRUSTED_PROXIES", problems.refuseVariable);
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
  const relayName = readVariable(env, "RELAY_NAME", problems.refuseVariable);
  return {
    port: readVariable(env, "PORT", problems.refuseVariable),
    host,
    drainMs: readVariable(env, "DRAIN_TIME", problems.refuseVariable),
    isPublic,
    trustedProxies: proxies ?? (isLoopback(host) ? ["127.0.0.0/8", "::1/128"] : []),
    isBehindFly: flyApp !== undefined,
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(relayName === undefined ? {} : { relayName }),
  };
}
