import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { findLastingPort } from "./lasting-port.ts";
import { addressAt } from "./loopback.ts";

/**
 * A way to a server that can be made to fail in the middle.
 * @param target the server's address. Default: nobody's, until it is said
 * @param atEnd takes what ends it. Default: it ends with the test.
 */
export async function createFailingProxy(
  target = "http://127.0.0.1:9",
  atEnd: (undo: () => void) => void = onTestFinished,
) {
  let { hostname, port } = new URL(target);
  const pairs = new Set<[Socket, Socket]>();
  let lost: string | undefined;
  let wanted: string | undefined;
  let held: { outgoing: Socket; chunk: Buffer } | undefined;
  let hangs = false;
  let count = 0;
  const server = createServer((client) => {
    const outgoing = connect(Number(port || 5432), hostname);
    const pair: [Socket, Socket] = [client, outgoing];
    pairs.add(pair);
    count += 1;
    let losesAnswer = false;
    for (const socket of pair) {
      socket.on("error", () => {});
      socket.on("close", () => {
        pairs.delete(pair);
        client.destroySoon();
        if (held?.outgoing !== outgoing) outgoing.destroy();
      });
      if (hangs) socket.pause();
    }
    client.on("data", (chunk) => {
      if (lost !== undefined && chunk.includes(lost)) {
        lost = undefined;
        losesAnswer = true;
      }
      if (wanted !== undefined && chunk.includes(wanted)) {
        wanted = undefined;
        held = { outgoing, chunk };
        client.pause();
      } else outgoing.write(chunk);
    });
    outgoing.on("data", (chunk) => {
      if (losesAnswer) client.destroy();
      else client.write(chunk);
    });
  });
  const ownPort = await findLastingPort();
  const up = async () => {
    server.listen(ownPort, "127.0.0.1");
    await once(server, "listening");
  };
  await up();
  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  const down = async () => {
    const closed = server.listening ? once(server, "close") : undefined;
    server.close();
    cut();
    await closed;
  };
  atEnd(down);
  const each = (act: "pause" | "resume") => {
    for (const pair of pairs) for (const socket of pair) socket[act]();
  };
  return {
    /** The address of the same thing, over this way. */
    url: addressAt(target, ownPort),
    /** From now on nothing passes, and nothing is cut: as of a host that is gone without a word. */
    hang() {
      hangs = true;
      each("pause");
    },
    /** Passes what was kept back, and all that follows. */
    goOn() {
      hangs = false;
      each("resume");
    },
    /** The next time that the client sends this text, the server gets it; its answer is lost with the connection. */
    loseAnswerTo(text: string) {
      lost = text;
    },
    /** The next time that the client sends this text, it is kept back, though the client may leave meanwhile. */
    holdBack(text: string) {
      wanted = text;
    },
    isHolding: () => held !== undefined,
    /** The server gets what was held back, however late. */
    letGo() {
      const given = held;
      held = wanted = undefined;
      given?.outgoing.resume();
      given?.outgoing.end(given.chunk);
    },
    /** Cuts what is connected now. */
    cut,
    /** Cuts it, and refuses connections until it is `up` again. */
    down,
    up,
    /** Where it leads from now on; what is connected is cut. */
    leadTo(next: string) {
      ({ hostname, port } = new URL(next));
      cut();
    },
    /** How many connections were made so far. */
    connections: () => count,
  };
}

export type FailingProxy = Awaited<ReturnType<typeof createFailingProxy>>;
