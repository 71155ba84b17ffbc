import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { addressAt, listenOnLoopback } from "./loopback.ts";

interface ServerConnection {
  socket: Socket;
  client?: Client;
  /** Answers that are to end with ReadyForQuery. */
  pending: number;
}

type Client = { socket: Socket; server?: ServerConnection; waiting: Buffer[] };

const textOf = (message: Buffer, from = 5) => message.toString("utf8", from, message.indexOf(0, from));

/** https://www.postgresql.org/docs/current/protocol-message-formats.html */
function messageOf(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

const int32 = (...numbers: number[]) => {
  const buffer = Buffer.alloc(numbers.length * 4);
  for (const [index, number] of numbers.entries()) buffer.writeInt32BE(number, index * 4);
  return buffer;
};

/** Calls back with each whole message; the first of a client has no type. */
function readMessages(socket: Socket, take: (message: Buffer) => void, isClient = false): void {
  let rest = Buffer.alloc(0);
  let isFirst = isClient;
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const at = isFirst ? 0 : 1;
      if (rest.length < at + 4) return;
      const length = at + rest.readInt32BE(at);
      if (rest.length < length) return;
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      isFirst = false;
      take(message);
    }
  });
}

/**
 * A pooler in transaction mode, stricter than those that people run: statements of the server alone, each transaction on the
 * connection that was idle for longest.
 */
export async function createPostgresPooler(url: string, servers = 3) {
  const { hostname, port, username, pathname } = new URL(url);
  const database = pathname.slice(1);
  const idle: ServerConnection[] = [];
  const all = new Set<Socket>();
  const queue: Client[] = [];
  /** What clients have asked of the session, which is whose turn it is next: `LISTEN`, `SET`, named statements, locks. */
  const violations: string[] = [];

  function startUp(): void {
    const socket = connect(Number(port || 5432), hostname);
    all.add(socket);
    const words = `user\0${username}\0database\0${database}\0\0`;
    socket.write(Buffer.concat([int32(8 + Buffer.byteLength(words), 196_608), Buffer.from(words)]));
    const server: ServerConnection = { socket, pending: 1 };
    socket.on("error", () => {});
    socket.on("close", () => {
      server.client?.socket.destroy();
      if (idle.includes(server)) idle.splice(idle.indexOf(server), 1);
      if (all.delete(socket) && pooler.listening) startUp();
    });
    readMessages(socket, (message) => {
      server.client?.socket.write(message);
      if (message[0] !== 0x5a) return;
      server.pending -= 1;
      if (server.pending > 0 || message[5] !== 0x49) return;
      if (server.client !== undefined) server.client.server = undefined;
      server.client = undefined;
      idle.push(server);
      serveNext();
    });
  }

  function serveNext(): void {
    while (queue.length > 0 && idle.length > 0) {
      const client = queue.shift() as Client;
      if (client.socket.destroyed) continue;
      const server = idle.shift() as ServerConnection;
      client.server = server;
      server.client = client;
      for (const message of client.waiting.splice(0)) forward(server, message);
    }
  }

  function forward(server: ServerConnection, message: Buffer): void {
    if (message[0] === 0x51 || message[0] === 0x53) server.pending += 1;
    server.socket.write(message);
  }

  function judge(message: Buffer): void {
    const type = String.fromCharCode(message[0] as number);
    if (type === "P" && message[5] !== 0) violations.push(`a statement with the name ${textOf(message)}`);
    if (type !== "P" && type !== "Q") return;
    const sql = type === "Q" ? textOf(message) : textOf(message, message.indexOf(0, 5) + 1);
    for (const statement of sql.split(";"))
      if (/^\s*(SET (?!LOCAL)|LISTEN|PREPARE|DECLARE)|pg_(try_)?advisory_lock/.test(statement))
        violations.push(statement);
  }

  const pooler = createServer((socket) => {
    all.add(socket);
    const client: Client = { socket, waiting: [] };
    let isReady = false;
    socket.on("error", () => {});
    // What it has begun ends with the connection of the server.
    socket.on("close", () => {
      all.delete(socket);
      client.server?.socket.destroy();
    });
    readMessages(
      socket,
      (message) => {
        if (!isReady) {
          isReady = true;
          const key = messageOf("K", int32(1, 2));
          socket.write(Buffer.concat([messageOf("R", int32(0)), key, messageOf("Z", Buffer.from("I"))]));
          return;
        }
        if (message[0] === 0x58) {
          socket.end();
          return;
        }
        judge(message);
        if (client.server !== undefined) forward(client.server, message);
        else if (client.waiting.push(message) === 1) {
          queue.push(client);
          serveNext();
        }
      },
      true,
    );
  });
  const { port: ownPort } = await listenOnLoopback(pooler);
  for (let count = 0; count < servers; count += 1) startUp();
  onTestFinished(() => {
    for (const socket of all) socket.destroy();
  });
  return { url: addressAt(url, ownPort), violations };
}
