import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createScope, pause, type Scope, until } from "../relays/scope.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import { type RelayProcess, startRelayProcess } from "../support/relay-process.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

type Status = "firing" | "resolved";
const faults = ["none", "reset", "500", "429", "none", "hung"] as const;
const hungForMs = 3_000;
const allToldWithinMs = 120_000;

interface Receiver {
  url: string;
  /** What was taken of each key, in its order. A call that was refused, or got no answer, is not among it. */
  taken: Map<string, Status[]>;
}

/** A program that opens and closes incidents, and fails the first call about each key in a way of its own. */
async function createReceiver(scope: Scope): Promise<Receiver> {
  const taken = new Map<string, Status[]>();
  const called = new Set<string>();
  const server = createServer(async (request, response) => {
    const body = (await json(request).catch(() => undefined)) as
      | { data?: { alerts?: { title: string; status: Status }[] } }
      | undefined;
    const alerts = body?.data?.alerts?.toReversed() ?? [];
    const key = alerts[0]?.title ?? "";
    const fault = called.has(key) ? "none" : faults[Number(/\d+/.exec(key)?.[0] ?? 0) % faults.length];
    called.add(key);
    if (fault === "hung") await pause(hungForMs);
    if (fault === "reset") return void request.socket.destroy();
    if (fault === "500") return void response.writeHead(500).end();
    if (fault === "429") return void response.writeHead(429, { "retry-after": "1" }).end();
    for (const { title, status } of alerts) taken.set(title, [...(taken.get(title) ?? []), status]);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  scope.atEnd(() => server.close());
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`, taken };
}

async function startRelay(scope: Scope, receiver: Receiver, env: Record<string, string>): Promise<RelayProcess> {
  const folder = makeTempFolder(scope.atEnd);
  const path = join(folder, "tocsin.yaml");
  writeFileSync(
    path,
    `destinations:\n  program: { type: webhook, url: "${receiver.url}", allowInternal: ["127.0.0.1"], digestOver: 1000 }
delivery: { ambiguous: { wait: 1s, repeats: 10 }, webhook: { schedule: [1s, 1s, 1s, 1s, 1s] }, breaker: { failures: 1000 } }\n`,
  );
  const given = { ...env, TOCSIN_CONFIG: path, LOG_LEVEL: "error" };
  return await startRelayProcess(folder, given, undefined, undefined, scope.atEnd);
}

interface Row {
  wrongLastWord: number;
  firingBehindItsEnd: number;
  untold: number;
}

/**
 * Firing and resolution of one key, 0 to 500 ms apart, while the first call about each key goes well, is reset, refused with
 * 500 or 429, or hangs for 3 s: to one relay on SQLite, then to two on one PostgreSQL, the firing to one and the resolution to the
 * other, and to two of which the one that takes the firing stands still for 20 s right behind its answer. The last that the
 * program has taken of each key says that it is over.
 *
 * `--pairs N` of each of the first two (default 250), `--seed N`.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { pairs: { type: "string", default: "250" }, seed: { type: "string", default: "1" } },
  });
  const random = createSeededRandom(Number(values.seed));
  const pairs = Number(values.pairs);
  console.log(`${"relays".padEnd(36)}pairs  wrong last word  firing behind its end  never told`);
  const rows: Row[] = [];
  const tell = (name: string, count: number, row: Row) => {
    rows.push(row);
    const cells = [row.wrongLastWord, row.firingBehindItsEnd, row.untold].map((one) => String(one).padStart(16));
    console.log(`${name.padEnd(36)}${String(count).padStart(5)}${cells.join("")}`);
  };
  await within(async (scope) => {
    const receiver = await createReceiver(scope);
    const relay = await startRelay(scope, receiver, {});
    tell("one, SQLite", pairs, await post(pairs, random, receiver, [relay, relay]));
  });
  await within(async (scope) => {
    const { receiver, relays } = await startTwo(scope);
    tell("two, PostgreSQL", pairs, await post(pairs, random, receiver, relays));
  });
  await within(async (scope) => {
    const { receiver, relays } = await startTwo(scope);
    tell("two, one stands still for 20 s", 4, await post(4, random, receiver, relays, freeze));
  });
  return rows.every((row) => row.wrongLastWord + row.firingBehindItsEnd + row.untold === 0);
}

async function within(work: (scope: Scope) => Promise<void>): Promise<void> {
  const scope = createScope();
  try {
    await work(scope);
  } finally {
    await scope.end();
  }
}

async function startTwo(scope: Scope) {
  const receiver = await createReceiver(scope);
  const postgres = await startPostgresServer();
  scope.atEnd(postgres.end);
  const env = { DATABASE_URL: postgres.url };
  const relays = [await startRelay(scope, receiver, env), await startRelay(scope, receiver, env)] as const;
  return { receiver, relays };
}

async function freeze({ process }: RelayProcess): Promise<void> {
  process.kill("SIGSTOP");
  setTimeout(() => process.kill("SIGCONT"), 20_000);
  await pause(2_000);
}

async function post(
  pairs: number,
  random: SeededRandom,
  { taken }: Receiver,
  relays: readonly [RelayProcess, RelayProcess],
  between: (relay: RelayProcess) => Promise<void> = () => pause(random.below(500)),
): Promise<Row> {
  const say = (relay: RelayProcess, title: string, status: Status) =>
    relay.post(JSON.stringify({ title, status, severity: "critical", key: title }));
  const all: Promise<void>[] = [];
  for (let number = 0; number < pairs; number += 1) {
    const [one, other] = random.below(2) === 0 ? relays : [relays[1], relays[0]];
    const title = `Pool ${number} is out of its range`;
    const pair = async () => {
      await say(one, title, "firing");
      await between(one);
      await say(other, title, "resolved");
    };
    all.push(pair());
    await (between === freeze ? all.at(-1)?.then(() => pause(22_000)) : pause(100));
  }
  await Promise.all(all);
  const isOver = (told: Status[] | undefined) => told?.at(-1) === "resolved";
  await until(() => taken.size === pairs && [...taken.values()].every(isOver), allToldWithinMs);
  // What comes too late would come now.
  await pause(5_000);
  const told = [...taken.values()];
  return {
    wrongLastWord: told.filter((one) => !isOver(one)).length,
    firingBehindItsEnd: told.filter(
      (one) => one.includes("resolved") && one.lastIndexOf("firing") > one.indexOf("resolved"),
    ).length,
    untold: pairs - taken.size,
  };
}
