import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { CliContext } from "../../src/cli/shell/context.ts";
import { AppError } from "../../src/core/errors.ts";
import { Secret } from "../../src/core/secret.ts";
import { endChild, endOf } from "../children.ts";
import { type Balancer, openBalancer, type Upstream } from "./balancer.ts";
import type { DemoWorld } from "./demo-world.ts";
import type { KeeperMessage } from "./postgres-keeper.ts";

/** Long enough to see the others take its lanes over, which takes one lease: 15 s. */
export const startedAgainAfterMs = 25_000;
const startsWithinMs = 60_000;
const looksReadyEveryMs = 100;
const stopsWithinMs = 30_000;
const keeperStopsWithinMs = 20_000;

type RelayAtWork = Pick<Upstream, "name" | "pid">;

export interface SeveralRelaysOptions {
  count: number;
  /** The address of an existing server. Default: a new one. */
  serverUrl?: string;
  openPort(open: typeof openBalancer): Promise<Balancer>;
  onGone(relay: RelayAtWork): void;
  onStartedAgain(relay: RelayAtWork): void;
  onLog(name: string, line: string): void;
}

/**
 * Runs relays as processes on one PostgreSQL, behind a balancer. A relay that ends is started again after a while.
 * @throws AppError `failed` when the database or a relay does not start
 */
