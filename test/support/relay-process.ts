import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { Readable, Stream } from "node:stream";
import { onTestFinished } from "vitest";
import { dropKeptConnections } from "./loopback.ts";

const bin = new URL("../../bin/tocsin.js", import.meta.url).pathname;
const built = new URL("../../dist/bundle/main.js", import.meta.url).pathname;

export const webhookSecret = "journey-hook-kS93jdLwm2PzQe81";
export const adminToken = "journey-admin-Vb72kdPwq0XnRt64";

/**
 * The built program as a process of its own.
 * @param command what Node runs. Default: the built `serve`.
 * @param socket an open socket, which is handed over as systemd does it: as descriptor 3, with `LISTEN_FDS` and
 * `LISTEN_PID`. Default: none.
 * @param atEnd takes what ends it. Default: it ends with the test.
 */
export async function startRelayProcess(
  dataDir: string,
  env: Record<string, string>,
  command = [bin, "serve", "--json"],
  socket?: Stream | number,
  atEnd: (undo: () => Promise<void>) => void = onTestFinished,
) {
  if (!existsSync(built)) throw new Error("dist/ is missing: run `npm run build` first (npm test does)");
  // Only the process itself knows its id before it begins; the shell becomes Node.
  const asSystemd = ["-c", 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@"', process.execPath, ...command];
  const [file, args] = socket === undefined ? [process.execPath, command] : ["/bin/sh", asSystemd];
  const child = spawn(file, args, {
    cwd: dataDir,
    env: {
      PATH: process.env.PATH,
      HOME: dataDir,
      PORT: "0",
      DATA_DIR: dataDir,
      WEBHOOK_SECRET: webhookSecret,
      ADMIN_TOKEN: adminToken,
      LOG_LEVEL: "info",
      // For the tests that are about it.
      DRAIN_TIME: "0s",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe", ...(socket === undefined ? [] : [socket])],
  }) as ChildProcessByStdio<null, Readable, Readable>;
  let log = "";
  child.stderr.on("data", (chunk) => {
    log += chunk;
  });
  // A relay below a supervisor ends a moment after it, and writes until then: the pipe that both have closes with the last.
  const allEnded = once(child, "close");
  atEnd(async () => {
    child.kill("SIGKILL");
    await allEnded;
  });
  const url = await readUrl(child, () => log);
  const hookUrl = `${url}/hooks/${webhookSecret}`;
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  const api = (path: string, init: RequestInit = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { authorization: `Bearer ${adminToken}`, ...init.headers } });
  return {
    url,
    hookUrl,
    process: child,
    /** All that it has written to standard error. */
    log: () => log,
    async post(body: string | Uint8Array, headers: Record<string, string> = { "content-type": "application/json" }) {
      const response = await fetch(hookUrl, { method: "POST", body, headers });
      const answer = (await response.json()) as {
        data?: { id?: string; ids?: string[]; duplicate?: boolean };
      };
      const ids = answer.data?.ids ?? (answer.data?.id ? [answer.data.id] : []);
      return { status: response.status, ids, duplicate: answer.data?.duplicate };
    },
    api,
    async getJson<T>(path: string) {
      const response = await api(path);
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as T;
    },
    /** SIGTERM, and its exit status. */
    stop() {
      dropKeptConnections();
      return end("SIGTERM");
    },
    /** SIGKILL. */
    kill: async () => {
      await end("SIGKILL");
    },
  };
}

export type RelayProcess = Awaited<ReturnType<typeof startRelayProcess>>;

/** It listens: it has started, or says that it waits for its database. */
async function readUrl(child: ChildProcess, log: () => string): Promise<string> {
  let text = "";
  let hear = () => {};
  const url = new Promise<string>((resolve, reject) => {
    hear = () => {
      const waits = /"port":(\d+),"event":"store.awaited"/.exec(log());
      if (waits !== null) resolve(`http://127.0.0.1:${waits[1]}`);
    };
    child.stderr?.on("data", hear);
    child.stdout?.on("data", (chunk) => {
      text += chunk;
      const end = text.indexOf("\n");
      if (end === -1) return;
      const { data } = JSON.parse(text.slice(0, end)) as { data?: { url: string } };
      // Without it, it is an error, and an end follows.
      if (data !== undefined) resolve(data.url);
    });
    child.once("exit", (code) => reject(new Error(`the relay ended with ${code}: ${log()}${text}`)));
  });
  // It says much more later.
  return url.finally(() => child.stderr?.off("data", hear));
}

/**
 * Asks again every 50 ms until the answer is as wished; the limit only ends a test that has failed, on however busy a
 * machine.
 */
export async function waitUntil<T>(ask: () => Promise<T> | T, wished: (value: T) => boolean, what: string): Promise<T> {
  const end = Date.now() + 240_000;
  for (;;) {
    const value = await ask();
    if (wished(value)) return value;
    if (Date.now() > end) throw new Error(`${what} did not come about: ${JSON.stringify(value)?.slice(0, 2_000)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
