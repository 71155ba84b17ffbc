import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";

/** What the stand-ins have in common: a server on this machine, changes that others wait for, and faults that wait for their turn. */

/** Resolves with the address, without a slash at the end. */
export async function listen(server: Server, port = 0, host = "127.0.0.1"): Promise<{ url: string; port: number }> {
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

/** Ends the connections too. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

/** The body of a request; `undefined` when it is longer than that. */
export async function readWhole(request: IncomingMessage, mostBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= mostBytes) chunks.push(chunk);
  }
  return size <= mostBytes ? Buffer.concat(chunks) : undefined;
}

/** Calls the listener on every change; returns what ends it. */
export type OnChange = (listener: () => void) => () => void;

export interface Changes {
  changed(): void;
  onChange: OnChange;
  /** Resolves with what `look` finds, now or after a later change; rejects with `complaint()` after `timeoutMs`. */
  waitFor<T>(look: () => T | undefined, timeoutMs: number, complaint: () => string): Promise<T>;
}

export function createChanges(): Changes {
  const listeners = new Set<() => void>();
  const onChange: OnChange = (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    onChange,
    changed() {
      for (const listener of listeners) listener();
    },
    waitFor: (look, timeoutMs, complaint) =>
      new Promise((resolve, reject) => {
        const end = (settle: () => void) => {
          clearTimeout(timer);
          stop();
          settle();
        };
        const lookAgain = () => {
          const found = look();
          if (found !== undefined) end(() => resolve(found));
        };
        const stop = onChange(lookAgain);
        const timer = setTimeout(() => end(() => reject(new Error(complaint()))), timeoutMs);
        lookAgain();
      }),
  };
}

/** Faults that wait for what they fit. */
export interface Faults<F> {
  /** Queues a fault for the next that it fits; it is used `times` times (default once). */
  next(fault: F & { times?: number | "always" }): void;
  pending(): F[];
  clear(): void;
}

export interface FaultQueue<F> extends Faults<F> {
  /** The oldest fault that fits, counted down. */
  take(fits: (fault: F) => boolean): F | undefined;
}

export function createFaults<F extends object>(changed = () => {}): FaultQueue<F> {
  let queue: { fault: F; times: number }[] = [];
  return {
    next({ times = 1, ...fault }) {
      queue.push({ fault: fault as unknown as F, times: times === "always" ? Number.POSITIVE_INFINITY : times });
      changed();
    },
    pending: () => queue.map(({ fault }) => ({ ...fault })),
    clear() {
      queue = [];
      changed();
    },
    take(fits) {
      const found = queue.find(({ fault }) => fits(fault));
      if (found === undefined) return undefined;
      found.times -= 1;
      queue = queue.filter(({ times }) => times > 0);
      changed();
      return found.fault;
    },
  };
}