export async function startSeveralRelays(world: DemoWorld, context: CliContext, options: SeveralRelaysOptions) {
  const undo: (() => Promise<void>)[] = [];
  /** Ends the relays in order, then their database. */
  const stop = async () => {
    for (const end of undo.reverse().splice(0)) await end();
  };
  try {
    const postgres = await startPostgres(world, context, options.serverUrl);
    undo.push(postgres.stop);
    const balancer = await options.openPort(openBalancer);
    undo.push(balancer.close);
    const publicUrl = `http://127.0.0.1:${balancer.port}`;
    const newSecret = () => new Secret(randomBytes(32).toString("base64url"));
    const [webhookSecret, adminToken] = [newSecret(), newSecret()];
    const env = {
      ...systemsOwn(context),
      ...world.env,
      DATABASE_URL: postgres.url,
      PUBLIC_URL: publicUrl,
      WEBHOOK_SECRET: webhookSecret.reveal(),
      ADMIN_TOKEN: adminToken.reveal(),
      PORT: "0",
      // All relays end together, so a drain has no use.
      DRAIN_TIME: "0s",
    };
    const relays = keepRelays(world, context, options, balancer, env);
    undo.push(relays.stop);
    await relays.started;
    return {
      ...{ publicUrl, webhookSecret, adminToken, databaseUrl: postgres.url, stop },
      relays: relays.atWork,
      /** Rejects when the database is gone for good. Otherwise stays pending. */
      failed: postgres.failed,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The system's part of the environment, without settings of a person's own relay. */
function systemsOwn({ env }: CliContext): Record<string, string> {
  const kept = ["PATH", "HOME", "TMPDIR", "SystemRoot"].flatMap((name) => (env[name] ? [[name, env[name]]] : []));
  return Object.fromEntries(kept);
}

function keepRelays(
  world: DemoWorld,
  context: CliContext,
  options: SeveralRelaysOptions,
  balancer: Balancer,
  env: Record<string, string>,
) {
  const stopping = new AbortController();
  const atWork = new Map<string, { child: ChildProcess; pid: number }>();
  const names = Array.from({ length: options.count }, (_, index) => `relay ${index + 1}`);

  /** Resolves when the relay has ended. `onListening` is called when it accepts connections. */
  async function run(name: string, onListening: (relay: RelayAtWork) => void): Promise<string> {
    // A new folder each time: with the folder of a killed relay it would take its lanes back at once.
    const folder = await mkdtemp(join(world.dataDir, `${name.replace(" ", "-")}-`));
    const child = context.startApart(["demo", "--part", "relay", "--json"], {
      cwd: folder,
      env: { ...env, DATA_DIR: folder, RELAY_NAME: name },
    });
    const ended = endOf(child);
    const { pid } = child;
    if (pid === undefined) return ended;
    atWork.set(name, { child, pid });
    let lastLine = "";
    onLine(child.stdout, (line) => {
      const { data } = JSON.parse(line) as { data?: { url: string } };
      if (data === undefined) return;
      balancer.put({ name, pid, port: Number(new URL(data.url).port) });
      onListening({ name, pid });
    });
    onLine(child.stderr, (line) => {
      lastLine = line;
      options.onLog(name, line);
    });
    const how = await ended;
    atWork.delete(name);
    balancer.remove(name);
    return lastLine === "" ? how : `${how}: ${lastLine}`;
  }

  async function keep(name: string, failFirst: (error: AppError) => void): Promise<void> {
    for (let isFirst = true; !stopping.signal.aborted; isFirst = false) {
      let running: RelayAtWork | undefined;
      const how = await run(name, (relay) => {
        running = relay;
        if (!isFirst) options.onStartedAgain(relay);
      });
      if (stopping.signal.aborted) return;
      if (running !== undefined) options.onGone(running);
      else if (isFirst) failFirst(new AppError("failed", `${name} does not start: it ended with ${how}`));
      await context.sleep(startedAgainAfterMs, stopping.signal).catch(() => {});
    }
  }

  let kept: Promise<void>[] = [];
  const failed = new Promise<never>((_, reject) => {
    kept = names.map((name) => keep(name, reject));
  });

  async function untilReady(): Promise<void> {
    const signal = AbortSignal.any([context.signal, stopping.signal]);
    for (let waitedMs = 0; balancer.ready().length < options.count; waitedMs += looksReadyEveryMs) {
      if (waitedMs > startsWithinMs) throw new AppError("failed", "the relays of the demo do not become ready");
      await context.sleep(looksReadyEveryMs, signal);
    }
  }

  return {
    started: Promise.race([untilReady(), failed]),
    atWork: () => [...atWork].map(([name, { pid }]) => ({ name, pid })).sort((a, b) => (a.name < b.name ? -1 : 1)),
    async stop() {
      stopping.abort();
      await Promise.all([...atWork.values()].map(({ child }) => endChild(child, [["SIGKILL", stopsWithinMs]])));
      await Promise.all(kept);
    },
  };
}

const onLine = (input: Readable | null, listener: (line: string) => void) =>
  input === null || createInterface({ input }).on("line", listener);

/** @throws AppError `failed` with advice */
async function startPostgres(world: DemoWorld, context: CliContext, serverUrl: string | undefined) {
  const keeper = context.startApart(["demo", "--part", "postgres", "--leftovers", world.dataDir], {
    cwd: world.dataDir,
    env: { ...systemsOwn(context), ...(serverUrl && { DATABASE_URL: serverUrl }) },
  });
  let said = "";
  keeper.stderr?.on("data", (chunk) => {
    said = `${said}${chunk}`.slice(-2_000);
  });
  keeper.stdout?.resume();
  const ended = endOf(keeper);
  const message = await Promise.race([
    new Promise<KeeperMessage>((resolve) => keeper.once("message", (given) => resolve(given as KeeperMessage))),
    ended.then((how): KeeperMessage => ({ refusal: { message: `what keeps it ended with ${how} ${said}`.trim() } })),
  ]);
  if ("refusal" in message) {
    await ended;
    const { message: why, hint } = message.refusal;
    throw new AppError("failed", why, { hint });
  }
  let isStopping = false;
  const failed = ended.then((how): never => {
    // The keeper has ended before its server.
    if (!isStopping) endServer(message.serverPid);
    throw new AppError("failed", `what keeps the demo's PostgreSQL has ended (${how})`);
  });
  failed.catch(() => {});
  return {
    url: message.url,
    failed,
    async stop(): Promise<void> {
      isStopping = true;
      const how = await endChild(keeper, [["SIGKILL", keeperStopsWithinMs]]);
      if (how === "SIGKILL") endServer(message.serverPid);
    },
  };
}

function endServer(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(pid, "SIGQUIT");
  } catch {
    // It has ended.
  }
}
