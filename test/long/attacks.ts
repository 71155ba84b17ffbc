import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { inScope } from "../relays/scope.ts";
import { attacks, type PostedAlert, postOrdinaryAlert, type Target } from "../support/attackers.ts";
import { adminToken, type RelayProcess, startRelayProcess, webhookSecret } from "../support/relay-process.ts";

const sourceSecret = "attacked-source-kS93jdLwm2PzQe81";
const memoryMb = 512;
const allTogether = "all together";
/** An answer that takes longer counts as none. */
const answerLimitMs = 10_000;
const heldWithinMs = 1_000;
/** What exports, lists and streams have to tell. */
const alertsBefore = 20_000;

const text = (usual: string) => ({ type: "string", default: usual }) as const;

interface Row {
  attack: string;
  sent: number;
  accepted: number;
  /** Of senders whose network sent alerts before, then of those from a new one. */
  times: number[];
  timesOfNew: number[];
  highestRssMb: number;
  end: string;
}

/**
 * Whether an ordinary alert a second is accepted within a second, from an address of its own at the account's hook, while
 * others do what they can to keep it out: each attack alone on a relay of its own, which takes no more than 512 MB, then all of them on one. Each
 * second alert comes from a network that never sent one: it is accepted as well, and may wait behind other networks.
 *
 * `--minutes N` of each (default 20), `--at-once N` relays at the same time (default 1), `--only NAME` one attack.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const options = { minutes: text("20"), "at-once": text("1"), only: { type: "string" } } as const;
  const { values } = parseArgs({ args: [...args], options });
  const minutes = Number(values.minutes);
  const names = [...Object.keys(attacks), allTogether].filter((name) => name === (values.only ?? name));
  const alone = names.filter((name) => name !== allTogether);
  console.log(`Each relay may take ${memoryMb} MB. ${minutes} min each, ${values["at-once"]} at once.`);
  console.log(`${"attack".padEnd(28)}accepted/sent   p50   p99 worst ms  new: p50 worst  highest RSS MB  end`);
  const rows: Row[] = [];
  const tryNext = async (): Promise<void> => {
    for (let name = alone.shift(); name !== undefined; name = alone.shift()) rows.push(await tryAttack(name, minutes));
  };
  await Promise.all(Array.from({ length: Number(values["at-once"]) }, tryNext));
  if (names.includes(allTogether)) rows.push(await tryAttack(allTogether, minutes));
  return rows.every(
    ({ sent, accepted, times, highestRssMb, end }) =>
      accepted === sent && Math.max(...times) <= heldWithinMs && highestRssMb <= memoryMb && end === "alive",
  );
}

const tryAttack = (name: string, minutes: number): Promise<Row> =>
  inScope(async ({ atEnd }) => {
    const folder = mkdtempSync(join(tmpdir(), "tocsin-attacks-"));
    atEnd(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(
      join(folder, "tocsin.yaml"),
      `sources:\n  forge:\n    secret: "\${FORGE_SECRET}"\n    check: { type: hmac, secret: "\${FORGE_KEY}", header: X-Signature }\n`,
    );
    const given = { TOCSIN_CONFIG: join(folder, "tocsin.yaml"), FORGE_SECRET: sourceSecret, FORGE_KEY: "k".repeat(40) };
    // As Node chooses it by itself where it has so much memory.
    const env = { ...given, NODE_OPTIONS: "--max-old-space-size=256", LOG_LEVEL: "error" };
    const relay = await startRelayProcess(folder, env, undefined, undefined, atEnd);
    await fill(relay);
    const [hookPath = "", sourcePath = ""] = [webhookSecret, sourceSecret].map((secret) => `/hooks/${secret}`);
    const target: Target = { port: Number(new URL(relay.url).port), hookPath, sourcePath, adminToken };
    const row = await endure(name, relay, target, minutes);
    console.log(toLine(row));
    return row;
  });

/** The attackers have a process of their own, so that their work delays no alert of the honest sender. */
async function endure(attack: string, relay: RelayProcess, target: Target, minutes: number): Promise<Row> {
  const attackers = fork(new URL("../support/attackers-process.ts", import.meta.url), [attack, JSON.stringify(target)]);
  const posted: Promise<PostedAlert>[] = [];
  let highestRssMb = 0;
  const end = performance.now() + minutes * 60_000;
  const pid = relay.process.pid as number;
  const isAlive = () => relay.process.exitCode === null && relay.process.signalCode === null;
  while (performance.now() < end && isAlive()) {
    posted.push(postOrdinaryAlert(target, posted.length, answerLimitMs));
    await sleep(1_000);
    highestRssMb = Math.max(highestRssMb, readHighestRssMb(pid));
  }
  const answers = await Promise.all(posted);
  const exit = relay.process.signalCode ?? relay.process.exitCode;
  const attackersFailed = attackers.exitCode !== null;
  if (!attackersFailed) {
    const gone = once(attackers, "exit");
    attackers.kill("SIGKILL");
    await gone;
  }
  return {
    attack,
    sent: answers.length,
    accepted: answers.filter(({ status }) => status === 202).length,
    times: timesOf(answers, 0),
    timesOfNew: timesOf(answers, 1),
    highestRssMb,
    end: attackersFailed ? "the attackers failed" : exit === null ? "alive" : `ended with ${exit}`,
  };
}

const timesOf = (answers: PostedAlert[], remainder: number): number[] =>
  answers
    .filter((_, number) => number % 2 === remainder)
    .map(({ afterMs }) => afterMs)
    .sort((a, b) => a - b);

async function fill(relay: RelayProcess): Promise<void> {
  const perRequest = 200;
  for (let done = 0; done < alertsBefore; done += perRequest) {
    const alerts = Array.from({ length: perRequest }, (_, index) => ({
      status: "firing",
      labels: { alertname: `Alert ${done + index}`, instance: `host-${index}`, severity: "warning" },
      annotations: { summary: `Number ${done + index}`, description: "y".repeat(300) },
    }));
    const { status } = await relay.post(JSON.stringify({ version: "4", status: "firing", alerts }));
    if (status !== 202) throw new Error(`the relay answered ${status} before any attack`);
  }
}

function readHighestRssMb(pid: number): number {
  const path = `/proc/${pid}/status`;
  return Number(/VmHWM:\s+(\d+) kB/.exec(existsSync(path) ? readFileSync(path, "utf8") : "")?.[1] ?? 0) / 1024;
}

function toLine({ attack, sent, accepted, times, timesOfNew, highestRssMb, end }: Row): string {
  const at = (share: number, of = times) =>
    (of[Math.min(of.length - 1, Math.floor(of.length * share))] ?? 0).toFixed(0);
  const ofNew = [at(0.5, timesOfNew).padStart(13), at(1, timesOfNew).padStart(6)];
  const cells = [`${accepted}/${sent}`.padStart(13), ...[0.5, 0.99, 1].map((share) => at(share).padStart(6)), ...ofNew];
  return `${attack.padEnd(28)}${cells.join("")}${highestRssMb.toFixed(0).padStart(19)}  ${end}`;
}
