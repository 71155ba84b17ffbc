import { HTTPException } from "hono/http-exception";
import { AppError, httpStatusOf } from "../core/errors.ts";
import { bodyOfError, headersOfError } from "../http/plain-answer.ts";
import type { WebContext } from "./web-env.ts";

/** The words of an unexpected failure stay in the log. */
export function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  if (thrown instanceof HTTPException && thrown.status < 500) {
    const code = thrown.status === 413 ? "too_large" : "invalid_request";
    const message = thrown.status === 413 ? "The body is too large." : "The body is not valid JSON.";
    return new AppError(code, message, { cause: thrown });
  }
  if (isBrokenOff(thrown)) {
    return new AppError("invalid_request", "The request broke off before its end.", { cause: thrown });
  }
  return new AppError("internal", "This failed inside Tocsin.", {
    hint: "The log of the process says more.",
    cause: thrown,
  });
}

/** Whether the sender went away within the body, by Node's words. Nobody needs an answer then. */
function isBrokenOff(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.message === "aborted" && "code" in thrown && thrown.code === "ECONNRESET";
}

export function answerError(c: WebContext, error: AppError): Response {
  return c.json(bodyOfError(error), httpStatusOf(error.code), headersOfError(error));
}

export function setRetryAfter(c: WebContext, error: AppError): void {
  const after = headersOfError(error)["retry-after"];
  if (after !== undefined) c.header("retry-after", after);
}
