import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { inScope, pause, type Scope, until } from "../relays/scope.ts";
import { createFailingProxy, type FailingProxy } from "../support/failing-proxy.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import { type RelayProcess, startRelayProcess } from "../support/relay-process.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { botToken, chats, createReceivers, type Message, pairName, type Receivers } from "./order/receivers.ts";

type Status = "firing" | "resolved";

const allToldWithinMs = 180_000;
/** What comes too late comes within this. */
const lateMs = 8_000;
/** A call that was made before its end came arrives within this. */
const onItsWayMs = 2_000;
const mostAtOnce = 12;

interface Relay {
  process: RelayProcess;
  /** Its way to the database, where that is PostgreSQL. */
  proxy?: FailingProxy;
  start(): Promise<void>;
}

interface Pair {
  name: string;
  apartMs: number;
  /** Takes the firing. */
  one: Relay;
  /** Takes the resolution; the same where there is no other. */
  other: Relay;
  /** When the resolution was answered. Epoch milliseconds. */
  endedAt: number;
}

/** What happens between firings that one relay has taken and their resolutions, which another takes. */
interface Trouble {
  /** Before the firings. */
  before?(relay: Relay): void;
  /** Behind the last answer to them. */
  between?(relay: Relay): unknown;
  /** Behind the resolutions. */
  after?(relay: Relay): Promise<unknown>;
}

const frozen: Trouble = {
  between: ({ process }) => process.process.kill("SIGSTOP"),
  after: ({ process }) => pause(20_000).then(() => process.process.kill("SIGCONT")),
};
const killed: Trouble = {
  between: ({ process }) => process.kill(),
  after: (relay) => pause(3_000).then(() => relay.start()),
};
/** What it takes waits in its spool. */
const cutOff: Trouble = {
  before: ({ proxy }) => proxy?.hang(),
  after: ({ proxy }) => pause(5_000).then(() => proxy?.goOn()),
};

/**
 * Firing and resolution of one key, 0 to 500 ms apart, to a program, a chat and a mailbox, of which each fails its first call about
 * the key in a way of its own: it goes well, is reset, refused with 500, 429 or 451, or hangs. To one relay on SQLite; to two on one
 * PostgreSQL, the firing to one and the resolution to the other; and to two of which the one that takes the firing stands still for
 * 20 s right behind its answer, is killed there, or is cut off from the database and has the firing in its spool. The last that each
 * destination shows of each key says that it is over, and nothing rings behind that.
 *
 * `--pairs N` in all (default 500), `--seed N`, `--only WORD`: the scenes whose name has it.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const usual = (value: string) => ({ type: "string", default: value }) as const;
  const options = { pairs: usual("500"), seed: usual("1"), only: usual("") };
  const { values } = parseArgs({ args: [...args], options });
  const random = createSeededRandom(Number(values.seed));
  const part = (share: number) => Math.round(Number(values.pairs) * share);
  const scenes: [name: string, pairs: number, relays: number, trouble?: Trouble][] = [
    ["one, SQLite", part(0.28), 1],
    ["two, PostgreSQL", part(0.28), 2],
    ["two, one stands still for 20 s", part(0.14), 2, frozen],
    ["two, one is killed", part(0.15), 2, killed],
    ["two, one is cut off with its spool", part(0.15), 2, cutOff],
  ];
  console.log(`${"relays".padEnd(36)}pairs  untold  wrong last word  firing or sound behind the end   s`);
  let isWell = true;
  for (const [name, pairs, count, trouble] of scenes.filter(([name]) => name.includes(values.only))) {
    const startedAt = performance.now();
    const findings = await inScope((scope) => play(scope, random, pairs, count, trouble));
    const countOf = (kind: Finding["kind"]) => findings.filter((one) => one.kind === kind).length;
    const counts = [pairs, countOf("untold"), countOf("wrong last word"), countOf("behind the end")];
    const cells = [...counts, Math.round((performance.now() - startedAt) / 1000)].map(String);
    console.log(name.padEnd(36) + cells.map((cell, index) => cell.padStart([5, 8, 17, 32, 4][index] ?? 0)).join(""));
    for (const { what } of findings.slice(0, 10)) console.log(`  ${what}`);
    isWell &&= findings.length === 0;
  }
  return isWell;
}

async function play(scope: Scope, random: SeededRandom, pairs: number, count: number, trouble?: Trouble) {
  const receivers = await createReceivers(scope);
  const postgres = count === 1 ? undefined : await startPostgresServer();
  if (postgres) scope.atEnd(postgres.end);
  const relays: Relay[] = [];
  for (let index = 0; index < count; index += 1) relays.push(await startRelay(scope, receivers, postgres?.url));
  const all = Array.from({ length: pairs }, (_, number): Pair => {
    const [one, other = one] = (random.below(2) === 0 ? relays : relays.toReversed()) as [Relay, Relay?];
    return { name: pairName(number), apartMs: random.below(500), one, other, endedAt: 0 };
  });
  if (trouble === undefined) await postEach(all);
  else
    for (let first = 0; first < pairs; first += mostAtOnce)
      await postThrough(trouble, all.slice(first, first + mostAtOnce));
  const isTold = () => all.every(({ name }) => Object.values(receivers.shown(name)).every((one) => one.at(-1)?.isOver));
  await until(isTold, allToldWithinMs, 1_000);
  await pause(lateMs);
  return all.flatMap((pair) => judge(pair, receivers));
}

type Finding = { kind: "untold" | "wrong last word" | "behind the end"; what: string };

const judge = ({ name, endedAt }: Pair, receivers: Receivers): Finding[] =>
  Object.entries(receivers.shown(name)).flatMap(([destination, messages]) => {
    const kind = kindOf(messages, endedAt);
    if (kind === undefined) return [];
    const story = messages.map(({ isOver, rang }) => {
      const sound = rang === undefined ? "" : `, with a sound ${rang.at - endedAt} ms behind its end`;
      return `${isOver ? "over" : "firing"}${sound}`;
    });
    return [{ kind, what: `${name} at ${destination}: ${kind}: ${story.join("; ")}` }];
  });

function kindOf(messages: readonly Message[], endedAt: number): Finding["kind"] | undefined {
  if (messages.length === 0) return "untold";
  if (messages.at(-1)?.isOver !== true) return "wrong last word";
  const later = messages.slice(messages.findIndex(({ isOver }) => isOver));
  const rangLate = messages.some(({ rang }) => rang && (rang.isOver || rang.at > endedAt + onItsWayMs));
  return rangLate || later.some(({ isOver }) => !isOver) ? "behind the end" : undefined;
}

const say = async ({ process }: Relay, name: string, status: Status) => {
  const title = `Pool ${name} has no takers`;
  const chat = chats[Number(/\d+/.exec(name)?.[0]) % chats.length]?.name;
  const answer = await process.post(JSON.stringify({ title, status, severity: "critical", key: name, chat }));
  if (answer.status !== 202) throw new Error(`${name}, ${status}, was answered ${answer.status}`);
};

async function resolve(pair: Pair, other = pair.other): Promise<void> {
  await pause(pair.apartMs);
  await say(other, pair.name, "resolved");
  pair.endedAt = Date.now();
}

/** Ten a second. */
async function postEach(pairs: readonly Pair[]): Promise<void> {
  const all: Promise<void>[] = [];
  for (const pair of pairs) {
    all.push(say(pair.one, pair.name, "firing").then(() => resolve(pair)));
    await pause(100);
  }
  await Promise.all(all);
}

