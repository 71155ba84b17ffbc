import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { findLastingPort } from "./lasting-port.ts";

/**
 * A way to a server that can be cut and restored: while it is down, connections to it are refused.
 * @param target an address; may be said later
 */
export async function createSwitchableProxy(target?: string) {
  let { hostname, port } = new URL(target ?? "http://127.0.0.1:9");
  const sockets = new Set<Socket>();
  const open = () =>
    createServer((incoming) => {
      const outgoing = connect(Number(port), hostname);
      for (const socket of [incoming, outgoing]) {
        sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          sockets.delete(socket);
          incoming.destroy();
          outgoing.destroy();
        });
      }
      incoming.pipe(outgoing).pipe(incoming);
    });
  const ownPort = await findLastingPort();
  let server: Server = open();
  server.listen(ownPort, "127.0.0.1");
  await once(server, "listening");
  const down = async () => {
    const closed = server.listening ? once(server, "close") : undefined;
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  onTestFinished(down);
  return {
    url: `http://127.0.0.1:${ownPort}`,
    /** Where it leads from now on; what is open is cut. */
    leadTo(next: string) {
      ({ hostname, port } = new URL(next));
      for (const socket of sockets) socket.destroy();
    },
    down,
    async up() {
      server = open();
      server.listen(ownPort, "127.0.0.1");
      await once(server, "listening");
    },
  };
}
