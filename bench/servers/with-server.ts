import { type Bench, inFolder, type Sample } from "../harness/bench.ts";
import type { StandInKind } from "../harness/stand-ins.ts";
import type { BenchedServer } from "./tocsin.ts";

/** Where a server keeps its data, and where its messages go. */
export interface Surroundings {
  folder: string;
  port: number;
}

/** A run of a contender: a fresh server with a folder and a stand-in of its own, all gone afterwards. */
export function withServer(
  bench: Bench,
  kind: StandInKind,
  startServer: (surroundings: Surroundings) => Promise<BenchedServer>,
  measure: (server: BenchedServer, surroundings: Surroundings) => Promise<Sample>,
): () => Promise<Sample> {
  return () =>
    inFolder(bench, async (folder) => {
      const port = await bench.driver.call("openStandIn", kind);
      try {
        const server = await startServer({ folder, port });
        try {
          return await measure(server, { folder, port });
        } finally {
          await server.stop();
        }
      } finally {
        await bench.driver.call("closeStandIn");
      }
    });
}
