import { type SpawnOptions, spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isatty } from "node:tty";
import { AppError } from "../../core/errors.ts";
import type { CliContext } from "./context.ts";
import { findOwnCommand } from "./own-command.ts";

/**
 * npm and the terminal each send SIGINT for one Ctrl-C, so a second signal this soon is the same one.
 * A later one ends the process at once, for those who do not want to wait for an orderly end.
 */
const sameSignalWithinMs = 1_000;

/**
 * The context of the real process, to be made before `loadDotEnv`. Takes SIGINT, SIGTERM and SIGHUP, and tolerates that what it
 * writes reaches nobody.
 */
export function createProcessContext(): CliContext {
  // Without a listener a pipe that is closed, a full disk or a terminal that is gone would end the process with a stack;
  // each write still learns of it by its callback.
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
  const signals = takeSignals(process.stdin.isTTY === true);
  const { LISTEN_FDS: _fds, LISTEN_PID: _pid, ...ownEnv } = process.env;
  const [script = ""] = process.argv.slice(1);
  const cwd = process.cwd();
  const again = (args: readonly string[], options: SpawnOptions) =>
    spawn(process.execPath, [...process.execArgv, script, ...args], options);
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    env: process.env,
    cwd,
    ownCommand: findOwnCommand(process.env.PATH, cwd, script),
    pid: process.pid,
    startAgain: (args, socket) =>
      // The folder is given as a path: another folder may have come to its place, with the next version in it.
      again(args, {
        cwd,
        env: ownEnv,
        stdio: socket === undefined ? ["ignore", "pipe", "ignore"] : ["inherit", "inherit", "inherit", socket, "ipc"],
      }),
    // A group of its own: the terminal sends Ctrl-C to all of this one.
    startApart: (args, place) => again(args, { ...place, detached: true, stdio: ["ignore", "pipe", "pipe", "ipc"] }),
    endWithParent() {
      // The child of another supervisor has no such channel, and no parent to hear from.
      if (process.connected === undefined) return;
      const end = () => signals.take("the end of its supervisor");
      // It may have ended while this process was still being loaded.
      if (process.connected) process.once("disconnect", end);
      else end();
      // It is only listened to, and keeps nothing running.
      process.channel?.unref();
      signals.onHangUp(() => {});
    },
    tellParent(message) {
      // It has just ended: `disconnect` reports that.
      if (process.connected) process.send?.(message, undefined, undefined, () => {});
    },
    onHangUp: signals.onHangUp,
    isTty: {
      stdin: process.stdin.isTTY === true,
      stdout: process.stdout.isTTY === true,
      stderr: process.stderr.isTTY === true,
    },
    columns: process.stdout.columns ?? process.stderr.columns,
    now: Date.now,
    random: Math.random,
    sleep,
    signal: signals.signal,
    setExitStatus: () => {},
  };
}

/** Adds what `.env` in the working directory says; what the environment says already wins. */
export function loadDotEnv(cwd: string): void {
  const path = join(cwd, ".env");
  if (!existsSync(path)) return;
  try {
    process.loadEnvFile(path);
  } catch (cause) {
    throw new AppError("config_invalid", `cannot read ${path}`, { hint: "check its permissions, or remove it", cause });
  }
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    throw signal?.reason ?? error;
  }
}

function takeSignals(startedAtTerminal: boolean) {
  const controller = new AbortController();
  // A command listens once for each call in flight; Node takes more than ten for a leak, and says so on stderr.
  setMaxListeners(0, controller.signal);
  let firstAt: number | undefined;
  const take = (name: string) => {
    if (firstAt === undefined) {
      firstAt = Date.now();
      controller.abort(new AppError("cancelled", `stopped by ${name}`));
    } else if (Date.now() - firstAt > sameSignalWithinMs) {
      process.exit(1);
    }
  };
  process.on("SIGINT", take);
  process.on("SIGTERM", take);
  // A terminal that is closed sends it.
  process.on("SIGHUP", take);
  return {
    signal: controller.signal,
    take,
    /** See `CliContext`. A later one takes the place of the one before. */
    onHangUp(listener: () => void): void {
      process.off("SIGHUP", take);
      // Where the terminal that it was started at has been closed, it ends as any command.
      process.on("SIGHUP", () => (startedAtTerminal && !isatty(0) ? take("SIGHUP") : listener()));
    },
  };
}
