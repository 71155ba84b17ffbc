import { createServer, type Server } from "node:http";
import type { AddressInfo, Server as NetServer } from "node:net";
import { getRequestListener, type HttpBindings } from "@hono/node-server";

/** The common parts of the stand-ins: a server on this machine, changes that others wait for, and queued faults. */

type Listening = Pick<NetServer, "listen" | "once" | "off" | "address">;

/** Resolves with the address, without a trailing slash. Rejects as the server does. */
export async function listen(server: Listening, port = 0, host = "127.0.0.1"): Promise<{ url: string; port: number }> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const taken = (server.address() as AddressInfo).port;
  return { url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}`, port: taken };
}

export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  const { port } = await listen(server);
  await closeServer(server);
  return port;
}

/** Answers with what `fetch` returns for each request. Rejects as the server does. */
export async function openServer(
  fetch: (request: Request, env: HttpBindings) => Response | Promise<Response>,
  { port, host, ...serverOptions }: { port?: number; host?: string; keepAliveTimeout?: number } = {},
) {
  const listener = getRequestListener((request, env) => fetch(request, env as HttpBindings));
  const server = createServer(serverOptions, (request, response) => void listener(request, response));
  const address = await listen(server, port, host);
  return { ...address, close: () => closeServer(server) };
}

/** Calls the listener on every change. Returns a function that ends it. */
export type OnChange = (listener: () => void) => () => void;

export function createChanges() {
  const listeners = new Set<() => void>();
  const onChange: OnChange = (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    onChange,
    changed(): void {
      for (const listener of listeners) listener();
    },
  };
}

export type Faults<F extends object> = ReturnType<typeof createFaults<F>>;

export function createFaults<F extends object>(changed = () => {}) {
  let queue: { fault: F; times: number }[] = [];
  return {
    /** Queues a fault for the next fitting request, or the next `times` ones (default 1). */
    next({ times = 1, ...fault }: F & { times?: number | "always" }): void {
      queue.push({ fault: fault as unknown as F, times: times === "always" ? Number.POSITIVE_INFINITY : times });
      changed();
    },
    pending: (): F[] => queue.map(({ fault }) => ({ ...fault })),
    clear(): void {
      queue = [];
      changed();
    },
    /** Takes the oldest fitting fault once. */
    take(fits: (fault: F) => boolean): F | undefined {
      const found = queue.find(({ fault }) => fits(fault));
      if (found === undefined) return undefined;
      found.times -= 1;
      queue = queue.filter(({ times }) => times > 0);
      changed();
      return found.fault;
    },
  };
}
