import { randomBytes } from "node:crypto";
import type { Secret } from "../core/secret.ts";
import { isSameText, signText } from "./keyed-hash.ts";

export interface Session {
  /** Random; in no log and on no page. */
  id: string;
  startedAt: number;
  /** When the cookie was last made anew. */
  seenAt: number;
}

export interface SessionOptions {
  /** Without any request for so long, a session ends. Default 12 h. Milliseconds. */
  idleMs?: number;
  /** A session ends so long after the login, whatever happens. Default 7 d. Milliseconds. */
  absoluteMs?: number;
}

export interface SessionDeps {
  adminToken: Secret;
  now(): number;
}

export interface Sessions {
  start(): Session;
  /** The session of a cookie, when it is genuine and has not ended. */
  read(cookie: string | undefined): Session | undefined;
  /** Whether it has neither been ended nor run out since it was read. */
  isLive(session: Session): boolean;
  /** The same session as seen just now; undefined while the cookie is fresh enough. */
  renew(session: Session): Session | undefined;
  end(session: Session): void;
  format(session: Session): string;
  /** Milliseconds from now after which the cookie is worth nothing. */
  lifetimeMs(session: Session): number;
  /** Proves that a form came from a page of this session, where a browser says nothing of its origin. */
  formToken(session: Session): string;
}

const hour = 60 * 60 * 1000;
const renewAfterMs = 5 * 60 * 1000;

/**
 * Sessions are signed cookies, so that a restart logs nobody out, keyed from the admin token, so that a new token logs
 * everybody out. Those that were ended by hand are remembered by this process until they would have run out.
 */
export function createSessions({ adminToken, now }: SessionDeps, options: SessionOptions = {}): Sessions {
  const { idleMs = 12 * hour, absoluteMs = 7 * 24 * hour } = options;
  const ended = new Map<string, number>();

  function endsAt({ startedAt, seenAt }: Session): number {
    return Math.min(seenAt + idleMs, startedAt + absoluteMs);
  }

  function forgetEnded(): void {
    for (const [id, until] of ended) if (until <= now()) ended.delete(id);
  }

  function isLive(session: Session): boolean {
    return now() < endsAt(session) && !ended.has(session.id);
  }

  return {
    start: () => ({ id: randomBytes(16).toString("base64url"), startedAt: now(), seenAt: now() }),
    read(cookie) {
      const [id, startedAt, seenAt, signature, ...rest] = (cookie ?? "").split(".");
      if (!id || !startedAt || !seenAt || !signature || rest.length > 0) return undefined;
      if (!isSameText(signature, signText(adminToken, "session", `${id}.${startedAt}.${seenAt}`)))
        return undefined;
      const session = {
        id,
        startedAt: Number.parseInt(startedAt, 36),
        seenAt: Number.parseInt(seenAt, 36),
      };
      return isLive(session) ? session : undefined;
    },
    isLive,
    renew: (session) => (now() - session.seenAt < renewAfterMs ? undefined : { ...session, seenAt: now() }),
    end(session) {
      forgetEnded();
      ended.set(session.id, session.startedAt + absoluteMs);
    },
    format({ id, startedAt, seenAt }) {
      const text = `${id}.${startedAt.toString(36)}.${seenAt.toString(36)}`;
      return `${text}.${signText(adminToken, "session", text)}`;
    },
    lifetimeMs: (session) => Math.max(0, endsAt(session) - now()),
    formToken: (session) => signText(adminToken, "form", session.id),
  };
}
