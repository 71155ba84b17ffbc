import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { MiddlewareHandler } from "hono";
import type { Now } from "../../core/clock.ts";
import type { Accounts } from "./accounts.ts";
import type { SandboxContext, SandboxEnv } from "./answers.ts";
import { refuse } from "./answers.ts";
import type { Faults } from "./faults.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { Timeline } from "./timeline.ts";

/** Which of the two interfaces: they differ in the header and in the status for a wrong key (section 5). */
export type Interface = "alerting" | "pricing";

export interface GateDeps {
  accounts: Accounts;
  faults: Faults;
  rateLimit: RateLimit;
  timeline: Timeline;
  now: Now;
}

/** What stands before a route: the faults that were asked for, then the key, then the rate limit. */
export type Gate = (route: string) => MiddlewareHandler<SandboxEnv>;

export function createGate(deps: GateDeps, which: Interface): Gate {
  return (route) => async (context, next) => {
    const broken = await applyFaults(deps, context, route);
    if (broken !== undefined) return broken;
    const refusal = admit(deps, context, which, route);
    if (refusal !== undefined) return refusal;
    return await next();
  };
}

async function applyFaults(
  deps: GateDeps,
  context: SandboxContext,
  route: string,
): Promise<Response | undefined> {
  const { faults, timeline, now } = deps;
  const delay = faults.take(route, "delay");
  if (delay !== undefined && !(await timeline.waitUntil(now() + delay.delayMs))) return cutOff(context);
  if (faults.take(route, "reset") !== undefined) return cutOff(context);
  const html = faults.take(route, "html");
  if (html !== undefined) {
    const page = `<!doctype html><title>${html.status}</title><h1>${html.status} from the gateway</h1>`;
    return new Response(page, { status: html.status, headers: { "content-type": "text/html" } });
  }
  if (faults.take(route, "broken-json") !== undefined) {
    return new Response('{"data":{"id":"brok', { headers: { "content-type": "application/json" } });
  }
  const status = faults.take(route, "status");
  if (status !== undefined) return refuse(status.status, status.message ?? "Asked for by a fault");
  const limited = faults.take(route, "rate-limit");
  if (limited !== undefined) return refuseTooMany(limited.retryAfterSeconds * 1000);
  return undefined;
}

/** Closes the connection without an answer. */
export function cutOff(context: SandboxContext): Response {
  context.env.outgoing.destroy();
  return RESPONSE_ALREADY_SENT;
}

function admit(
  deps: GateDeps,
  context: SandboxContext,
  which: Interface,
  route: string,
): Response | undefined {
  const header = which === "alerting" ? "authorization" : "x-api-key";
  const key = context.req.header(header);
  // Section 7 gives pricing 401 and 403; alerting's statuses are not shown, and the sandbox says 401 to both.
  const invalid = which === "alerting" ? 401 : 403;
  if (key === undefined || key === "") {
    return refuse(401, `Missing API key: send it as the value of the ${header} header`);
  }
  const caller = deps.accounts.findByKey(key);
  if (caller === undefined) {
    const hint = /^bearer /i.test(key) ? ": send the key itself, without Bearer" : "";
    return refuse(invalid, `Invalid API key${hint}`);
  }
  if (deps.faults.take(route, "expired-key") !== undefined || caller.expiresAt <= deps.now()) {
    return refuse(invalid, "The API key has expired");
  }
  const waitMs = deps.rateLimit.take(route, caller.keyHash);
  if (waitMs !== undefined) return refuseTooMany(waitMs);
  context.set("caller", caller);
  return undefined;
}

function refuseTooMany(waitMs: number): Response {
  const headers = { "retry-after": String(Math.ceil(waitMs / 1000)) };
  return refuse(429, "Rate limit exceeded for this route and API key", headers);
}
