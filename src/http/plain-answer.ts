import type { ServerResponse } from "node:http";
import type { SpoolView } from "../contract/operations.ts";
import { AppError, httpStatusOf } from "../core/errors.ts";
import { waitsInSpool } from "../core/ports/relays.ts";

export function headersOfError({ code, retryAfterMs }: AppError): Record<string, string> {
  return {
    ...(retryAfterMs !== undefined && { "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }),
    ...(code === "unauthorized" && { "www-authenticate": 'Bearer realm="tocsin"' }),
  };
}

export const bodyOfError = ({ code, message, hint }: AppError) => ({ error: { code, message, hint } });

/** Adds to the error how many alerts wait in the spool, since no page can show them. `spool`: absent without one. */
export function withSpool(error: AppError, spool: SpoolView | undefined): AppError {
  if (error.code !== "store_unavailable" || !spool?.alerts) return error;
  const waits = `${waitsInSpool(spool.alerts)}: all were answered 202, and are sent when it is back.`;
  const { message, hint, cause, retryAfterMs } = error;
  return new AppError(error.code, message, { hint: hint ? `${hint} ${waits}` : waits, cause, retryAfterMs });
}

export type AnswerPlainly = (
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
  more?: Record<string, string>,
) => void;

/** Answers on Node's own response, in the form of the pages' answers. @param headers for every answer */
export function createPlainAnswer(headers: Record<string, string>): AnswerPlainly {
  return (response, status, type, text, more) => {
    const length = { "content-length": Buffer.byteLength(text) };
    const all = { ...headers, "content-type": type, "cache-control": "no-store", ...length, ...more };
    response.writeHead(status, all).end(text);
  };
}

export function answerErrorPlainly(answer: AnswerPlainly, response: ServerResponse, error: AppError): void {
  const text = JSON.stringify(bodyOfError(error));
  answer(response, httpStatusOf(error.code), "application/json", text, headersOfError(error));
}
