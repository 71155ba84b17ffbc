import { fileURLToPath } from "node:url";
import { end, firstLine, type Place, start } from "../harness/processes.ts";
import type { BenchedServer } from "./tocsin.ts";

/** The bare server, see `hono-process.ts`. */
export async function startHono(place: Place): Promise<BenchedServer> {
  const path = fileURLToPath(new URL("hono-process.ts", import.meta.url));
  const child = start([process.execPath, "--import", "tsx", path], { place });
  const { port } = JSON.parse(await firstLine(child)) as { port: number };
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    target: { url: `${origin}/hooks/bench`, dialect: "tocsin", pid: child.pid ?? 0 },
    process: child,
    stop: () => end(child),
  };
}
