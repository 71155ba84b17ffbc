import type { MiddlewareHandler } from "hono";
import type { WebEnv } from "./web-env.ts";

/** Nothing from elsewhere, nothing inline, in nobody's frame. */
const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const twoYearsS = 2 * 365 * 24 * 60 * 60;

/** On every answer, errors included. Nothing is cached unless the route says so itself. */
export function securityHeaders(isHttps: boolean): MiddlewareHandler<WebEnv> {
  return async (c, next) => {
    await next();
    const { headers } = c.res;
    headers.set("content-security-policy", contentSecurityPolicy);
    headers.set("x-content-type-options", "nosniff");
    headers.set("referrer-policy", "no-referrer");
    headers.set("x-frame-options", "DENY");
    headers.set("cross-origin-opener-policy", "same-origin");
    headers.set("cross-origin-resource-policy", "same-origin");
    if (isHttps) headers.set("strict-transport-security", `max-age=${twoYearsS}`);
    if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  };
}
