import { AppError } from "../../core/errors.ts";
import { nameNetworkCode } from "../../ground/net/network-code.ts";

/** SQLSTATEs of a transaction that the server ended in favour of another. It may succeed when it runs again. */
const codesOfConflict = new Set(["40001", "40P01"]);

/** A server that shuts down, starts, has become a standby, or takes no more connections. */
const codesOfAway = /^(08|57P|53300|25006|25P0[34])/;

/** Faults in the server, the role or the room, not in a statement. */
const codesOfTrouble = /^(08|25006|25P0[34]|28|3D|42501|53|55P03|57|58|XX)/;

export const isConflict = (error: unknown): boolean => codesOfConflict.has(sqlStateOf(error) ?? "");

/** The server has answered, so the statement had no effect. */
export const isAnswered = (error: unknown): boolean => {
  const code = sqlStateOf(error);
  return code !== undefined && !codesOfAway.test(code);
};

/** A migration has changed the result of a prepared statement, which was not run. Messages may be in any language. */
export const isOutdatedPlan = (error: unknown): boolean =>
  sqlStateOf(error) === "0A000" && (error as { routine?: unknown }).routine === "RevalidateCachedQuery";

/** Another session has held a lock for too long. */
export const isLocked = (error: unknown): boolean => sqlStateOf(error) === "55P03";

/** The fault is in the connection or the server: the connection cannot be used any more. */
export function isOfConnection(error: unknown): boolean {
  const { code, message = "" } = (error ?? {}) as { code?: unknown; message?: string };
  if (isOutdatedPlan(error)) return true;
  if (sqlStateOf(error) !== undefined) return !isAnswered(error);
  const isOfSystem = typeof code === "string" && /^(E[A-Z]+|ERR_)/.test(code);
  return isOfSystem || /^(Connection terminated|Query read timeout|Client (has|was))/.test(message);
}

/** The server was a primary when the connection was made. The statement had no effect. */
export const isReadOnly = (error: unknown): boolean => sqlStateOf(error) === "25006";

/** Nobody may connect to this database for now (`ALLOW_CONNECTIONS false`). Other errors have this code, too. */
const isClosed = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === "55000" &&
  (error as { routine?: unknown }).routine === "CheckMyDatabase";

const reopening = "`ALTER DATABASE … ALLOW_CONNECTIONS true` opens it.";

/** The server gives no more connections: to anybody, to this database or to this role. */
export const isCrowded = (error: unknown): boolean => sqlStateOf(error) === "53300";

export const isFull = (error: unknown): boolean => sqlStateOf(error) === "53100";

/** `store_unavailable` for faults of the server or the way to it. A bug stays as it is. No message holds the password. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const code = sqlStateOf(error);
  const isTrouble = code === undefined ? isOfConnection(error) : codesOfTrouble.test(code) || isConflict(error);
  return isTrouble ? toUnavailable(error) : error;
}

/** Like `toStoreError`, where no error can be a bug. */
export function toUnavailable(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const [message, hint] = explain(error);
  return new AppError("store_unavailable", message, {
    hint,
    cause: error,
    retryAfterMs: isFull(error) ? 30_000 : 5_000,
  });
}

function explain(error: unknown): [message: string, hint: string] {
  const code = sqlStateOf(error);
  if (isFull(error))
    return [
      "The disk of the database server is full.",
      "Free space or enlarge its volume; Tocsin recovers by itself when there is room.",
    ];
  if (code === "57014")
    return [
      "The database took too long over one statement.",
      "Look at its load, and for a long transaction that holds it up.",
    ];
  if (code === "25006")
    return [
      "The database answers, but takes no changes: it is a standby.",
      "Tocsin continues as soon as a primary answers at this address.",
    ];
  if (code?.startsWith("28"))
    return [
      `The database refuses the user of DATABASE_URL (${describe(error)}).`,
      "Did its password change, or what pg_hba.conf allows? Tocsin continues by itself when it is let in.",
    ];
  if (isCrowded(error)) return [`The database takes no more connections (${describe(error)}).`, hintOfLimit(error)];
  if (isClosed(error))
    return [
      `The database is closed (${describe(error)}).`,
      `${reopening} Tocsin continues by itself when it is let in.`,
    ];
  if (code === "57P03")
    return [
      `The database is not ready (${describe(error)}).`,
      "It starts, or recovers from a crash. Tocsin continues by itself when it takes connections.",
    ];
  return [
    `The database does not answer (${describe(error)}).`,
    "Look at the database server and at the network to it; Tocsin continues by itself when it answers.",
  ];
}

/** Whether the server has committed is unknown. A resend with the same key finds out. */
export function lostCommit(error: unknown): AppError {
  const message = `The database was lost while it stored a change (${describe(error)}): whether it has is unknown.`;
  const hint = "Send it again with the same idempotency key: what was stored is not stored twice.";
  return new AppError("store_unavailable", message, { hint, cause: error, retryAfterMs: 5_000 });
}

