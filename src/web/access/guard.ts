import type { MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import { failedFilters } from "../../contract/alert-query.ts";
import { AppError } from "../../core/errors.ts";
import { isSameText } from "../../core/secret.ts";
import { readField, readForm } from "../form.ts";
import { type Identity, type PageDeps, sessionOf, type WebContext, type WebEnv } from "../web-env.ts";
import type { Sessions } from "./session.ts";
import { admitToken } from "./token-check.ts";

/** `session`: a logged-in browser. Others go to the login. `token or session`: also the admin token. Others get 401. */
type Access = "open" | "session" | "token or session";

const open = new Set([
  "GET /login",
  "POST /login",
  "GET /assets/:file",
  // The signature in the address proves that the caller may have the picture.
  "GET /pictures/:name",
]);

/** A route without a rule needs a session, so a forgotten rule opens nothing. */
export function accessTo(route: string): Access {
  if (open.has(route)) return "open";
  return /^\w+ \/api\//.test(route) ? "token or session" : "session";
}

type GuardDeps = Pick<PageDeps, "publicUrl" | "log" | "tokenCheck" | "sessions" | "cookie" | "networkOf">;

export const formTokenField = "form_token";

/**
 * Lets a request through when the caller may use its route, and keeps the caller's identity for the handler. 401
 * without a token or with a wrong one, 429 after many wrong ones. Browsers without a session go to the login. 403 for a
 * form of another site.
 */
export function createGuard(deps: GuardDeps): MiddlewareHandler<WebEnv> {
  return async (c, next) => {
    const access = accessOf(c);
    const headers = {
      origin: c.req.header("origin"),
      secFetchSite: c.req.header("sec-fetch-site"),
      host: c.req.header("host"),
    };
    const origin = changesState(c) ? judgeOrigin(headers, deps.publicUrl) : "same";

    switch (access) {
      case "open":
        if (origin === "foreign") throw foreignForm();
        return next();
      case "token or session": {
        const session = c.req.header("authorization") === undefined ? deps.cookie.read(c) : undefined;
        if (session === undefined) {
          await admitToken(c.req.header("authorization"), () => deps.networkOf(c), deps);
          c.set("identity", { kind: "token" });
          return next();
        }
        if (origin !== "same") throw foreignForm();
        admit(c, { kind: "session", session }, deps);
        return next();
      }
      case "session": {
        const session = deps.cookie.read(c);
        if (session === undefined) return c.redirect(`/login?next=${encodeURIComponent(nextOf(c))}`, 303);
        if (origin === "foreign") throw foreignForm();
        admit(c, { kind: "session", session }, deps);
        return next();
      }
      default:
        return access satisfies never;
    }
  };
}

/** A browser may send a form without naming the form's site, so the form token is checked too. Reads the body. */
export function createFormCheck(sessions: Pick<Sessions, "formToken">): MiddlewareHandler<WebEnv> {
  return async (c, next) => {
    if (changesState(c) && accessOf(c) === "session") {
      const given = readField(await readForm(c), formTokenField);
      if (!isSameText(given, sessions.formToken(sessionOf(c)))) {
        throw new AppError("forbidden", "This form belongs to another login.", {
          hint: "Open the page again and repeat it there.",
        });
      }
    }
    return next();
  };
}

function accessOf(c: WebContext): Access {
  const route = matchedRoutes(c).find(({ method }) => method !== "ALL");
  if (route === undefined) throw new AppError("not_found", "There is no such page.");
  return accessTo(`${route.method} ${route.path}`);
}

function changesState({ req }: WebContext): boolean {
  return req.method !== "GET" && req.method !== "HEAD";
}

function admit(c: WebContext, identity: Extract<Identity, { kind: "session" }>, deps: GuardDeps): void {
  c.set("identity", identity);
  const renewed = deps.sessions.renew(identity.session);
  if (renewed !== undefined) deps.cookie.write(c, renewed);
}

function foreignForm(): AppError {
  return new AppError("forbidden", "This request came from another site, so nothing was changed.", {
    hint: "Open the page under its own address. Behind a proxy, set PUBLIC_URL to the address that browsers use.",
  });
}

/** The page that the browser wanted, or the page of the form. Parameters that must not be repeated are left out. */
function nextOf(c: WebContext): string {
  const url = new URL(c.req.url);
  if (c.req.method === "GET" || c.req.method === "HEAD") return safeNext(`${url.pathname}${url.search}`);
  const [, section = "", id = ""] = url.pathname.split("/");
  return safeNext(section === "alerts" ? `/alerts/${id}` : `/${section}`);
}

/** The parameters that survive a login: the filters of the log, its place, and the mute to release. */
const parameters = new Set([...Object.keys(failedFilters.shape), "view", "span", "cursor", "format", "before"]);

/**
 * The address after the login: a path of this site, or the log for an address that a browser could read as another
 * site. Unknown parameters are dropped: one may be a token that somebody put into the address.
 */
export function safeNext(next: string | undefined): string {
  if (next === undefined || !/^\/(?![/\\])[^\\\p{Cc}]*$/u.test(next)) return "/";
  const base = "http://tocsin.invalid";
  if (!URL.canParse(next, base)) return "/";
  const url = new URL(next, base);
  if (url.origin !== base || url.pathname.startsWith("//")) return "/";
  if (url.pathname === "/login" || url.pathname === "/logout") return "/";
  for (const name of [...url.searchParams.keys()]) if (!parameters.has(name)) url.searchParams.delete(name);
  // Each alert key begins with its kind, as `rule:…`. A token has no colon.
  if (url.searchParams.get("key")?.includes(":") === false) url.searchParams.delete("key");
  return `${url.pathname}${url.search}`;
}

export interface OriginHeaders {
  origin?: string;
  secFetchSite?: string;
  host?: string;
}

type OriginVerdict = "same" | "foreign" | "unknown";

/**
 * Compares the origin that the browser names with ours: the public origin, or the host that the browser addressed.
 * Behind a proxy that ends TLS this process sees http, and perhaps another host.
 * `unknown`: a page with `no-referrer` on plain http sends `Origin: null` and no `Sec-Fetch-Site`. Then the session's
 * form token decides.
 * Hono's `csrf()` has no third answer, lets JSON pass, and accepts a request when one of the two headers is right.
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
