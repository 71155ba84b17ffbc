import { type SpawnOptions, spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isatty } from "node:tty";
import { AppError } from "../../core/errors.ts";
import type { CliContext } from "./context.ts";
import { findOwnCommand } from "./own-command.ts";

/** npm and the terminal each send SIGINT for one Ctrl-C. A second one after this time ends the process at once. */
const sameSignalWithinMs = 1_000;

/** Call it before `loadDotEnv`. Handles SIGINT, SIGTERM and SIGHUP, and accepts that its output may have no reader. */
export function createProcessContext(): CliContext {
  // Without a listener a closed pipe, a full disk or a closed terminal would end the process with a stack. Each write
  // still hears of it by its callback.
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
      // The folder is given as a path: an upgrade may have put another folder in its place.
      again(args, {
        cwd,
        env: ownEnv,
        stdio: socket === undefined ? ["ignore", "pipe", "ignore"] : ["inherit", "inherit", "inherit", socket, "ipc"],
      }),
    // The child has a process group of its own: the terminal sends Ctrl-C to the whole group of this one.
    startApart: (args, place) => again(args, { ...place, detached: true, stdio: ["ignore", "pipe", "pipe", "ipc"] }),
    endWithParent() {
      // A child of another supervisor has no such channel, and hears of no parent.
      if (process.connected === undefined) return;
      const end = () => signals.take("the end of its supervisor");
      // The parent may have ended while this process was loading.
      if (process.connected) process.once("disconnect", end);
      else end();
      // The channel is only listened to, and must not keep the process alive.
      process.channel?.unref();
      signals.onHangUp(() => {});
    },
    tellParent(message) {
      // The parent has just ended, which `disconnect` reports.
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

/** Values of the environment come before those of `.env`. */
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
  // A command listens once for each call in flight. Node would report more than ten listeners as a leak on stderr.
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
  process.on("SIGHUP", take);
  return {
    signal: controller.signal,
    take,
    /** A later listener replaces an earlier one. */
    onHangUp(listener: () => void): void {
      process.off("SIGHUP", take);
      // When its terminal has been closed, the process ends like any command.
      process.on("SIGHUP", () => (startedAtTerminal && !isatty(0) ? take("SIGHUP") : listener()));
    },
  };
}
