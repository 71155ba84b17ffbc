import type { IncomingMessage } from "node:http";
import type { Context } from "hono";
import { createRequestNetwork, type ProxyTrust } from "../ground/net/client-address.ts";
import type { Session } from "./access/session.ts";

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
