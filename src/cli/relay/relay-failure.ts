import { AppError, type ErrorCode, errorCodes } from "../../core/errors.ts";

/** Nobody listens there. Told apart from every other failure, since the database can be read instead. */
export class RelayUnreachable extends AppError {
  constructor(message: string) {
    super("relay_unreachable", message, {
      hint: "start it with: tocsin serve. If it runs elsewhere, set HOST and PORT as it has them, or say --url",
    });
    this.name = "RelayUnreachable";
  }
}

/** Something answers that does not speak as a relay does. */
export function notARelay(url: string, why: string): AppError {
  return new AppError("failed", `what answers at ${url} is no Tocsin relay of this version: ${why}`, {
    hint: "check PORT, HOST or --url; after an upgrade restart the relay",
  });
}

/** It answers, and has no `GET /api/status`. */
export function olderRelay(url: string): AppError {
  return new AppError("failed", `the relay at ${url} is older than this command: it has no GET /api/status`, {
    hint: "restart it with this version, or run the command of its own version; /readyz and /metrics answer meanwhile",
  });
}

/** The relay's own words for what it refuses: `{"error":{"code","message","hint"?}}`. */
export function readRefusal(url: string, status: number, text: string, tokenFrom?: string): AppError {
  const told = readError(text);
  if (told === undefined && status === 503) return starting(url);
  if (told === undefined) return notARelay(url, `it answers with ${status}`);
  if (told.code !== "unauthorized") return new AppError(told.code, told.message, { hint: told.hint });
  const which = tokenFrom === undefined ? "the admin token" : `the admin token of ${tokenFrom}`;
  return new AppError("unauthorized", `the relay at ${url} does not take ${which}`, {
    hint: "run this with the ADMIN_TOKEN or the DATA_DIR that the relay runs with, or say --token-file FILE",
  });
}

/** What the listener answers before there are pages. */
function starting(url: string): AppError {
  return new AppError("store_unavailable", `the relay at ${url} is starting`, {
    hint: "try again in a moment",
  });
}

function readError(text: string): { code: ErrorCode; message: string; hint?: string } | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown; hint?: unknown } };
    if (typeof error?.message !== "string") return undefined;
    const code = errorCodes.find((known) => known === error.code) ?? "failed";
    return { code, message: error.message, hint: typeof error.hint === "string" ? error.hint : undefined };
  } catch {
    return undefined;
  }
}