/** A server that is starting, shutting down, or full at the moment, or a broken network. */
const passingCodes =
  /^(08|57P|53|25006|ECONN(REFUSED|RESET|ABORTED)$|E(HOST|NET)(UNREACH|DOWN)$|ETIMEDOUT$|EPIPE$|EAI_AGAIN$)/;

/** Whether waiting may help. People have to mend an address, credentials and settings. */
function isPassing(error: unknown): boolean {
  const { code, message = "", errors } = (error ?? {}) as { code?: unknown; message?: string; errors?: unknown[] };
  if (errors?.length) return errors.some(isPassing);
  if (isClosed(error)) return true;
  if (typeof code === "string") return passingCodes.test(code);
  return /^(timeout expired|Connection terminated|Query read timeout|Client (has|was))/.test(message);
}

/** A failure to open, in words for the person who started Tocsin. It has a `retryAfterMs` where waiting may help. */
export function toOpenError(error: unknown, place: string): unknown {
  if (error instanceof AppError) return error;
  const code = sqlStateOf(error);
  if (code !== undefined && !codesOfTrouble.test(code)) return error;
  const message = `${place} cannot be used: ${describe(error)}.`;
  const retryAfterMs = isPassing(error) ? 5_000 : undefined;
  return new AppError("store_unavailable", message, { hint: hintOf(error, code), cause: error, retryAfterMs });
}

/** Only the server's message says which limit it is. If that is in another language, all limits are named. */
function hintOfLimit(error: unknown): string {
  const text = describe(error);
  const ofRole = "the role's (`ALTER ROLE … CONNECTION LIMIT …`)";
  const ofDatabase = "the database's (`ALTER DATABASE … CONNECTION LIMIT …`)";
  const ofServer = "the server's (`max_connections`)";
  const limit = /for role/.test(text)
    ? ofRole
    : /for database/.test(text)
      ? ofDatabase
      : /clients|slots|reserved/.test(text)
        ? ofServer
        : `${ofRole}, ${ofDatabase} or ${ofServer}`;
  const needs = "a relay uses up to 13 connections, and needs 2. Tocsin continues by itself when it gets one.";
  return `Raise the limit, ${limit}, or end what else is connected: ${needs}`;
}

const onlyTheCa = "uselibpqcompat=true&sslmode=verify-ca&sslrootcert=/path/of/the/ca.pem";

function hintOf(error: unknown, code: string | undefined): string {
  const text = describe(error);
  const { syscall, path } = (error ?? {}) as { syscall?: string; path?: string };
  if (syscall === "open" && path !== undefined)
    return `DATABASE_URL names ${path} (sslrootcert, sslcert or sslkey): is it there, and may the user of this process read it?`;
  if (isCrowded(error)) return hintOfLimit(error);
  if (isClosed(error)) return reopening;
  if (code === "57P03") return "It starts, or recovers from a crash: wait until it takes connections.";
  if (code?.startsWith("28") && /no encryption/.test(text))
    return "It may take only connections with TLS: add `sslmode=verify-full` to DATABASE_URL.";
  if (/pg_hba\.conf/.test(text))
    return "Let this machine and this user in: a line in the server's pg_hba.conf, then `SELECT pg_reload_conf()`.";
  if (code?.startsWith("28")) return "Is the user, and its password, in DATABASE_URL right?";
  if (code === "3D000") return "Create it with `CREATE DATABASE`, or name another in DATABASE_URL.";
  if (code === "42501")
    return "Let the user of DATABASE_URL create tables there: `GRANT CREATE ON SCHEMA public TO …`.";
  if (/ALTNAME/.test(text))
    return `Name it in DATABASE_URL as its certificate does; or, where that cannot be, have the CA alone checked: \`${onlyTheCa}\`.`;
  if (/certificate|self-signed|self signed/.test(text))
    return "Add `sslmode=verify-full&sslrootcert=/path/of/the/ca.pem` to DATABASE_URL, with the CA that signed its certificate.";
  if (/SSL/.test(text))
    return "Without TLS there, leave `sslmode` out of DATABASE_URL; else see that the server has `ssl = on`.";
  return "Is DATABASE_URL right, and does the server run there?";
}

/** `ECONNREFUSED`, `57P03: the database system is starting up`. */
function describe(error: unknown): string {
  const { code, message, errors } = (error ?? {}) as { code?: string; message?: string; errors?: unknown[] };
  // The name had several addresses, and each was tried.
  if (!message && errors?.length) return describe(errors[0]);
  const text = (message || code || "no reason given").replace(/\.$/, "");
  if (code === undefined) return text;
  return text.includes(code) ? text.replace(`connect ${code}`, nameNetworkCode(code)) : `${code}: ${text}`;
}

/** Five characters. Errors of the system and of this driver have none. A closed database counts as a server that starts. */
function sqlStateOf(error: unknown): string | undefined {
  if (isClosed(error)) return "57P03";
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && "severity" in (error as object) ? code : undefined;
}
