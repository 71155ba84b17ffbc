/**
 * `npm run bench:intake [-- --rounds N --seconds N]`: accepted alerts a second, and how long each waits, against a
 * server that keeps nothing. The two run in turn within each round, so a machine that slows down slows both. Every
 * alert is fsynced before its answer; routing, a chat destination (a stand-in on this machine), page and search index
 * are on.
 *
 * `cpu` is the processor time that the relay spends for each alert, routing included as far as it has come: on a busy
 * machine it says more than the rate. To compare with another version, copy this folder into its checkout and run the
 * two in turn.
 *
 * With one connection it also shows what the alert waits for besides: the peer's answer, and a lone commit with its
 * sync.
 *
 * `1 core`: the server is held to one core (taskset) and the load to another; `2 cores`: both may use both.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    connections: { type: "string", default: "1,16,64" },
  },
});
const rounds = Number(values.rounds);
const connectionCounts = values.connections.split(",").map(Number);
const secret = "bench-hook-kS93jdLwm2PzQe81";
const adminToken = "bench-admin-Vb72kdPwq0XnRt64";
const tsx = ["--import", "tsx"];

interface Measured {
  rate: number;
  /** Processor time of the server for each alert, microseconds; absent where /proc does not say. */
  cpu?: number;
  p50: number;
  p99: number;
  pageP50?: number;
}

interface Server {
  url: string;
  process: ChildProcess;
}

function pinned(core: number | undefined, command: string[]): [string, string[]] {
  if (core === undefined) return [command[0] as string, command.slice(1)];
  return ["taskset", ["-c", String(core), ...command]];
}

async function start(command: string[], core: number | undefined, env: Record<string, string>): Promise<Server> {
  const [file, args] = pinned(core, [process.execPath, ...command]);
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "ignore"] });
  let text = "";
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  const line = JSON.parse(text.split("\n")[0] ?? "{}");
  const origin = line.data?.url ?? `http://127.0.0.1:${line.port}`;
  return { url: `${origin}/hooks/${secret}`, process: child };
}

async function stop({ process: child }: Server): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}

/** Milliseconds, in the steps of the kernel's clock (10 ms). */
function cpuOf({ process: { pid } }: Server): number | undefined {
  try {
    const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    const [user, system] = fields.split(" ").slice(11, 13).map(Number);
    return 10 * ((user ?? 0) + (system ?? 0));
  } catch {
    return undefined;
  }
}

async function load(server: Server, connections: number, mode: string, core: number | undefined): Promise<Measured> {
  const cpuBefore = cpuOf(server);
  const [file, args] = pinned(core, [
    process.execPath,
    ...tsx,
    "bench/load.ts",
    server.url,
    String(connections),
    mode,
    values.seconds,
  ]);
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  await once(child, "exit");
  const result = JSON.parse(text) as {
    requests: number;
    seconds: number;
    p50: number;
    p99: number;
    unexpected: number;
  };
  if (result.unexpected > 0) console.error(`  ${result.unexpected} answers were not 202`);
  const cpuAfter = cpuOf(server);
  const cpu =
    cpuBefore === undefined || cpuAfter === undefined ? undefined : (1000 * (cpuAfter - cpuBefore)) / result.requests;
  return { rate: result.requests / result.seconds, cpu, p50: result.p50, p99: result.p99 };
}

