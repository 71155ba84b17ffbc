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

/** What connection number `index` says at once. */
type Say = (target: Target, index: number) => string | Buffer;

/**
 * @param network host number of the loopback network `127.0.x.0/24` that the attack comes from, or the address of each connection
 * @param more.drip what each connection says each 100 ms from then on
 * @param more.reads it reads the answers. Default true.
 */
const knock =
  (
    network: number | ((index: number) => string),
    connections: number,
    say: Say,
    { drip, reads = true }: { drip?: string; reads?: boolean } = {},
  ): Attack =>
  async (target, signal) => {
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
        await sleep(Math.max(0, openedAt + openedEveryMs - performance.now()), undefined, { signal }).catch(() => {});
      }
    };
    await Promise.all(Array.from({ length: connections }, (_, index) => hold(index)));
  };

const closed = (socket: Socket, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => socket.destroy();
    signal.addEventListener("abort", end);
    socket.on("close", () => {
      signal.removeEventListener("abort", end);
      resolve();
    });
    if (signal.aborted) end();
  });

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const ask =
  (method: string) =>
  (path: string, ...headers: string[]) =>
    `${[`${method} ${path} HTTP/1.1`, "Host: x", ...headers].join("\r\n")}\r\n\r\n`;
const [post, get] = [ask("POST"), ask("GET")];
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
  return knock(network, sizes.length, say);
}

const unread = { reads: false };
const stalledPage = `${post("/routes", "Transfer-Encoding: chunked")}${chunk("x".repeat(3_150_000))}`;
const stalledLogin = `${post("/login", "Content-Length: 65000")}${"x".repeat(64_000)}`;
const halfHeaders: Say = ({ hookPath }) => `POST ${hookPath} HTTP/1.1\r\nHost: x\r\nX-A: ${"a".repeat(2_000)}`;
const dripped: Say = ({ hookPath, sourcePath }, index) =>
  post(index % 2 ? hookPath : sourcePath, "Content-Length: 9999");
const tinyChunks: Say = ({ hookPath }) => post(hookPath, "Transfer-Encoding: chunked");
const manyFields: Say = ({ hookPath, sourcePath }, index) => {
  const fields = Array<string>(190).fill("a: b");
  const [length, path] = ["Content-Length: 9", [hookPath, sourcePath, "/login", "/healthz"][index % 4] as string];
  return index % 4 < 2 ? post(path, ...fields, length) : get(path, ...fields, length);
};
/** Asks with the token, this many times. */
const asksFor =
  (path: string, times = 1): Say =>
  (target) =>
    get(path, withToken(target)).repeat(times);

export const attacks = {
  "no attack": async () => {},
  "stalled chunked pages": knock(1, 300, () => stalledPage),
  "stalled logins": knock(2, 1_000, () => stalledLogin),
  "stalled bodies of a source": stalledBodies(3, ({ sourcePath }) => sourcePath),
  "stalled bodies at the hook": stalledBodies(4, ({ hookPath }) => hookPath),
  "tiny chunks": knock(5, 100, tinyChunks, { drip: "1\r\nx\r\n".repeat(100) }),
  drip: knock(6, 300, dripped, { drip: "x" }),
  "half headers": knock(7, 2_000, halfHeaders),
  "half a line from 4,000 networks": knock(
    (index) => `127.${40 + (index >> 8)}.${index & 255}.1`,
    4_000,
    () => "POST /",
  ),
  "answered heads": knock(12, 2_000, manyFields),
  "unread exports": knock(8, 100, asksFor("/api/export?format=ndjson"), unread),
  "unread event streams": knock(9, 200, asksFor("/api/stream?after=1"), unread),
  "unread lists": knock(10, 100, asksFor("/api/alerts?limit=200", 15), unread),
  "unread pages of strangers": knock(11, 200, () => get("/login").repeat(16), unread),
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
