import type { StdioOptions } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { startProgram } from "../support/cli.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { type FakeAnswer, type FakeService, startFakeService } from "../upstream/fake-service.ts";

const main = fileURLToPath(new URL("../../bin/tocsin.js", import.meta.url));

let folder: string;
let service: FakeService;
let answer: () => FakeAnswer;
let onRequest: () => void;

beforeEach(async () => {
  folder = makeTempFolder();
  answer = () => ({ json: { data: [] } });
  onRequest = () => {};
  service = await startFakeService(() => {
    onRequest();
    return answer();
  });
});

/** The real process, in a folder of its own. @param node what Node itself is given besides. */
const start = (argv: string[], env: Record<string, string> = {}, node: string[] = [], stdio?: StdioOptions) =>
  startProgram([...node, main, ...argv], { cwd: folder, env, ...(stdio && { stdio }) });

it("the process reads a .env file, which the environment overrules", async () => {
  await writeFile(join(folder, ".env"), `ALERTING_URL=http://127.0.0.1:1\nALERTING_API_KEY="from-file"\n`);
  const run = await start(["upstream", "users", "--json"], { ALERTING_URL: service.url }).ended;
  expect(run).toEqual({ status: 0, stdout: '{"data":[]}\n', stderr: "" });
  expect(service.seen[0]?.headers.authorization).toBe("from-file");
});

it("the process ends a call at SIGINT with one line and status 1", async () => {
  answer = () => "hang";
  const asked = new Promise<void>((resolve) => {
    onRequest = resolve;
  });
  const env = { ALERTING_URL: service.url, ALERTING_API_KEY: "k" };
  const { child, ended } = start(["upstream", "users", "--json"], env);
  await asked;
  child.kill("SIGINT");
  const run = await ended;
  expect(run.status).toBe(1);
  expect(JSON.parse(run.stdout)).toEqual({ error: { code: "cancelled", message: "stopped by SIGINT" } });
  expect(run.stderr).toBe("error: stopped by SIGINT\n");
});

it("the process survives a reader that goes away", async () => {
  const users = Array.from({ length: 20_000 }, (_, n) => ({ id: `user-${n}` }));
  answer = () => ({ json: { data: users } });
  const { child, ended } = start(["upstream", "users"], { ALERTING_URL: service.url, ALERTING_API_KEY: "k" });
  child.stdout?.once("data", () => child.stdout?.destroy());
  const run = await ended;
  expect(run.status).toBe(0);
  expect(run.stderr).not.toContain("EPIPE");
});

it("the process ends with its status though something else in it goes on for ever, and writes all of its output first", async () => {
  // As pm2 does: what listens to the channel keeps the event loop.
  const keeper = join(folder, "keeper.cjs");
  await writeFile(keeper, "setInterval(() => {}, 1e6); process.on('message', () => {});");
  const stdio: StdioOptions = ["pipe", "pipe", "pipe", "ipc"];
  const run = (argv: string[], env?: Record<string, string>) => start(argv, env, ["--require", keeper], stdio).ended;
  expect(await run(["upstream", "nonsense"])).toMatchObject({ status: 2, stdout: "" });
  expect(await run(["serve"], { PORT: "none" })).toMatchObject({ status: 2 });
  const users = Array.from({ length: 20_000 }, (_, n) => ({ id: `user-${n}` }));
  answer = () => ({ json: { data: users } });
  const { status, stdout } = await run(["upstream", "users", "--json"], {
    ALERTING_URL: service.url,
    ALERTING_API_KEY: "k",
  });
  expect([status, JSON.parse(stdout).data.length]).toEqual([0, users.length]);
});

it.skipIf(!existsSync("/dev/full"))(
  "the process says in plain words that no room is left where its output goes",
  async () => {
    const full = openSync("/dev/full", "w");
    onTestFinished(() => closeSync(full));
    const run = (argv: string[]) => start(argv, {}, [], ["ignore", full, "pipe"]).ended;
    const refused = {
      status: 1,
      stderr:
        "error: The output cannot be written: no room is left where it goes (ENOSPC).\nhint:  Free space there, or write it elsewhere.\n",
    };
    expect(await run(["--help"])).toMatchObject(refused);
  },
);
