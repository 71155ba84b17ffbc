import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

const answers: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/**
 * What becomes of a connection over which something came that is no HTTP, or nothing in time.
 *
 * Node answers 400 at once, also when a whole request stands before the fault: a sender that counts characters instead of
 * bytes in Content-Length would read a refusal of an alert that is stored and relayed. Here that request gets its own
 * answer first, and the connection ends behind it.
 *
 * @param latest the response to the last request that came over this connection, if any.
 */
export function endBrokenConnection(
  error: NodeJS.ErrnoException,
  socket: Duplex & { destroySoon?(): void },
  latest: ServerResponse | undefined,
): void {
  const end = () => (socket.destroySoon ? socket.destroySoon() : socket.destroy());
  if (latest?.req.complete && !latest.writableFinished) {
    if (!latest.headersSent) latest.setHeader("connection", "close");
    latest.once("finish", end);
    return;
  }
  const isAnswerUnderWay = latest?.headersSent === true && !latest.writableFinished;
  if (socket.writable && !isAnswerUnderWay) {
    socket.write(`HTTP/1.1 ${answers[error.code ?? ""] ?? "400 Bad Request"}\r\nConnection: close\r\n\r\n`);
  }
  end();
}
