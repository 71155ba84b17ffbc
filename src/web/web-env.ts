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

/** The caller: a script with the admin token, or a logged-in browser. */
export type Identity = { kind: "token" } | { kind: "session"; session: Session };

/** `Bindings` come from the HTTP server with each request. The guard sets `Variables` for the handlers. */
export interface WebEnv {
  Bindings: { incoming?: IncomingMessage };
  Variables: { identity?: Identity };
}

export type WebContext = Context<WebEnv>;

export type ClientNetworkOf = (c: WebContext) => string;

/** @param trust ranges as for `createIpRanges`. Throws as `createIpRanges` does. */
export function createClientNetwork(trust: ProxyTrust): ClientNetworkOf {
  const networkOf = createRequestNetwork(trust);
  return (c) => networkOf(c.env?.incoming?.socket?.remoteAddress, (name) => c.req.header(name));
}

/** The guard lets only logged-in browsers through to a route with the access `session`. */
export function sessionOf(c: WebContext): Session {
  const identity = c.get("identity");
  if (identity?.kind !== "session") throw new Error(`${c.req.path} was reached without a session`);
  return identity.session;
}

export interface PageDeps extends WebDeps {
  assets: Assets;
  sessions: Sessions;
  cookie: SessionCookie;
  networkOf: ClientNetworkOf;
  codes: LoginCodes;
  answerExport: AnswerExport;
}

export type Frame = ReturnType<typeof frameOf>;

/** The zone of the reader's browser (IANA), or UTC. The script keeps it in a cookie. */
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

/** Called before the page reads its own data: troubles are read meanwhile. `session`: of a page without the guard. */
export function frameOf(c: WebContext, deps: PageDeps, session: Session = sessionOf(c)) {
  const health = deps.operations.health();
  // A page may end before it awaits the health. Without a handler a failure would end the process.
  health.catch(() => {});
  return {
    assets: deps.assets,
    formToken: deps.sessions.formToken(session),
    now: deps.clock.now(),
    timeZone: zoneOf(c),
    /** For the line of health on every page. Never rejects. */
    health: () => health,
  };
}
