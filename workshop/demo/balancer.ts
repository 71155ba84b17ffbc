import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { toListenError } from "../../src/http/listen-error.ts";
import { closeServer, listen } from "../stand-in.ts";

/** A relay as the balancer knows it. */
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
/** Headers of one hop (RFC 9110, 7.6.1), or said by the balancer itself. */
const notPassedOn = new Set([
  ...["connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade"],
  ...["x-forwarded-for", "x-forwarded-proto", "x-served-by"],
]);

/**
 * What people open and senders post to, while the relays behind it come and go: the least that a balancer has to do, on this
 * machine only.
 *
 * - one that does not say 200 at `/readyz` gets nothing, unless none does: one without its database may still take alerts
 *   into its spool;
 * - a request goes to another relay only when it could not be connected to the first. Once anything was sent nobody knows
 *   what became of it, so it is not sent again;
 * - each request has a connection of its own, since over a kept one an alert may leave just when its relay ends it;
 * - answers are passed on as they come, event streams among them.
 *
 * @throws AppError `config_invalid` when the port cannot be listened on.
 */
export async function openBalancer(port: number) {
  const upstreams = new Map<string, Upstream & { isReady: boolean }>();
  let turn = 0;

  /** In the order in which they are to be tried: each request begins with the next. */
  function inTurn(): Upstream[] {
    const all = [...upstreams.values()];
    const ready = all.filter(({ isReady }) => isReady);
    const usable = ready.length > 0 ? ready : all;
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
    /** From now on this one answers under that name; it takes part as soon as it says that it is ready. */
    put: (upstream: Upstream) => void upstreams.set(upstream.name, { ...upstream, isReady: false }),
    /** It is gone. */
    remove: (name: string) => void upstreams.delete(name),
    /** Those that say they are ready. */
    ready: () => [...upstreams.values()].filter(({ isReady }) => isReady).map(({ name }) => name),
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
    const headers = passedOn(given.rawHeaders);
    answer.writeHead(given.statusCode ?? 502, given.statusMessage, [
      ...headers,
      "x-served-by",
      `${upstream.name} (process ${upstream.pid})`,
    ]);
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

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ host, port, path: "/readyz", agent: false, timeout: lookWithinMs }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(false));
    asked.end();
  });
}
