import { createServer, type Socket } from "node:net";
import { listen } from "../../workshop/stand-in.ts";
import { serialsIn } from "./requests.ts";

export type StandInKind = "webhook" | "telegram" | "mail";

type Arrived = (message: Buffer) => void;

let onArrival: (serial: number, at: number) => void = () => {};

/** Calls back for each message that names an alert, with the time (`performance.now()`) of its last byte. */
export function hearArrivals(listener: typeof onArrival): void {
  onArrival = listener;
}

/** Receives messages as cheaply as possible: raw sockets, 10 µs a message. `workshop` has the strict stand-ins. */
export async function openStandIn(kind: StandInKind): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const arrived: Arrived = (message) => {
    const at = performance.now();
    const { value: serial } = serialsIn(message).next();
    if (serial !== undefined) onArrival(serial, at);
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    takeParts(socket, kind === "mail" ? createMailReader(socket, arrived) : createRequestReader(socket, arrived));
  });
  const { port } = await listen(server);
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { port, close };
}

/** @param take takes the first part, and returns its bytes. 0: it is not complete */
export function takeParts(socket: Socket, take: (buffered: Buffer) => number): void {
  let buffered = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    for (let taken = take(buffered); taken > 0; taken = take(buffered)) buffered = buffered.subarray(taken);
  });
}

const createRequestReader = (socket: Socket, arrived: Arrived) => (buffered: Buffer) => {
  const end = buffered.indexOf("\r\n\r\n");
  if (end < 0) return 0;
  const head = buffered.toString("latin1", 0, end);
  if (/^transfer-encoding:/im.test(head)) throw new Error("the stand-in takes no bodies in chunks");
  const whole = end + 4 + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  if (buffered.length < whole) return 0;
  const method = /^\S+ \/bot[^/]+\/(\w+)/.exec(head)?.[1];
  if (!method?.startsWith("get")) arrived(buffered.subarray(end + 4, whole));
  // A bot waits for its updates. After an immediate answer it would ask again at once.
  if (method === "getUpdates") setTimeout(answer, 5_000, socket, head, method);
  else answer(socket, head, method);
  return whole;
};

const chat = { id: -1001, type: "supergroup", title: "Bench" };
const botAnswers = new Map<string, unknown>([
  ["getMe", { id: 7, is_bot: true, first_name: "Bench", username: "bench_bot" }],
  ["getUpdates", []],
  ["getChat", chat],
]);
let lastMessage = 0;

function answer(socket: Socket, head: string, method?: string): void {
  lastMessage += 1;
  const result = botAnswers.get(method ?? "") ?? { message_id: lastMessage, date: 1_795_000_000, chat };
  const text = method === undefined ? "{}" : JSON.stringify({ ok: true, result });
  socket.write(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  if (/^connection: *close/im.test(head)) socket.end();
}

const mailAnswers = new Map([
  ["EHLO", "250-bench\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 10000000\r\n"],
  ["DATA", "354 go on\r\n"],
  ["QUIT", "221 bye\r\n"],
]);

function createMailReader(socket: Socket, arrived: Arrived) {
  let verb = "";
  socket.write("220 bench ESMTP\r\n");
  return (buffered: Buffer) => {
    const stop = verb === "DATA" ? "\r\n.\r\n" : "\r\n";
    const end = buffered.indexOf(stop);
    if (end < 0) return 0;
    if (verb === "DATA") {
      verb = "";
      arrived(buffered.subarray(0, end));
    } else verb = buffered.toString("latin1", 0, 4).toUpperCase();
    socket.write(mailAnswers.get(verb) ?? "250 ok\r\n");
    if (verb === "QUIT") socket.end();
    return end + stop.length;
  };
}
