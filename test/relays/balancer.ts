import { Agent, type IncomingMessage, request, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen, type Scope } from "./scope.ts";

/**
 * What stands before several relays, and does what docs/several-relays.md asks of it: it looks at `/readyz`, takes a relay out
 * at the first answer that is not 200, and sends nothing a second time. Only where no connection was made, so that nothing
 * can have arrived, does it go on to the next relay.
 */
export interface Balancer {
  url: string;
  /** Where the relay of this name listens from now on. */
  setRelay(name: string, url: string): void;
  /** Those that get requests now. */
  ready(): string[];
}

interface Upstream {
  name: string;
  url: URL;
  isReady: boolean;
  /** An answer that comes late says nothing any more, so there is one question at a time. */
  isLooking: boolean;
  agent: Agent;
}

const lookEveryMs = 250;
const lookWithinMs = 2_000;
const answerWithinMs = 12_000;
/** Shorter than a relay keeps a connection that brings nothing while it stops (1 s). */
const idleMs = 500;

export async function createBalancer(scope: Scope): Promise<Balancer> {
  const upstreams = new Map<string, Upstream>();
  let turn = 0;

  const url = await listen(scope, async (incoming, response) => {
    const body = await buffer(incoming).catch(() => undefined);
    if (body === undefined) return;
    turn += 1;
    const ready = [...upstreams.values()].filter((one) => one.isReady);
    const inTurn = ready.map((_, index) => ready[(turn + index) % ready.length] as Upstream);
    await passOn(incoming, body, inTurn, response);
  });

  async function passOn(incoming: IncomingMessage, body: Buffer, inTurn: Upstream[], response: ServerResponse) {
    for (const upstream of inTurn) {
      const outcome = await tryOne(upstream, incoming, body, response);
      if (outcome === "done") return;
      upstream.isReady = false;
      if (outcome === "sent") break;
    }
    if (!response.headersSent) response.writeHead(502).end();
  }

  const looking = setInterval(() => {
    for (const upstream of upstreams.values()) {
      if (upstream.isLooking) continue;
      upstream.isLooking = true;
      void look(upstream).finally(() => (upstream.isLooking = false));
    }
  }, lookEveryMs);
  scope.atEnd(() => {
    clearInterval(looking);
    for (const { agent } of upstreams.values()) agent.destroy();
  });
  return {
    url,
    setRelay(name, url) {
      upstreams.get(name)?.agent.destroy();
      const agent = new Agent({ keepAlive: true, timeout: idleMs });
      upstreams.set(name, { name, url: new URL(url), isReady: false, isLooking: false, agent });
    },
    ready: () => [...upstreams.values()].filter(({ isReady }) => isReady).map(({ name }) => name),
  };
}

/** `unsent`: no connection was made. `sent`: it may have arrived, and no answer has. */
function tryOne(
  { url, agent }: Upstream,
  { method, url: path, headers }: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<"done" | "sent" | "unsent"> {
  return new Promise((resolve) => {
    let isConnected = false;
    const { connection: _, host: __, ...passed } = headers;
    const options = { host: url.hostname, port: url.port, path, method, agent, timeout: answerWithinMs };
    const sent = request({ ...options, headers: { ...passed, "content-length": body.length } }, (answer) => {
      const { connection: ___, "transfer-encoding": ____, ...given } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, given);
      answer.pipe(response);
      answer.on("error", () => response.destroy());
      resolve("done");
    });
    sent.on("socket", (socket) => {
      if (socket.connecting) socket.once("connect", () => (isConnected = true));
      else isConnected = true;
    });
    sent.on("timeout", () => sent.destroy(new Error("no answer in time")));
    sent.on("error", () => resolve(isConnected ? "sent" : "unsent"));
    sent.end(body);
  });
}

async function look(upstream: Upstream): Promise<void> {
  const { url } = upstream;
  upstream.isReady = await new Promise<boolean>((resolve) => {
    const asked = request({ host: url.hostname, port: url.port, path: "/readyz", timeout: lookWithinMs }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(false));
    asked.end();
  });
}