/** By the relays of the first. */
async function postThrough({ before, between, after }: Trouble, pairs: readonly Pair[]): Promise<void> {
  const { one, other } = pairs[0] as Pair;
  before?.(one);
  await Promise.all(pairs.map(({ name }) => say(one, name, "firing")));
  await between?.(one);
  await Promise.all(pairs.map((pair) => resolve(pair, other)));
  await after?.(one);
}

async function startRelay(scope: Scope, receivers: Receivers, databaseUrl?: string): Promise<Relay> {
  const folder = makeTempFolder(scope.atEnd);
  const path = join(folder, "tocsin.yaml");
  writeFileSync(path, writeConfiguration(receivers));
  const proxy = databaseUrl === undefined ? undefined : await createFailingProxy(databaseUrl, scope.atEnd);
  const spool = join(folder, "spool");
  mkdirSync(spool);
  const env = {
    ...{ TOCSIN_CONFIG: path, LOG_LEVEL: "error", PUBLIC_URL: "https://tocsin.example" },
    ...{ TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_API_ROOT: receivers.chatUrl },
    ...{ SMTP_URL: receivers.smtpUrl, EMAIL_FROM: "Tocsin <alerts@tocsin.example>" },
    ...(proxy && { DATABASE_URL: proxy.url, SPOOL_DIR: spool }),
  };
  const start = () => startRelayProcess(folder, env, undefined, undefined, scope.atEnd);
  const relay: Relay = {
    process: await start(),
    proxy,
    async start() {
      relay.process = await start();
    },
  };
  return relay;
}

function writeConfiguration({ hookUrl }: Receivers): string {
  return `
defaults: { digestOver: 1000 }
destinations:
  program: { type: webhook, url: "${hookUrl}", allowInternal: ["127.0.0.1"], notices: false }
  mail: { type: email, to: [risk@desk.example], notices: false }
${chats.map(({ name, id }) => `  ${name}: { type: telegram, chatId: "${id}", notices: false }`).join("\n")}
routes:
${chats.map(({ name }) => `  - { name: ${name}, match: { payload.chat: ${name} }, to: [program, mail, ${name}] }`).join("\n")}
delivery:
  schedule: [1s]
  thenEvery: 1s
  webhook: { schedule: [1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s] }
  ambiguous: { wait: 1s, repeats: 10 }
  ambiguousEmail: { wait: 1s, repeats: 10 }
  breaker: { failures: 1000 }
  sendTimeout: 3s
  emailSendTimeout: 3s
`;
}
