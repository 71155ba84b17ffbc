import type { IncomingMessage, ServerResponse } from "node:http";
import type { SpoolView } from "../contract/operations.ts";
import { AppError } from "../core/errors.ts";
import { type AnswerPlainly, answerErrorPlainly, withSpool } from "./plain-answer.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Everything over HTTP except the hook and the probes. */
export interface Pages {
  open(): Promise<(request: Request, env: unknown) => Response | Promise<Response>>;
  spool?(): SpoolView | undefined;
  /** Called with the reason when the pages could not be opened. The waiting requests have got 503. */
  onFault(error: unknown): void;
}

/**
 * Pages are a third of an idle relay's memory and of its start, so the first request for one loads them. If that fails,
 * the answer is 503, and the next request tries again.
 */
export function openLate(pages: Pages, answer: AnswerPlainly): Handler {
  let opening: Promise<Handler> | undefined;
  let handler: Handler | undefined;

  async function open(): Promise<Handler> {
    const { getRequestListener } = await import("@hono/node-server");
    handler = getRequestListener(await pages.open());
    return handler;
  }

  async function takeLate(request: IncomingMessage, response: ServerResponse): Promise<void> {
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      pages.onFault(error);
      throw error;
    });
    const opened = await opening.catch((error: unknown) => void answerNotLoaded(request, response, error));
    await opened?.(request, response);
  }

  function answerNotLoaded({ url }: IncomingMessage, response: ServerResponse, why: unknown): void {
    // Opening pages reads the store, so its error explains the failure.
    const error = why instanceof AppError ? withSpool(why, pages.spool?.()) : undefined;
    if (error !== undefined && url?.startsWith("/api/")) {
      answerErrorPlainly(answer, response, error);
      return;
    }
    const text = error === undefined ? "Not loaded." : [error.message, error.hint].join("\n").trim();
    answer(response, 503, "text/plain", `${text}\n`, { "retry-after": "1" });
  }

  return (request, response) => (handler ?? takeLate)(request, response);
}
