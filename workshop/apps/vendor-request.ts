import type { IncomingMessage } from "node:http";

/** A request to one of the apps, whole. */
export interface VendorRequest {
  method: string;
  url: URL;
  contentType: string;
  body: Buffer;
}

/** What is answered: a text, or anything else as JSON; nothing with 204. */
export interface VendorAnswer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/** A file that came with a message. */
export interface UploadedFile {
  name: string;
  type: string;
  bytes: Buffer;
}

const bodyLimitBytes = 10 << 20;

/** Undefined when the body is over 10 MiB. */
export async function readRequest(request: IncomingMessage): Promise<VendorRequest | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= bodyLimitBytes) chunks.push(chunk);
  }
  if (size > bodyLimitBytes) return undefined;
  return {
    method: request.method ?? "GET",
    url: new URL(request.url ?? "/", "http://stand-in"),
    contentType: (request.headers["content-type"] ?? "").toLowerCase(),
    body: Buffer.concat(chunks),
  };
}

/** Undefined for what is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
