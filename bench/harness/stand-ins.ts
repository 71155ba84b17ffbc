import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { serialIn } from "./requests.ts";

export type StandInKind = "webhook" | "telegram" | "mail";

/** Receives messages as cheaply as possible: raw sockets, 10 µs a message. `workshop` has the strict stand-ins. */
interface StandIn {
  server: Server;
  sockets: Set<Socket>;
  messages: number;
}

let standIn: StandIn | undefined;
let onArrival: (serial: number, at: number) => void = () => {};

/** Opens the one stand-in, and closes the last. Returns its port. */
export async function openStandIn(kind: StandInKind): Promise<number> {
  await closeStandIn();
  const opened: StandIn = {
    server: createServer((socket) => {
      opened.sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => opened.sockets.delete(socket));
      if (kind === "mail") takeMails(socket, arrived);
      else takeRequests(socket, arrived, opened);
    }),
    sockets: new Set(),
    messages: 0,
  };
  const arrived = (message: Buffer) => {
    const at = performance.now();
    opened.messages += 1;
    const serial = serialIn(message);
    if (serial >= 0) onArrival(serial, at);
  };
  opened.server.listen(0, "127.0.0.1");
  await once(opened.server, "listening");
  standIn = opened;
  return (opened.server.address() as AddressInfo).port;
}

export async function closeStandIn(): Promise<void> {
  const closing = standIn;
  standIn = undefined;
  if (closing === undefined) return;
  for (const socket of closing.sockets) socket.destroy();
  closing.server.close();
  await once(closing.server, "close");
}

/** Calls back for each message that names an alert, with the time (`performance.now()`) of its last byte. */
export function listen(listener: (serial: number, at: number) => void): void {
  onArrival = listener;
}

function takeRequests(socket: Socket, arrived: (message: Buffer) => void, standIn: StandIn): void {
  let buffered = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    for (;;) {
      const end = buffered.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = buffered.toString("latin1", 0, end);
      if (/^transfer-encoding:/im.test(head)) throw new Error("the stand-in takes no bodies in chunks");
      const whole = end + 4 + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      if (buffered.length < whole) return;
      const body = buffered.subarray(end + 4, whole);
      buffered = buffered.subarray(whole);
      if (!/^\S+ \/bot[^/]+\/get/.test(head)) arrived(body);
      // A bot waits for its updates. After an immediate answer it would ask again at once.
      if (head.includes("/getUpdates")) setTimeout(answer, 5_000, socket, head, standIn);
      else answer(socket, head, standIn);
    }
  });
}

const botAnswers = {
  getMe: { id: 7, is_bot: true, first_name: "Bench", username: "bench_bot" },
  getUpdates: [],
  getChat: { id: -1001, type: "supergroup", title: "Bench" },
};

function answer(socket: Socket, head: string, { messages }: StandIn): void {
  const method = /^\S+ \/bot[^/]+\/(\w+)/.exec(head)?.[1];
  const result = botAnswers[method as keyof typeof botAnswers] ?? {
    message_id: messages,
    date: 1_795_000_000,
    chat: botAnswers.getChat,
  };
  const text = method === undefined ? "{}" : JSON.stringify({ ok: true, result });
  socket.write(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  if (/^connection: *close/im.test(head)) socket.end();
}

function takeMails(socket: Socket, arrived: (message: Buffer) => void): void {
  let buffered = Buffer.alloc(0);
  let inData = false;
  socket.write("220 bench ESMTP\r\n");
  socket.on("data", (chunk) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    for (;;) {
      const stop = inData ? "\r\n.\r\n" : "\r\n";
      const end = buffered.indexOf(stop);
      if (end < 0) return;
      const part = buffered.subarray(0, end);
      buffered = buffered.subarray(end + stop.length);
      if (inData) {
        inData = false;
        arrived(part);
        socket.write("250 taken\r\n");
        continue;
      }
      const verb = part.toString("latin1", 0, 4).toUpperCase();
      inData = verb === "DATA";
      if (verb === "EHLO") socket.write("250-bench\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 10000000\r\n");
      else if (inData) socket.write("354 go on\r\n");
      else if (verb === "QUIT") socket.end("221 bye\r\n");
      else socket.write("250 ok\r\n");
    }
  });
}
