import { parentPort, workerData } from "node:worker_threads";
import { inTurn } from "../sqlite/in-turn.ts";
import { type FromThread, toWireError } from "../sqlite/thread-protocol.ts";
import { type SpoolQuestion, SpoolTable } from "./spool-table.ts";

/** Entry of the thread of a spool, which waits for the disk. */
function serve(): void {
  const port = parentPort;
  if (!port) throw new Error("this file is the entry of a thread");
  const say = (message: FromThread) => port.postMessage(message);
  const { dir, writtenTo } = workerData as { dir: string; writtenTo: number };
  const table = new SpoolTable(dir, writtenTo);
  port.on("message", ({ id, kind, given = [] }: SpoolQuestion & { id: number }) =>
    inTurn(async () => {
      try {
        const method = table[kind] as (...given: unknown[]) => Promise<unknown>;
        say({ kind: "answer", id, answer: await method.apply(table, given) });
      } catch (error) {
        say({ kind: "failure", id, error: toWireError(error) });
      }
      if (kind === "close") port.close();
    }),
  );
  say({ kind: "ready" });
}

serve();
