export interface OriginHeaders {
  origin?: string;
  secFetchSite?: string;
  /** The Host header. */
  host?: string;
}

/** Where a request that changes something came from, by the browser's word. */
export type OriginVerdict = "same" | "foreign" | "unknown";

/**
 * Works behind a proxy that ends TLS, where this process sees http and perhaps another host: an origin is ours when it
 * is the public one, or the host that the browser itself addressed. The public host counts only with its own scheme.
 *
 * `unknown`: a page with `no-referrer` on plain http sends `Origin: null` and no `Sec-Fetch-Site`; the session's form
 * token has to speak for it.
 *
 * Not Hono's `csrf()`: it has no such third answer, lets JSON pass, and is content when one of the two headers is right.
 */
export function judgeOrigin(headers: OriginHeaders, publicUrl: string): OriginVerdict {
  const { origin, secFetchSite, host } = headers;
  if (secFetchSite === "same-origin") return "same";
  if (secFetchSite === "cross-site" || secFetchSite === "same-site") return "foreign";
  if (origin === undefined || origin === "null") return "unknown";
  if (!URL.canParse(origin)) return "foreign";
  const given = new URL(origin);
  const own = new URL(publicUrl);
  if (given.host === own.host) return given.protocol === own.protocol ? "same" : "foreign";
  return given.host === host?.toLowerCase() ? "same" : "foreign";
}
