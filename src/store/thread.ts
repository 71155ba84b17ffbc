import { parentPort, workerData } from "node:worker_threads";
import { type DatabaseSession, openSession } from "./database-session.ts";
import {
  type FromThread,
  type ThreadData,
  type ToThread,
  toWireError,
  toWireResult,
  unpackBodies,
} from "./thread-protocol.ts";

/** Entry of a database thread: opens one connection and serves calls until it is told to close. */
function serve(): void {
  const port = parentPort;
  if (!port) throw new Error("this file is the entry of a thread");
  const say = (message: FromThread) => port.postMessage(message);
  let session: DatabaseSession;
  try {
    session = openSession(workerData as ThreadData);
  } catch (error) {
    say({ kind: "failed", error: toWireError(error) });
    port.close();
    return;
  }
  port.on("message", async (message: ToThread) => {
    switch (message.kind) {
      case "calls": {
        const { results, version } = session.commit(unpackBodies(message.calls, message.bodies));
        say({ kind: "results", id: message.id, results: results.map(toWireResult), version });
        return;
      }
      case "health":
        say({ kind: "health", id: message.id, health: session.health() });
        return;
      case "backup":
        say({ kind: "done", id: message.id, error: await failureOf(() => session.backup(message.path)) });
        return;
      case "close":
        say({ kind: "done", id: message.id, error: await failureOf(async () => session.close()) });
        port.close();
        return;
    }
  });
  say({ kind: "ready" });
}

async function failureOf(act: () => Promise<void>) {
  try {
    await act();
    return undefined;
  } catch (error) {
    return toWireError(error);
  }
}

serve();
