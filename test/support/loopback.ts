import type { AddressInfo, Server, Socket } from "node:net";
import { onTestFinished } from "vitest";

/**
 * Lets the server, of HTTP or of sockets, listen on a free port of this machine. It ends with its connections.
 * @param atEnd takes what ends it. Default: it ends with the test.
 */
export async function listenOnLoopback(server: Server, atEnd: (undo: () => void) => void = onTestFinished) {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  atEnd(close);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, close };
}

/** The address of the same thing at this port of this machine. */
export const addressAt = (url: string, port: number) =>
  Object.assign(new URL(url), { hostname: "127.0.0.1", port: String(port) }).href;

type Dispatcher = { constructor: new () => Dispatcher; close(): Promise<void> };

/** Where Node has what `fetch` sends by, once it has been called. */
const dispatcher = Symbol.for("undici.globalDispatcher.1");

/**
 * Ends the connections that `fetch` keeps; one that waits for an answer ends with it. A relay that is stopped would give each a
 * second for one more alert: what becomes of kept connections is for tests that keep their own.
 */
export function dropKeptConnections(): void {
  const places = globalThis as unknown as Record<symbol, Dispatcher | undefined>;
  const kept = places[dispatcher];
  if (kept === undefined) return;
  places[dispatcher] = new kept.constructor();
  void kept.close();
}
