import type { IncomingMessage } from "node:http";
import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import type { LoginCodes } from "../contract/login-link.ts";
import { createRequestNetwork, type ProxyTrust } from "../ground/net/client-address.ts";
import { oncePerZone } from "../ground/time/zoned-time.ts";
import type { Session, SessionCookie, Sessions } from "./access/session.ts";
import type { Assets } from "./assets.ts";
import type { AnswerExport } from "./export.ts";
import type { WebDeps } from "./web-deps.ts";

/** The caller: a script with the admin token, or a browser that has logged in with it. */
export type Identity = { kind: "token" } | { kind: "session"; session: Session };

/** What the HTTP server hands in with each request, and what the guard leaves for the handlers. */
export interface WebEnv {
  Bindings: { incoming?: IncomingMessage };
  Variables: { identity?: Identity };
}

export type WebContext = Context<WebEnv>;

/** The network that a request came from, see `createRequestNetwork`. */
export type ClientNetworkOf = (c: WebContext) => string;

/** @param trust ranges as `createIpRanges` takes them; throws what that throws. */
export function createClientNetwork(trust: ProxyTrust): ClientNetworkOf {
  const networkOf = createRequestNetwork(trust);
  return (c) => networkOf(c.env?.incoming?.socket?.remoteAddress, (name) => c.req.header(name));
}

/** The session of a page's request; the guard lets nobody else through to a route whose access is `session`. */
export function sessionOf(c: WebContext): Session {
  const identity = c.get("identity");
  if (identity?.kind !== "session") throw new Error(`${c.req.path} was reached without a session`);
  return identity.session;
}

/** What every page's routes are made from. */
export interface PageDeps extends WebDeps {
  assets: Assets;
  sessions: Sessions;
  cookie: SessionCookie;
  networkOf: ClientNetworkOf;
  codes: LoginCodes;
  answerExport: AnswerExport;
}

/** What every page that is behind the login is drawn with. */
export type Frame = ReturnType<typeof frameOf>;

/** The zone that the reader's browser has named (IANA), or UTC: the script keeps it in a cookie. */
export function zoneOf(c: WebContext): string {
  const named = getCookie(c, "zone");
  return named === undefined || named.length > 60 ? "UTC" : zoneNamed(named);
}

const zoneNamed = oncePerZone((name) => {
  try {
    return new Intl.DateTimeFormat("en-GB", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return "UTC";
  }
});

/**
 * Called before the page reads its own data, so that troubles are looked for meanwhile. `session`: given by a page that the guard
 * has not looked at.
 */
export function frameOf(c: WebContext, deps: PageDeps, session: Session = sessionOf(c)) {
  const health = deps.operations.health();
  // A page that ends before it asks for them leaves nobody to hear of a failure, and that would end the process.
  health.catch(() => {});
  return {
    assets: deps.assets,
    formToken: deps.sessions.formToken(session),
    now: deps.clock.now(),
    timeZone: zoneOf(c),
    /** For the line that stands on every page. Never rejects. */
    health: () => health,
  };
}
