import { fileURLToPath } from "node:url";
import { end, firstLine, type Place, start } from "../harness/processes.ts";
import type { BenchedServer } from "./tocsin.ts";

/** See `graphile-worker-process.ts`. The schema is made by the first that starts. */
export async function startGraphileWorker(options: {
  place: Place;
  databaseUrl: string;
  sinks: string[];
}): Promise<BenchedServer> {
  const path = fileURLToPath(new URL("graphile-worker-process.ts", import.meta.url));
  const child = start([process.execPath, "--import", "tsx", path], {
    place: options.place,
    env: { DATABASE_URL: options.databaseUrl, SINKS: options.sinks.join(",") },
  });
  const { port } = JSON.parse(await firstLine(child)) as { port: number };
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    target: { url: `${origin}/hooks/bench`, dialect: "tocsin", pid: child.pid ?? 0 },
    process: child,
    stop: () => end(child),
  };
}
