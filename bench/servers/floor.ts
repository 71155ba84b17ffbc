import { join } from "node:path";
import { end, firstLine, freePort, type Place, start } from "../harness/processes.ts";
import type { BenchedServer } from "./tocsin.ts";

export interface FloorOptions {
  place: Place;
  /** The program, see `--floor`. */
  file: string;
  folder: string;
  /** Where it relays to. */
  port: number;
}

/** The least that a durable relay with SQLite costs: one route, one webhook, no pages, two commits an alert. */
export async function startFloor({ place, file, folder, port }: FloorOptions): Promise<BenchedServer> {
  const own = await freePort();
  const child = start([process.execPath, file], {
    place,
    env: {
      MODE: "thread",
      STEPS: "2",
      PORT: String(own),
      DB: join(folder, "floor.db"),
      SINK: `http://127.0.0.1:${port}/sink`,
    },
  });
  await firstLine(child);
  const origin = `http://127.0.0.1:${own}`;
  return {
    origin,
    target: { url: `${origin}/`, dialect: "tocsin", pid: child.pid ?? 0 },
    process: child,
    stop: () => end(child),
  };
}
