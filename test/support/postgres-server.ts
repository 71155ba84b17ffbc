import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { findLastingPort } from "./lasting-port.ts";
import { scratch } from "./scratch.ts";

export type PostgresServer = Awaited<ReturnType<typeof startPostgresServer>>;

type Answer = { port: number; pid: number; data: string; error?: string };

/**
 * A PostgreSQL of one's own; it ends with this process at the latest.
 * @param place where its folder is made. Default: `scratch`.
 * @param original a server that is stopped, and whose files are copied: this one is its standby. It follows the one to which
 * `primary_conninfo` leads. Default: none, and it is new.
 * @param build the folder of a version's package (scripts/postgres-builds.mjs). Default: the one that is installed
 */
export async function startPostgresServer(
  settings: Record<string, string> = {},
  place = scratch,
  original?: { data: string },
  build = process.env.TOCSIN_TEST_POSTGRES ?? "",
) {
  const script = fileURLToPath(new URL("postgres-server.mjs", import.meta.url));
  const port = String(await findLastingPort());
  const args = [script, place, port, JSON.stringify(settings), original?.data ?? "", build];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"], detached: true });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  async function answer(): Promise<Answer> {
    const { value, done } = await lines.next();
    if (done) throw new Error("the process that keeps PostgreSQL has ended");
    const parsed = JSON.parse(value) as Answer;
    if (parsed.error !== undefined) throw new Error(`PostgreSQL for the tests cannot be started: ${parsed.error}`);
    return parsed;
  }
  let last = await answer();
  child.unref();
  async function command(text: string): Promise<void> {
    child.stdin.write(`${text}\n`);
    last = await answer();
  }
  return {
    /** The address of its database `postgres`, as its superuser. */
    url: `postgres://postgres@127.0.0.1:${last.port}/postgres`,
    /** Its files. */
    data: last.data,
    /** The id of its first process. */
    pid: () => last.pid,
    /** `SIGQUIT`: at once, as `pg_ctl -m immediate` does; `SIGINT`: its connections are ended; `SIGKILL`: of its first process, which the others follow. Resolves when it has ended. */
    stop: (signal: "SIGQUIT" | "SIGINT" | "SIGKILL") => command(`stop ${signal}`),
    /** On the same port. Resolves when it takes connections. */
    start: () => command("start"),
    restart: (signal: "SIGQUIT" | "SIGINT") => command(`restart ${signal}`),
    /** For good, with its folder. */
    async end() {
      if (child.exitCode !== null) return;
      const ended = once(child, "exit");
      // Without it this process may end while it waits.
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}
