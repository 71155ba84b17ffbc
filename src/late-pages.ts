import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "./core/errors.ts";
import { type Readiness, toProbe } from "./core/operations.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Everything over HTTP but the hook. */
export interface Pages {
  readiness(): Promise<Omit<Readiness, "reasons">>;
  /** Loads what answers all else. */
  open(): Promise<(request: Request, env: unknown) => Response | Promise<Response>>;
  /** Why they are not open; the requests that waited have got 503. */
  onFault(error: unknown): void;
}

/**
 * Pages, API and event streams, loaded by the first request for one of them: together with Node's fetch they are a third
 * of an idle relay's memory and a third of its start, and most relays are looked at rarely. Probes come every few seconds,
 * so they are answered from here until then, with what `web/` answers. Pages that cannot be loaded are 503, and loaded
 * anew by the next request.
 */
export function openLate(pages: Pages, headers: Record<string, string>): Handler {
  let opening: Promise<Handler> | undefined;
  let handler: Handler | undefined;

  async function open(): Promise<Handler> {
    const { getRequestListener } = await import("@hono/node-server");
    handler = getRequestListener(await pages.open());
    return handler;
  }

  async function takeLate(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let opened: Handler;
    try {
      opening ??= open().catch((error: unknown) => {
        opening = undefined;
        pages.onFault(error);
        throw error;
      });
      opened = await opening;
    } catch (error) {
      // Pages look at the store as they open.
      answerNotLoaded(request, response, error instanceof AppError ? error : undefined);
      return;
    }
    await opened(request, response);
  }

  function answer(response: ServerResponse, status: number, type: string, text: string, more = {}): void {
    response.writeHead(status, { ...headers, "content-type": type, "cache-control": "no-store", ...more }).end(text);
  }

  function answerNotLoaded({ url }: IncomingMessage, response: ServerResponse, error?: AppError): void {
    const retry = { "retry-after": "1" };
    if (error === undefined) answer(response, 503, "text/plain", "Not loaded.\n", retry);
    else if (url?.startsWith("/api/")) {
      const { code, message, hint } = error;
      answer(response, 503, "application/json", JSON.stringify({ error: { code, message, hint } }), retry);
    } else answer(response, 503, "text/plain", `${[error.message, error.hint].join("\n").trim()}\n`, retry);
  }

  function answerProbe(response: ServerResponse, status: number, data: object): void {
    answer(response, status, "application/json", JSON.stringify({ data }));
  }

  return (request, response) => {
    if (handler !== undefined) return handler(request, response);
    const probe = request.method === "GET" ? request.url : undefined;
    if (probe === "/healthz") return answerProbe(response, 200, { alive: true });
    if (probe !== "/readyz" && probe !== "/readyz?alerts") return takeLate(request, response);
    return pages.readiness().then(
      (readiness) => {
        const { status, data } = toProbe(readiness, probe === "/readyz?alerts");
        answerProbe(response, status, data);
      },
      () => answerProbe(response, 503, { ready: false }),
    );
  };
}
