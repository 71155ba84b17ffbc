import { getCookie, setCookie } from "hono/cookie";
import type { WebContext } from "../web-env.ts";
import type { Session, Sessions } from "./session.ts";

export interface SessionCookie {
  read(c: WebContext): Session | undefined;
  write(c: WebContext, session: Session): void;
  clear(c: WebContext): void;
}

/**
 * HttpOnly and SameSite=Lax, so that links from a chat open the page and no foreign form acts. With https also Secure, and
 * named `__Host-`, which no other host or path can set.
 */
export function createSessionCookie(sessions: Sessions, isHttps: boolean): SessionCookie {
  const name = isHttps ? "__Host-tocsin_session" : "tocsin_session";
  const options = { path: "/", httpOnly: true, sameSite: "Lax", secure: isHttps } as const;
  return {
    read: (c) => sessions.read(getCookie(c, name)),
    write(c, session) {
      const maxAge = Math.floor(sessions.lifetimeMs(session) / 1000);
      setCookie(c, name, sessions.format(session), { ...options, maxAge });
    },
    clear: (c) => setCookie(c, name, "", { ...options, maxAge: 0 }),
  };
}
