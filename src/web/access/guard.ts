import type { MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import { AppError } from "../../core/errors.ts";
import { readField, readForm } from "../form.ts";
import type { WebDeps } from "../web-deps.ts";
import type { Identity, WebContext, WebEnv } from "../web-env.ts";
import type { ClientNetworkOf } from "./client-address.ts";
import { judgeOrigin } from "./form-origin.ts";
import { isSameText } from "./keyed-hash.ts";
import { routeTable } from "./route-table.ts";
import { safeNext } from "./safe-next.ts";
import type { Sessions } from "./session.ts";
import type { SessionCookie } from "./session-cookie.ts";
import type { TokenCheck } from "./token-check.ts";

export interface GuardDeps extends Pick<WebDeps, "publicUrl" | "log"> {
  sessions: Pick<Sessions, "renew" | "formToken">;
  cookie: SessionCookie;
  tokenCheck: TokenCheck;
  networkOf: ClientNetworkOf;
}

/** The name of the form field that holds the session's form token. */
export const formTokenField = "form_token";

/**
 * Lets a request through to its route when the route table allows it, and leaves who asks for the handler.
 *
 * 401 without a token or with a wrong one, 429 for a wrong one after many (`createTokenCheck`);
 * browsers without a session are sent to the login; 403 for a form of another site.
 */
export function createGuard(deps: GuardDeps): MiddlewareHandler<WebEnv> {
  return async (c, next) => {
    const route = matchedRoutes(c).find(({ method }) => method !== "ALL");
    if (route === undefined) throw new AppError("not_found", "There is no such page.");
    const access = routeTable[`${route.method} ${route.path}`];
    if (access === undefined)
      throw new Error(`${route.method} ${route.path} is missing from the route table`);
    const changesState = c.req.method !== "GET" && c.req.method !== "HEAD";
    const origin = changesState ? judgeOriginOf(c, deps.publicUrl) : "same";

    switch (access) {
      case "open":
        if (origin === "foreign") throw foreignForm();
        return next();
      case "token":
        requireToken(c, deps);
        return next();
      case "token or session": {
        const session = c.req.header("authorization") === undefined ? deps.cookie.read(c) : undefined;
        if (session === undefined) requireToken(c, deps);
        else {
          if (origin !== "same") throw foreignForm();
          admit(c, { kind: "session", session }, deps);
        }
        return next();
      }
      case "session": {
        const session = deps.cookie.read(c);
        if (session === undefined) return c.redirect(`/login?next=${encodeURIComponent(nextOf(c))}`, 303);
        if (origin === "foreign") throw foreignForm();
        if (changesState) await requireFormToken(c, deps.sessions.formToken(session));
        admit(c, { kind: "session", session }, deps);
        return next();
      }
      default:
        return access satisfies never;
    }
  };
}

function judgeOriginOf(c: WebContext, publicUrl: string) {
  const headers = {
    origin: c.req.header("origin"),
    secFetchSite: c.req.header("sec-fetch-site"),
    host: c.req.header("host"),
  };
  return judgeOrigin(headers, publicUrl);
}

function admit(c: WebContext, identity: Extract<Identity, { kind: "session" }>, deps: GuardDeps): void {
  c.set("identity", identity);
  const renewed = deps.sessions.renew(identity.session);
  if (renewed !== undefined) deps.cookie.write(c, renewed);
}

function requireToken(c: WebContext, { tokenCheck, networkOf, log }: GuardDeps): void {
  const given = /^Bearer +(\S+) *$/i.exec(c.req.header("authorization") ?? "")?.[1];
  if (given === undefined) {
    throw new AppError("unauthorized", "This needs the admin token.", {
      hint: "Send the header Authorization: Bearer <ADMIN_TOKEN>.",
    });
  }
  const verdict = tokenCheck.judge(given, () => networkOf(c));
  switch (verdict.kind) {
    case "right":
      c.set("identity", { kind: "token" });
      return;
    case "limited":
      throw tooManyTries(verdict.waitMs);
    case "wrong":
      log.warn("token.refused", { address: networkOf(c) });
      throw new AppError("unauthorized", "This is not the admin token.", {
        hint: "Compare it with ADMIN_TOKEN or the file secrets/admin-token in DATA_DIR.",
      });
    default:
      verdict satisfies never;
  }
}

/** The field, since a browser may send a form without saying where it comes from. */
async function requireFormToken(c: WebContext, wanted: string): Promise<void> {
  const given = readField(await readForm(c), formTokenField);
  if (isSameText(given, wanted)) return;
  throw new AppError("forbidden", "This form belongs to another login.", {
    hint: "Open the page again and repeat it there.",
  });
}

function foreignForm(): AppError {
  return new AppError("forbidden", "This request came from another site, so nothing was changed.", {
    hint: "Open the page under its own address. Behind a proxy, set PUBLIC_URL to the address that browsers use.",
  });
}

export function tooManyTries(waitMs: number): AppError {
  return new AppError(
    "rate_limited",
    "This is not the admin token, and too many wrong ones came before it.",
    {
      hint: `The right one is taken at any time. Try another in ${Math.ceil(waitMs / 1000)} seconds.`,
      retryAfterMs: waitMs,
    },
  );
}

/** Where the browser wanted to go, as far as it may be repeated; after a form, the page that the form was on. */
function nextOf(c: WebContext): string {
  const url = new URL(c.req.url);
  if (c.req.method === "GET" || c.req.method === "HEAD") return safeNext(`${url.pathname}${url.search}`);
  const [, section = "", id = ""] = url.pathname.split("/");
  return safeNext(section === "alerts" ? `/alerts/${id}` : `/${section}`);
}
