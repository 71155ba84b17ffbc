import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { MiddlewareHandler } from "hono";
import type { Now } from "../../src/core/clock.ts";
import { refuse, type SandboxContext, type SandboxEnv } from "./answers.ts";
import { takeFault } from "./faults.ts";
import type { ServiceSandbox } from "./service.ts";

/** The two interfaces differ in the header of the key, and in the status for a wrong one (section 5). */
export const interfaces = {
  // The statuses are undocumented. The sandbox answers 401 to both faults.
  alerting: { header: "authorization", invalid: 401 },
  pricing: { header: "x-api-key", invalid: 403 },
} as const;
type Interface = (typeof interfaces)[keyof typeof interfaces];

/** The checks before a route: queued faults, then the key, then the rate limit. */
export type Gate = (route: string) => MiddlewareHandler<SandboxEnv>;

export function createGate(sandbox: ServiceSandbox, which: Interface): Gate {
  return (route) => async (context, next) =>
    (await applyFaults(sandbox, context, route)) ?? admit(sandbox, context, which, route) ?? (await next());
}

async function applyFaults(
  { faults, timeline, settings }: ServiceSandbox,
  context: SandboxContext,
  route: string,
): Promise<Response | undefined> {
  const delay = takeFault(faults, route, "delay");
  const isCut = delay !== undefined && !(await timeline.waitUntil(settings.now() + delay.delayMs));
  if (isCut || takeFault(faults, route, "reset") !== undefined) return cutOff(context);
  const fault = takeFault(faults, route, "html", "broken-json", "status", "rate-limit");
  switch (fault?.kind) {
    case "html": {
      const { status } = fault;
      return context.html(`<!doctype html><title>${status}</title><h1>${status} from the gateway</h1>`, status as 502);
    }
    case "broken-json":
      return context.body('{"data":{"id":"brok', 200, { "content-type": "application/json" });
    case "status":
      return refuse(fault.status, fault.message ?? "Asked for by a fault");
    case "rate-limit":
      return refuseTooMany(fault.retryAfterSeconds * 1000);
    default:
      return undefined;
  }
}

export function cutOff(context: SandboxContext): Response {
  context.env.outgoing.destroy();
  return RESPONSE_ALREADY_SENT;
}

function admit(
  { accounts, faults, limits, settings }: ServiceSandbox,
  context: SandboxContext,
  { header, invalid }: Interface,
  route: string,
): Response | undefined {
  const key = context.req.header(header);
  if (key === undefined || key === "") {
    return refuse(401, `Missing API key: send it as the value of the ${header} header`);
  }
  const caller = accounts.findByKey(key);
  if (caller === undefined) {
    const hint = /^bearer /i.test(key) ? ": send the key itself, without Bearer" : "";
    return refuse(invalid, `Invalid API key${hint}`);
  }
  if (takeFault(faults, route, "expired-key") !== undefined || caller.expiresAt <= settings.now()) {
    return refuse(invalid, "The API key has expired");
  }
  // Section 7: "rate limit exceeded for this route and API key". The quota and its minute are undocumented.
  const windows = [{ key: `${route} ${caller.keyHash}`, spanMs: 60_000, atMost: settings.requestsPerMinute }];
  const waitMs = limits.waitMs("", windows);
  if (waitMs > 0) return refuseTooMany(waitMs);
  limits.count(windows);
  context.set("caller", caller);
  return undefined;
}

function refuseTooMany(waitMs: number): Response {
  const headers = { "retry-after": String(Math.ceil(waitMs / 1000)) };
  return refuse(429, "Rate limit exceeded for this route and API key", headers);
}

/** Waits on the injected clock. `runDue`, which the service calls on every tick, wakes the waiters. Nothing sleeps. */
export class Timeline {
  readonly #waiters = new Set<{ at: number; wake: (isDue: boolean) => void }>();
  #isClosed = false;

  constructor(private readonly now: Now) {}

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Resolves to true at the first tick at or after the instant, and to false when the sandbox closes before. */
  waitUntil(at: number): Promise<boolean> {
    if (this.#isClosed || at <= this.now()) return Promise.resolve(!this.#isClosed);
    return new Promise((wake) => this.#waiters.add({ at, wake }));
  }

  runDue(): void {
    this.#wake(({ at }) => at <= this.now());
  }

  close(): void {
    this.#isClosed = true;
    this.#wake(() => true);
  }

  #wake(isOver: (waiter: { at: number }) => boolean): void {
    for (const waiter of [...this.#waiters].filter(isOver)) {
      this.#waiters.delete(waiter);
      waiter.wake(!this.#isClosed);
    }
  }
}
