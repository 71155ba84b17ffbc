import { withTimeLimit } from "./time-limit.ts";

export interface ExchangeOptions extends Pick<RequestInit, "method" | "headers" | "body"> {
  timeoutMs: number;
  /** A longer answer is not read to its end. */
  maxBytes: number;
  signal?: AbortSignal;
  /** Default: the built-in one. */
  fetch?: typeof fetch;
}

/** `text` is undefined where it is longer than `maxBytes`. */
export type TextAnswer = Pick<Response, "status" | "headers"> & { text: string | undefined };

/**
 * Makes one request and reads its answer. Redirects are not followed, since they could carry a secret to another
 * address. Throws as `fetch` does, or the reason of `signal`, or after `timeoutMs` an error that `isTimeout` knows.
 */
export function exchangeText(url: string, options: ExchangeOptions): Promise<TextAnswer> {
  const { timeoutMs, maxBytes, signal: outer, fetch: send = fetch, ...request } = options;
  return withTimeLimit(timeoutMs, outer, async ({ signal }) => {
    try {
      const response = await send(url, { ...request, redirect: "manual", signal });
      return { status: response.status, headers: response.headers, text: await readBoundedText(response, maxBytes) };
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  });
}

/** Undefined when the body is longer than `maxBytes`. The rest is then not read. */
export async function readBoundedText(response: Response, maxBytes: number): Promise<string | undefined> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > maxBytes) {
      await reader.cancel().catch(() => {});
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}
