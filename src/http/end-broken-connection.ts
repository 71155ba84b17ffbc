import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Connection } from "./connections.ts";

const answers: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** In a request that has begun, such a fault can only be in the fields after its last chunk. */
const faultsOfFields: readonly (string | undefined)[] = [
  "HPE_HEADER_OVERFLOW",
  "HPE_INVALID_CONTENT_LENGTH",
  "HPE_INVALID_HEADER_TOKEN",
  "HPE_INVALID_TRANSFER_ENCODING",
];

/** How long the sender may continue before it is cut off: a reset may overtake the answer (RFC 9112, 9.6). */
const lingerMs = 1_000;

export function endLingering(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once("close", () => clearTimeout(timer));
}

/**
 * Node answers broken HTTP with 400 at once, even after a whole request. A sender that counts characters instead of
 * bytes in Content-Length would read a refusal for an alert that is stored. Here that request gets its own answer
 * first. A chunked body is whole with its last chunk, even with broken trailers, which are ignored (RFC 9110, 6.5.1).
 */
export function endBrokenConnection(
  error: NodeJS.ErrnoException,
  { socket, latest }: Pick<Connection, "socket" | "latest">,
): void {
  const refuse = () => {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    socket.end(`HTTP/1.1 ${answers[error.code ?? ""] ?? "400 Bad Request"}\r\nConnection: close\r\n\r\n`);
    endLingering(socket);
  };
  if (latest === undefined || latest.writableFinished) {
    // The answer came before the end of its request, so a second one must not follow.
    if (latest?.req.complete === false && error.code === "ERR_HTTP_REQUEST_TIMEOUT") socket.destroySoon();
    else refuse();
    return;
  }
  if (latest.req.complete && error.code === "HPE_HEADER_OVERFLOW") {
    // The fault is in the head of a second request, which gets its own answer.
    latest.once("finish", refuse);
    return;
  }
  if (!latest.req.complete && faultsOfFields.includes(error.code)) completeBody(latest.req);
  if (latest.req.complete) {
    if (!latest.headersSent) latest.setHeader("connection", "close");
    latest.once("finish", () => socket.destroySoon());
    return;
  }
  if (latest.headersSent) socket.destroySoon();
  else refuse();
}

/** As Node's parser does at the end of a message. */
function completeBody(request: IncomingMessage): void {
  request.complete = true;
  request.push(null);
}
