import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { endChild } from "../../workshop/children.ts";
import { freePort } from "../../workshop/stand-in.ts";
import type { Contender, Sample } from "../harness/bench.ts";
import { inFolder, type Place, start } from "../harness/processes.ts";
import type { Dialect, Target } from "../harness/requests.ts";
import { openStandIn, type StandInKind } from "../harness/stand-ins.ts";

export interface BenchedServer {
  target: Target;
  /** Without a trailing slash. */
  origin: string;
  /** Resolves when it answers. */
  ready(): Promise<void>;
  stop(): Promise<unknown>;
}

export interface Surroundings {
  folder: string;
  /** The port of the stand-in. */
  port: number;
}

/** A program that is measured. */
export interface Server {
  name: string;
  /** Does not wait until the server answers. */
  launch(place: Place, at: Surroundings): Promise<BenchedServer>;
}

interface LaunchOptions {
  place: Place;
  /** It listens on the port of this machine that is here and in `PORT`. */
  command: (port: number) => string[];
  env?: Record<string, string>;
  /** The path for alerts below the origin. */
  hook: string;
  dialect?: Dialect;
  /** Where the number of its statements is written. Default: they are not counted. */
  countsIn?: string;
  /** Where it answers 200 when it is ready. Default: it writes a line then. */
  readyPath?: string;
}

const counter = fileURLToPath(new URL("../harness/count-statements.cjs", import.meta.url));

export async function launch(options: LaunchOptions): Promise<BenchedServer> {
  const { place, command, env, hook, dialect = "tocsin", countsIn, readyPath } = options;
  const port = await freePort();
  const statements = countsIn && join(countsIn, "statements");
  const counting = statements && { NODE_OPTIONS: `--require ${counter}`, STATEMENTS: statements };
  const child = start(command(port), place, { PORT: String(port), ...counting, ...env });
  const [origin, pid] = [`http://127.0.0.1:${port}`, child.pid ?? 0];
  return {
    origin,
    target: { url: origin + hook, dialect, pid, statements },
    async ready() {
      if (readyPath !== undefined) await answers(`${origin}${readyPath}`, pid);
      // It writes, or has ended.
      else await once(child.stdout, "readable");
      child.stdout.resume();
    },
    stop: () => endChild(child, [["SIGKILL", 15_000]]),
  };
}

/** @throws when the process has ended */
async function answers(url: string, pid: number): Promise<void> {
  while (!(await fetch(url).catch(() => undefined))?.ok) {
    process.kill(pid, 0);
    await sleep(10);
  }
}

/** Runs with new servers that are ready, a folder and a stand-in. All are removed afterwards. */
export function withServers<T>(
  kind: StandInKind,
  launchAll: (at: Surroundings) => Promise<BenchedServer>[],
  measure: (servers: BenchedServer[], at: Surroundings) => Promise<T>,
): Promise<Awaited<T>> {
  return inFolder(async (folder) => {
    const { port, close } = await openStandIn(kind);
    const servers: BenchedServer[] = [];
    try {
      for (const launching of launchAll({ folder, port })) servers.push(await launching);
      for (const server of servers) await server.ready();
      return await measure(servers, { folder, port });
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
      close();
    }
  });
}

export type Measure = (server: BenchedServer, at: Surroundings) => Promise<Sample>;

export function contend(servers: Server[], kind: StandInKind, place: Place, measure: Measure): Contender[] {
  return servers.map(({ name, launch }) => ({
    name,
    run() {
      const measureOne = ([server]: BenchedServer[], at: Surroundings) => measure(server as BenchedServer, at);
      return withServers(kind, (at) => [launch(place, at)], measureOne);
    },
  }));
}
