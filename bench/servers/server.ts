import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../workshop/stand-in.ts";
import { end, firstLine, type Place, start } from "../harness/processes.ts";
import type { Dialect, Target } from "../harness/requests.ts";

export interface BenchedServer {
  target: Target;
  process: ChildProcess;
  /** Without a trailing slash. */
  origin: string;
  stop(): Promise<void>;
}

/** @param hook the path for alerts below the origin */
export function serverOf(
  child: ChildProcess,
  origin: string,
  hook: string,
  { dialect = "tocsin", statements }: { dialect?: Dialect; statements?: string } = {},
): BenchedServer {
  return {
    origin,
    target: { url: origin + hook, dialect, pid: child.pid ?? 0, statements },
    process: child,
    stop: () => end(child),
  };
}

/** @param folder where the number of statements is written */
export function countingStatements(folder: string): { env: Record<string, string>; statements: string } {
  const statements = join(folder, "statements");
  const counter = fileURLToPath(new URL("../harness/count-statements.cjs", import.meta.url));
  return { statements, env: { NODE_OPTIONS: `--require ${counter}`, STATEMENTS: statements } };
}

/** The program writes its port as the first line. */
async function startOwn(file: URL, place: Place, env?: Record<string, string>): Promise<BenchedServer> {
  const child = start([process.execPath, "--import", "tsx", fileURLToPath(file)], { place, env });
  const { port } = JSON.parse(await firstLine(child)) as { port: number };
  return serverOf(child, `http://127.0.0.1:${port}`, "/hooks/bench");
}

/** The bare server, see `hono-process.ts`. */
export const startHono = (place: Place) => startOwn(new URL("hono-process.ts", import.meta.url), place);

/** See `graphile-worker-process.ts`. The first process creates the schema. */
export const startGraphileWorker = (place: Place, databaseUrl: string, sinks: string[]) =>
  startOwn(new URL("graphile-worker-process.ts", import.meta.url), place, {
    DATABASE_URL: databaseUrl,
    SINKS: sinks.join(","),
  });

/**
 * The lowest cost of a durable relay with SQLite: one route, one webhook, no pages, two commits an alert.
 * @param file the program, see `--floor` @param sinkPort the port of the receiver
 */
export async function startFloor(file: string, folder: string, sinkPort: number): Promise<BenchedServer> {
  const port = await freePort();
  const [db, sink] = [join(folder, "floor.db"), `http://127.0.0.1:${sinkPort}/sink`];
  const { env, statements } = countingStatements(folder);
  const child = start([process.execPath, file], {
    place: "server",
    env: { ...env, MODE: "thread", STEPS: "2", PORT: String(port), DB: db, SINK: sink },
  });
  await firstLine(child);
  return serverOf(child, `http://127.0.0.1:${port}`, "/", { statements });
}

/** The runtime alone. Does not wait until it answers. */
export async function launchBareNode(): Promise<BenchedServer> {
  const port = await freePort();
  const code = `require("http").createServer((q, r) => { q.resume(); r.writeHead(202).end() }).listen(${port}, "127.0.0.1")`;
  const child = start([process.execPath, "-e", code], { place: "server" });
  return serverOf(child, `http://127.0.0.1:${port}`, "/");
}
