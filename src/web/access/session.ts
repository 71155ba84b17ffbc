import { randomBytes } from "node:crypto";
import { getCookie, setCookie } from "hono/cookie";
import type { ExpiringKeyStore } from "../../core/ports/shared.ts";
import { hashText, readSigned, type Secret, signText, writeSigned } from "../../core/secret.ts";
import { hourMs } from "../../ground/time/spans.ts";
import type { WebContext } from "../web-env.ts";

export interface Session {
  /** Random. Never in a log or on a page. */
  id: string;
  startedAt: number;
  /** The instant of the cookie's last renewal. */
  seenAt: number;
}

export interface SessionDeps {
  adminToken: Secret;
  store: Pick<ExpiringKeyStore, "putKeyIfAbsent" | "listKeys">;
  now(): number;
  /** Called when sessions have ended: here at once, at another relay after a look. */
  onEnded(): void;
}

export type Sessions = Awaited<ReturnType<typeof openSessions>>;

/** A session ends this long after its last request. */
const idleMs = 12 * hourMs;
/** A session ends this long after the login, even in use. */
const absoluteMs = 7 * 24 * hourMs;
const renewAfterMs = 5 * 60 * 1000;

/**
 * Sessions are signed cookies, so a restart logs nobody out. The key comes from the admin token, so a new token logs
 * everybody out. The store keeps hashes of ended sessions, and memory a copy for each request. Hono's signed cookies
 * have another form: an upgrade to them would log everybody out.
 */
export async function openSessions({ adminToken, store, now, onEnded }: SessionDeps) {
  const known = await store.listKeys("ended-session", now());
  const ended = new Map(known.map(({ key, expiresAt }) => [key, expiresAt]));

  function endsAt({ startedAt, seenAt }: Session): number {
    return Math.min(seenAt + idleMs, startedAt + absoluteMs);
  }

  function forgetEnded(): void {
    for (const [key, until] of ended) if (until <= now()) ended.delete(key);
  }

  function lifetimeMs(session: Session): number {
    return ended.has(hashText(session.id)) ? 0 : Math.max(0, endsAt(session) - now());
  }

  return {
    start: () => ({ id: randomBytes(16).toString("base64url"), startedAt: now(), seenAt: now() }),
    read(cookie: string | undefined): Session | undefined {
      const parts = cookie === undefined ? undefined : readSigned(adminToken, "session", cookie);
      if (parts === undefined) return undefined;
      const [id = "", startedAt = "", seenAt = ""] = parts;
      const session = { id, startedAt: Number.parseInt(startedAt, 36), seenAt: Number.parseInt(seenAt, 36) };
      return lifetimeMs(session) > 0 ? session : undefined;
    },
    /** The session with the present time as `seenAt`. Undefined while the cookie is fresh enough. */
    renew: (session: Session) => (now() - session.seenAt < renewAfterMs ? undefined : { ...session, seenAt: now() }),
    /**
     * Ends the session here at once. When this resolves, all relays know, also after a restart.
     * @throws AppError `store_unavailable` when the end cannot be recorded.
     */
    async end(session: Session): Promise<void> {
      const entry = { key: hashText(session.id), expiresAt: session.startedAt + absoluteMs };
      forgetEnded();
      ended.set(entry.key, entry.expiresAt);
      onEnded();
      await store.putKeyIfAbsent("ended-session", entry, now());
    },
    /** Learns of sessions that other relays have ended. @throws AppError `store_unavailable` */
    async lookForEnded(): Promise<void> {
      const news = (await store.listKeys("ended-session", now())).filter(({ key }) => !ended.has(key));
      if (news.length === 0) return;
      forgetEnded();
      for (const { key, expiresAt } of news) ended.set(key, expiresAt);
      onEnded();
    },
    format: ({ id, startedAt, seenAt }: Session) =>
      writeSigned(adminToken, "session", id, startedAt.toString(36), seenAt.toString(36)),
    /** Milliseconds from now until the cookie is worthless. 0 when the session is over. */
    lifetimeMs,
    /** Shows that a form came from a page of this session, where the browser does not name the origin. */
    formToken: (session: Session) => signText(adminToken, "form", session.id),
  };
}

export type SessionCookie = ReturnType<typeof createSessionCookie>;

/** Lax: links from a chat open the page, and no foreign form can act. `__Host-`: no other host can set the cookie. */
export function createSessionCookie(sessions: Sessions, isHttps: boolean) {
  const name = isHttps ? "__Host-tocsin_session" : "tocsin_session";
  const options = { path: "/", httpOnly: true, sameSite: "Lax", secure: isHttps } as const;
  return {
    read: (c: WebContext) => sessions.read(getCookie(c, name)),
    write(c: WebContext, session: Session): void {
      const maxAge = Math.floor(sessions.lifetimeMs(session) / 1000);
      setCookie(c, name, sessions.format(session), { ...options, maxAge });
    },
    clear: (c: WebContext) => setCookie(c, name, "", { ...options, maxAge: 0 }),
  };
}
