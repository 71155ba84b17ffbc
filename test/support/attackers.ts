import { setMaxListeners } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A relay as those see it who would keep its alerts out. */
export interface Target {
  port: number;
  /** The path of the account's hook. */
  hookPath: string;
  /** The path of a source that checks who sends; the attackers have no key of it. */
  sourcePath: string;
  /** For those that have logged in and do not read what they asked for. */
  adminToken: string;
}

/** Holds its connections until the signal, and opens each anew when the relay ends it. */
export type Attack = (target: Target, signal: AbortSignal) => Promise<void>;

/** A connection that the relay has ended is opened again at the earliest so long after it was opened. */
const openedEveryMs = 5_000;

interface Knock {
  /** Host number of the loopback network `127.0.x.0/24` that the attack comes from, or the address of each connection. */
  network: number | ((index: number) => string);
  connections: number;
  /** What connection number `index` says at once. */
  say(target: Target, index: number): string | Buffer;
  /** What it says each 100 ms from then on. */
  drip?: string;
  /** Reads the answers. Default: the relay's answers are left unread. */
  reads?: boolean;
}

function knock({ network, connections, say, drip, reads = true }: Knock): Attack {
  return async (target, signal) => {
    setMaxListeners(0, signal);
    const hold = async (index: number): Promise<void> => {
      while (!signal.aborted) {
        const openedAt = performance.now();
        const localAddress = typeof network === "function" ? network(index) : `127.0.${network}.${1 + (index % 250)}`;
        const socket = connect({ port: target.port, host: "127.0.0.1", localAddress });
        const dripping = drip && setInterval(() => socket.writable && socket.write(drip), 100);
        socket.on("error", () => {});
        socket.on("connect", () => {
          socket.write(say(target, index));
          if (!reads) socket.pause();
        });
        if (reads) socket.resume();
        await closed(socket, signal);
        if (dripping) clearInterval(dripping);
        const pauseMs = Math.max(0, openedAt + openedEveryMs - performance.now());
        await sleep(pauseMs, undefined, { signal }).catch(() => {});
      }
    };
    await Promise.all(Array.from({ length: connections }, (_, index) => hold(index)));
  };
}

function closed(socket: Socket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => socket.destroy();
    signal.addEventListener("abort", end);
    socket.on("close", () => {
      signal.removeEventListener("abort", end);
      resolve();
    });
    if (signal.aborted) end();
  });
}

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const post = (path: string, ...headers: string[]) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n`;
const get = (path: string, ...headers: string[]) =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n`;
const withToken = ({ adminToken }: Target) => `Authorization: Bearer ${adminToken}`;

/** Bodies of all sizes, so that large ones take the room and small ones what they leave. */
const sizes = [
  ...Array<number>(80).fill(1_048_000),
  ...Array<number>(60).fill(60_000),
  ...Array<number>(60).fill(30_000),
  ...Array<number>(100).fill(3_000),
  ...Array<number>(100).fill(300),
  ...Array<number>(100).fill(3),
];

function stalledBodies(network: number, pathOf: (target: Target) => string): Attack {
  const say = (target: Target, index: number) => {
    const size = sizes[index] as number;
    return `${post(pathOf(target), `Content-Length: ${size + 1}`)}${"x".repeat(size)}`;
  };
  return knock({ network, connections: sizes.length, say });
}

export const attacks = {
  "no attack": async () => {},
  "stalled chunked pages": knock({
    network: 1,
    connections: 300,
    say: () => `${post("/routes", "Transfer-Encoding: chunked")}${chunk("x".repeat(3_150_000))}`,
  }),
  "stalled logins": knock({
    network: 2,
    connections: 1_000,
    say: () => `${post("/login", "Content-Length: 65000")}${"x".repeat(64_000)}`,
  }),
  "stalled bodies of a source": stalledBodies(3, ({ sourcePath }) => sourcePath),
  "stalled bodies at the hook": stalledBodies(4, ({ hookPath }) => hookPath),
  "tiny chunks": knock({
    network: 5,
    connections: 100,
    say: ({ hookPath }) => post(hookPath, "Transfer-Encoding: chunked"),
    drip: "1\r\nx\r\n".repeat(100),
  }),
  drip: knock({
    network: 6,
    connections: 300,
    say: ({ hookPath, sourcePath }, index) => post(index % 2 ? hookPath : sourcePath, "Content-Length: 9999"),
    drip: "x",
  }),
  "half headers": knock({
    network: 7,
    connections: 2_000,
    say: ({ hookPath }) => `POST ${hookPath} HTTP/1.1\r\nHost: x\r\nX-A: ${"a".repeat(2_000)}`,
  }),
  "half a line from 4,000 networks": knock({
    network: (index) => `127.${40 + (index >> 8)}.${index & 255}.1`,
    connections: 4_000,
    say: () => "POST /",
  }),
  "answered heads": knock({
    network: 12,
    connections: 2_000,
    say: ({ hookPath, sourcePath }, index) => {
      const fields = Array<string>(190).fill("a: b");
      const [length, path] = ["Content-Length: 9", [hookPath, sourcePath, "/login", "/healthz"][index % 4] as string];
      return index % 4 < 2 ? post(path, ...fields, length) : get(path, ...fields, length);
    },
  }),
  "unread exports": knock({
    network: 8,
    connections: 100,
    say: (target) => get("/api/export?format=ndjson", withToken(target)),
    reads: false,
  }),
  "unread event streams": knock({
    network: 9,
    connections: 200,
    say: (target) => get("/api/stream?after=1", withToken(target)),
    reads: false,
  }),
  "unread lists": knock({
    network: 10,
    connections: 100,
    say: (target) => get("/api/alerts?limit=200", withToken(target)).repeat(15),
    reads: false,
  }),
  "unread pages of strangers": knock({
    network: 11,
    connections: 200,
    say: () => get("/login").repeat(16),
    reads: false,
  }),
} satisfies Record<string, Attack>;

export interface PostedAlert {
  /** 0: no answer within the limit, or none at all. */
  status: number;
  afterMs: number;
}

/**
 * An ordinary alert over a connection of its own, from a network that no attack comes from: each second one from a network
 * that sent alerts before, the others from new ones.
 */
export function postOrdinaryAlert({ port, hookPath }: Target, number: number, limitMs: number): Promise<PostedAlert> {
  const startedAt = performance.now();
  const body = JSON.stringify({ title: `Ordinary alert ${number}`, severity: "warning", text: "x".repeat(200) });
  return new Promise((resolve) => {
    const done = (status: number) => resolve({ status, afterMs: performance.now() - startedAt });
    const posting = httpRequest(
      {
        port,
        host: "127.0.0.1",
        localAddress: number % 2 === 0 ? "127.0.0.77" : `127.${100 + (number % 100)}.${(number >> 1) & 255}.77`,
        path: hookPath,
        method: "POST",
        agent: false,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
        signal: AbortSignal.timeout(limitMs),
      },
      (response) => {
        response.resume();
        response.on("end", () => done(response.statusCode ?? 0));
        response.on("error", () => done(0));
      },
    );
    posting.on("error", () => done(0));
    posting.end(body);
  });
}
