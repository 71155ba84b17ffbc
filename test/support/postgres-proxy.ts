import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { addressAt } from "./loopback.ts";

/**
 * A way to a database that can be made to fail in the middle.
 * @param atEnd takes what ends it. Default: it ends with the test.
 */
export async function createPostgresProxy(url: string, atEnd: (undo: () => void) => void = onTestFinished) {
  const target = new URL(url);
  const pairs = new Set<[Socket, Socket]>();
  let lost: string | undefined;
  let wanted: string | undefined;
  let held: { outgoing: Socket; chunk: Buffer } | undefined;
  let hangs = false;
  let count = 0;
  const server = createServer((client) => {
    const outgoing = connect(Number(target.port || 5432), target.hostname);
    const pair: [Socket, Socket] = [client, outgoing];
    pairs.add(pair);
    count += 1;
    let losesAnswer = false;
    for (const socket of pair) {
      socket.on("error", () => {});
      socket.on("close", () => {
        pairs.delete(pair);
        client.destroy();
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
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const [client, outgoing] of pairs) {
      client.destroy();
      outgoing.destroy();
    }
  };
  atEnd(() => {
    server.close();
    cut();
  });
  const each = (act: "pause" | "resume") => {
    for (const pair of pairs) for (const socket of pair) socket[act]();
  };
  return {
    /** The address of the same database, over this way. */
    url: addressAt(url, (server.address() as AddressInfo).port),
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
    /** How many connections were made so far. */
    connections: () => count,
  };
}

export type PostgresProxy = Awaited<ReturnType<typeof createPostgresProxy>>;
