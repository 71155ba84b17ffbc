import { alertFilters } from "../alert-query.ts";

/** What pages read in an address and is worth coming back to: the filters of the log and its place. */
const parameters = new Set([...Object.keys(alertFilters.shape), "cursor"]);

/**
 * Where to go after the login: a path of this site, or the log. Anything that a browser could read as another site is the log.
 * Parameters that no page has are dropped: one may be a token that somebody put into the address.
 */
export function safeNext(next: string | undefined): string {
  if (next === undefined || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(next)) return "/";
  const base = "http://tocsin.invalid";
  if (!URL.canParse(next, base)) return "/";
  const url = new URL(next, base);
  if (url.origin !== base || url.pathname.startsWith("//")) return "/";
  if (url.pathname === "/login" || url.pathname === "/logout") return "/";
  for (const name of [...url.searchParams.keys()]) if (!parameters.has(name)) url.searchParams.delete(name);
  return `${url.pathname}${url.search}`;
}
