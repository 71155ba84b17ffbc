import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { Secret } from "../../src/core/secret.ts";
import { listen } from "../../src/http/listen.ts";
import { Door, type DoorDeps, type DoorOptions } from "../../src/intake/door/door.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

export const secret = "door-secret-kS93jdLwm2PzQe81";

/** Secrets and key places of a source without a check. */
export const source = (name: string, ...secrets: string[]) => ({
  ...{ name, secrets: secrets.map((text) => new Secret(text)), keyPlaces: [], checks: [] },
});

export interface OpenDoorOptions extends Partial<DoorOptions> {
  /** What stands in for a part of it. */
  deps?: (store: Store) => Partial<DoorDeps>;
  now?: () => number;
  /** Sees each request right after the door. */
  watch?: (door: Door, request: IncomingMessage, response: ServerResponse) => void;
}

/** The door of a relay over a store of its own, and a sender. */
export async function openDoor(options: OpenDoorOptions = {}) {
  const { deps, watch, now = Date.now, ...rest } = options;
  const store = openLocalStore({ path: join(makeTempFolder(), "tocsin.db"), ballastBytes: 0 });
  const own = { store, refused: store, now, newId: createIdSource(now), log: silentLog };
  const door = new Door({ ...own, ...deps?.(store) }, { secret: new Secret(secret), ...rest });
  const handle = door.handle.bind(door);
  door.handle = (request, response, given) => {
    handle(request, response, given);
    watch?.(door, request, response);
  };
  onTestFinished(() => store.close());
  const server = await listen({ door, host: "127.0.0.1", port: 0, clock: systemClock, headers: {} });
  onTestFinished(() => server.close());
  const { port } = server.address();
  const origin = `http://127.0.0.1:${port}`;
  /** To the hook with such a secret. */
  async function send(to: string, body?: RequestInit["body"], headers: Record<string, string> = {}, method = "POST") {
    const response = await fetch(`${origin}/hooks/${to}`, { method, body, headers, duplex: "half" } as RequestInit);
    const text = await response.text();
    const { data, error } = (text.startsWith("{") ? JSON.parse(text) : {}) as {
      data?: { id: string; ids?: string[]; duplicate: boolean };
      error?: { code: string; message: string };
    };
    return { status: response.status, headers: response.headers, text, data, error };
  }
  return {
    origin,
    port,
    store,
    door,
    accepted: () => door.counters.alerts,
    send,
    post: (body: RequestInit["body"], headers?: Record<string, string>) => send(secret, body, headers),
  };
}
