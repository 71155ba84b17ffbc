import { createServer } from "node:http";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Secret } from "../../src/core/secret.ts";
import { Door, type DoorOptions, hookPrefix } from "../../src/intake/door/door.ts";
import { listenOnLoopback } from "./loopback.ts";

/** The door of a relay that stores nothing: it proves itself, and answers an alert with 503. */
export async function openLoneDoor(secret: Secret, options: Partial<DoorOptions> = {}) {
  const acceptRequest = () => Promise.reject(new Error("an alert has come"));
  const deps = { store: { acceptRequest }, refused: { recordRefused: async () => {} }, now: Date.now, log: silentLog };
  const door = new Door({ ...deps, newId: createIdSource(Date.now) }, { secret, ...options });
  const server = createServer((request, response) => {
    // As a relay does (listen.ts): a query and one slash at the end are no part of the secret.
    const path = (request.url ?? "").replace(/\?.*$/, "").replace(/\/$/, "");
    door.handle(request, response, path.slice(hookPrefix.length));
  });
  return { door, url: (await listenOnLoopback(server)).url };
}
