import { isLoopback } from "../ground/net/local-host.ts";
import type { ProblemList } from "./shape/problem-list.ts";
import { type Env, envText, readVariable } from "./variables.ts";

/** Reads where the relay listens and how it is reached, without the cost of all other variables. */
export function readServer(env: Env, problems: ProblemList) {
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
    /** 0 takes any free port. */
    port: readVariable(env, "PORT", problems.refuseVariable),
    host,
    /**
     * How long a stopping relay works on while others run on its database. It is not ready, so a balancer leaves it.
     */
    drainMs: readVariable(env, "DRAIN_TIME", problems.refuseVariable),
    /** Whether others can reach the relay: by `host`, by `publicUrl`, or through named proxies. */
    isPublic,
    /** Addresses and CIDR ranges of proxies whose word about the client's address is trusted. */
    trustedProxies: proxies ?? (isLoopback(host) ? ["127.0.0.0/8", "::1/128"] : []),
    /** Whether it runs on Fly (`FLY_APP_NAME`), whose proxy gives the client's address in `Fly-Client-IP`. */
    isBehindFly: flyApp !== undefined,
    /** The address for the outside, without a trailing slash. Absent: not given. */
    ...(publicUrl === undefined ? {} : { publicUrl }),
    /** The name of this relay among several. Absent: the machine's name. */
    ...(relayName === undefined ? {} : { relayName }),
  };
}