/** How quickly the page's API answers meanwhile. */
async function readMeanwhile(origin: string, until: Promise<unknown>): Promise<number> {
  let over = false;
  until.finally(() => {
    over = true;
  });
  const times: number[] = [];
  while (!over) {
    const startedAt = performance.now();
    const response = await fetch(`${origin}/api/alerts?limit=50`, {
      headers: { authorization: `Bearer ${adminToken}` },
    });
    await response.arrayBuffer();
    times.push(performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? 0;
}

async function startRelay(core: number | undefined, folder: string, chatUrl: string): Promise<Server> {
  return start(["bin/tocsin.js", "serve", "--json"], core, {
    PORT: "0",
    DATA_DIR: folder,
    WEBHOOK_SECRET: secret,
    ADMIN_TOKEN: adminToken,
    LOG_LEVEL: "error",
    TOCSIN_CONFIG: "",
    TELEGRAM_BOT_TOKEN: "7:bench-token-bench-token",
    TELEGRAM_CHAT_IDS: "-1001",
    TELEGRAM_API_ROOT: chatUrl,
  });
}

/** Milliseconds that a lone alert waits for its own commit. */
function ownSync(core: number | undefined): number {
  const [file, args] = pinned(core, [process.execPath, ...tsx, "bench/sync.ts"]);
  return (JSON.parse(execFileSync(file, args, { encoding: "utf8" })) as { p50: number }).p50;
}

function summary(numbers: number[], digits: number): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const show = (value: number | undefined) => (value ?? 0).toFixed(digits);
  return `${show(sorted[Math.floor(sorted.length / 2)])} (${show(sorted[0])} to ${show(sorted.at(-1))})`;
}

async function measure(cores: 1 | 2, mode: "keep" | "new", connections: number, chatUrl: string): Promise<void> {
  const serverCore = cores === 1 ? 0 : undefined;
  const loadCore = cores === 1 ? 1 : undefined;
  const peers: Measured[] = [];
  const relays: Measured[] = [];
  const syncs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const peer = await start([...tsx, "bench/peer.ts"], serverCore, {});
    peers.push(await load(peer, connections, mode, loadCore));
    await stop(peer);
    const folder = mkdtempSync(join(tmpdir(), "tocsin-bench-"));
    const relay = await startRelay(serverCore, folder, chatUrl);
    const loading = load(relay, connections, mode, loadCore);
    const pageP50 = await readMeanwhile(new URL(relay.url).origin, loading);
    relays.push({ ...(await loading), pageP50 });
    await stop(relay);
    rmSync(folder, { recursive: true, force: true });
    if (connections === 1) syncs.push(ownSync(serverCore));
  }
  const ratios = relays.map((relay, index) => relay.rate / (peers[index]?.rate ?? 1));
  console.log(
    [
      `${cores} core${cores === 1 ? " " : "s"}`,
      mode === "keep" ? "kept alive    " : "new connection",
      String(connections).padStart(3),
      `ratio ${summary(ratios, 2)}`,
      `relay/s ${summary(
        relays.map(({ rate }) => rate),
        0,
      )}`,
      `peer/s ${summary(
        peers.map(({ rate }) => rate),
        0,
      )}`,
      `cpu ${summary(
        relays.map(({ cpu = 0 }) => cpu),
        0,
      )} µs`,
      `p50 ${summary(
        relays.map(({ p50 }) => p50),
        2,
      )} ms`,
      `p99 ${summary(
        relays.map(({ p99 }) => p99),
        2,
      )} ms`,
      `page p50 ${summary(
        relays.map(({ pageP50 = 0 }) => pageP50),
        1,
      )} ms`,
      ...(syncs.length === 0
        ? []
        : [
            `peer p50 ${summary(
              peers.map(({ p50 }) => p50),
              2,
            )} ms`,
            `own sync p50 ${summary(syncs, 2)} ms`,
          ]),
    ].join(" | "),
  );
}

const canPin = (() => {
  try {
    execFileSync("taskset", ["-c", "0", "true"]);
    return availableParallelism() > 1;
  } catch {
    return false;
  }
})();
if (!canPin) console.log("taskset is missing or there is one core only: the rows for one core are left out");

const chat = await start([...tsx, "bench/chat.ts"], undefined, {});
const chatUrl = new URL(chat.url).origin;
try {
  for (const cores of canPin ? ([1, 2] as const) : ([2] as const)) {
    for (const mode of ["keep", "new"] as const) {
      for (const connections of connectionCounts) await measure(cores, mode, connections, chatUrl);
    }
  }
} finally {
  await stop(chat);
}
