import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { toListenError } from "../../src/http/listen-error.ts";
import { closeServer, listen } from "../stand-in.ts";

export interface Upstream {
  name: string;
  port: number;
  pid: number;
}

export type Balancer = Awaited<ReturnType<typeof openBalancer>>;

const host = "127.0.0.1";
const lookEveryMs = 500;
const lookWithinMs = 2_000;
const connectWithinMs = 1_000;
/** Headers of one hop (RFC 9110, 7.6.1), or that the balancer sets itself. */
const notPassedOn = new Set([
  ...["connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade"],
  ...["x-forwarded-for", "x-forwarded-proto", "x-served-by"],
]);

/**
 * A minimal balancer: the demo's address stays while the relays behind it come and go.
 * - a relay without a 200 at `/readyz` gets no requests, unless no relay is ready: a relay without its database may
 *   still take alerts into its spool;
 * - a request goes to another relay only when the first could not be connected: once anything was sent its result is
 *   unknown;
 * - each request has its own connection, since an alert on a kept one may leave just when its relay ends the
 *   connection;
 * - answers are passed on as they arrive, event streams too.
 * @throws AppError `config_invalid` when the port cannot be used.
 */
export async function openBalancer(port: number) {
  const upstreams = new Map<string, Upstream & { isReady: boolean }>();
  const ready = () => [...upstreams.values()].filter(({ isReady }) => isReady);
  let turn = 0;

  /** The order of tries. Each request begins with the next relay. */
  function inTurn(): Upstream[] {
    const usable = ready().length > 0 ? ready() : [...upstreams.values()];
    turn += 1;
    return usable.map((_, index) => usable[(turn + index) % usable.length] as Upstream);
  }

  async function pass(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    for (const upstream of inTurn()) {
      const socket = await connectTo(upstream.port);
      if (answer.destroyed) return void socket?.destroy();
      if (socket !== undefined) return passTo(upstream, socket, incoming, answer);
      const known = upstreams.get(upstream.name);
      if (known?.port === upstream.port) known.isReady = false;
    }
    refuse(answer, 503, "no relay takes connections: what was sent has reached none");
  }

  const server = createServer((incoming, answer) => void pass(incoming, answer));
  server.requestTimeout = 0;
  const taken = await listen(server, port, host).catch((error) => {
    throw toListenError(host, port, error);
  });

  const look = setInterval(() => {
    for (const upstream of upstreams.values()) {
      void isReady(upstream.port).then((isReady) => {
        upstream.isReady = isReady;
      });
    }
  }, lookEveryMs);

  return {
    port: taken.port,
    /** Adds or replaces the relay of this name. It gets requests once it is ready. */
    put: (upstream: Upstream) => void upstreams.set(upstream.name, { ...upstream, isReady: false }),
    remove: (name: string) => void upstreams.delete(name),
    ready: () => ready().map(({ name }) => name),
    close(): Promise<void> {
      clearInterval(look);
      return closeServer(server);
    },
  };
}

async function connectTo(port: number): Promise<Socket | undefined> {
  const socket = connect({ port, host, noDelay: true });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(connectWithinMs) });
    return socket;
  } catch {
    socket.destroy();
    return undefined;
  }
}

function passTo(upstream: Upstream, socket: Socket, incoming: IncomingMessage, answer: ServerResponse): void {
  const outgoing = request({
    createConnection: () => socket,
    method: incoming.method,
    path: incoming.url,
    headers: [
      ...passedOn(incoming.rawHeaders),
      ...["x-forwarded-for", incoming.socket.remoteAddress ?? host],
      ...["x-forwarded-proto", "http", "connection", "close"],
    ],
  });
  outgoing.on("response", (given) => {
    const servedBy = `${upstream.name} (process ${upstream.pid})`;
    const headers = [...passedOn(given.rawHeaders), "x-served-by", servedBy];
    answer.writeHead(given.statusCode ?? 502, given.statusMessage, headers);
    // An event stream has its head before its first event.
    answer.flushHeaders();
    given.pipe(answer);
    given.on("error", () => answer.destroy());
  });
  outgoing.on("error", () => {
    if (answer.headersSent) answer.destroy();
    else refuse(answer, 502, `${upstream.name} ended before it answered: nobody knows whether it has stored this`);
  });
  answer.on("close", () => outgoing.destroy());
  incoming.pipe(outgoing);
}

function passedOn(rawHeaders: readonly string[]): string[] {
  const isKept = (_text: string, index: number) =>
    !notPassedOn.has(rawHeaders[index - (index % 2)]?.toLowerCase() ?? "");
  return rawHeaders.filter(isKept);
}

function refuse(answer: ServerResponse, status: 502 | 503, message: string): void {
  const body = JSON.stringify({ error: { code: "relay_unreachable", message: `The demo's balancer: ${message}.` } });
  answer.writeHead(status, { "content-type": "application/json", ...(status === 503 && { "retry-after": "1" }) });
  answer.end(`${body}\n`);
}

async function isReady(port: number): Promise<boolean> {
  const options = { headers: { connection: "close" }, signal: AbortSignal.timeout(lookWithinMs) };
  const answer = await fetch(`http://${host}:${port}/readyz`, options).catch(() => undefined);
  await answer?.text().catch(() => {});
  return answer?.status === 200;
}
