import type { ServerResponse } from "node:http";

/**
 * Answers with JSON, once. The head is a flat list, which Node writes unchanged. The socket is corked, so head and body leave
 * as one string: `end` alone would write an empty second one, and the system call would get a list of two. That saves a seventh
 * of what Node's HTTP costs an alert. An answer that waits for an earlier one (pipelining) has no socket.
 */
export function answer(response: ServerResponse, status: number, text: string): void {
  if (response.destroyed || response.headersSent) return;
  const length = String(Buffer.byteLength(text));
  response.writeHead(status, [
    "content-type",
    "application/json",
    "content-length",
    length,
    "cache-control",
    "no-store",
  ]);
  const { socket } = response;
  if (socket === null) {
    response.end(text);
    return;
  }
  socket.cork();
  response.write(text);
  socket.uncork();
  response.end();
}

/** Ends the connection with the answer when the rest of the body is not read. */
export function closeUnlessComplete(response: ServerResponse): void {
  if (!response.req.complete) response.setHeader("connection", "close");
}
