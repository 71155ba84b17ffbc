import { AppError, type ErrorCode } from "../core/errors.ts";
import { oneLine } from "../ground/text/clean.ts";
import { readJson } from "../ground/text/read-json.ts";

/** An answer without success. The bodies of errors are not documented. */
export interface RefusedAnswer {
  status: number;
  /** The body as text, as far as it was read. */
  text: string;
  contentType: string;
  retryAfterMs?: number;
}

/** `where` names interface and operation, `keyName` the variable with the key. */
export function describeRefusal(answer: RefusedAnswer, where: string, keyName: string): AppError {
  const code = codeOf(answer.status);
  const said = excerpt(answer);
  const message = `${where} answered ${answer.status}${said === "" ? "" : `: ${said}`}`;
  return new AppError(code, message, {
    // Every key has an account, so the interface itself is missing.
    hint:
      code === "upstream_not_found" && where.endsWith(" /account")
        ? "this is not the address of the alerting interface; check ALERTING_URL, its path as well"
        : hintOf(code, answer, keyName),
    retryAfterMs: answer.retryAfterMs,
  });
}

function codeOf(status: number): ErrorCode {
  if (status === 401) return "upstream_unauthorized";
  if (status === 403) return "upstream_forbidden";
  if (status === 404) return "upstream_not_found";
  if (status === 409) return "upstream_conflict";
  if (status === 429) return "upstream_rate_limited";
  if (status >= 500) return "upstream_failed";
  if (status >= 400) return "upstream_rejected";
  return "upstream_bad_answer";
}

/** The codes by which a service says that a page or a time does not exist. */
export const refusals: readonly ErrorCode[] = ["upstream_not_found", "upstream_rejected"];

/** For `catch`: returns the error of a refusal, and throws any other. */
export function refusalOf(error: unknown): AppError {
  if (error instanceof AppError && refusals.includes(error.code)) return error;
  throw error;
}

function hintOf(code: ErrorCode, answer: RefusedAnswer, keyName: string): string | undefined {
  switch (code) {
    case "upstream_unauthorized":
      return `the service saw no valid key; check ${keyName}, and whether it has expired`;
    case "upstream_forbidden":
      return `the service refuses this key; check ${keyName}, and whether it has expired`;
    case "upstream_rate_limited":
      return answer.retryAfterMs === undefined
        ? "too many requests; wait a minute and try again"
        : `too many requests; try again in ${Math.ceil(answer.retryAfterMs / 1000)} s`;
    case "upstream_failed":
      return "the service has a problem of its own; try again later";
    case "upstream_bad_answer":
      return "the address may be wrong: redirects are not followed, since they would take the key elsewhere";
    default:
      return undefined;
  }
}

const longestExcerpt = 300;

/** The service's explanation on one line. An HTML page is named by its title. */
function excerpt(answer: { text: string; contentType: string }): string {
  const text = answer.text.trim();
  if (text === "") return "";
  if (looksLikeHtml(answer)) {
    const title = /<title[^<>]*>([^<]*)/i.exec(text)?.[1]?.trim();
    return title ? `an HTML page, "${oneLine(title, 80)}"` : "an HTML page";
  }
  return oneLine(messageIn(readJson(text)) ?? text, longestExcerpt);
}

export function looksLikeHtml(answer: { text: string; contentType: string }): boolean {
  return /html/i.test(answer.contentType) || /^\s*<(!doctype|html|head|body)/i.test(answer.text);
}

/** Finds a message in the usual places of an error body. */
function messageIn(body: unknown, depth = 0): string | undefined {
  if (typeof body === "string") return body === "" ? undefined : body;
  if (typeof body !== "object" || body === null || depth > 3) return undefined;
  if (Array.isArray(body)) return messageIn(body[0], depth + 1);
  for (const name of ["message", "detail", "reason", "error", "errors", "data"]) {
    const found = messageIn((body as Record<string, unknown>)[name], depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
