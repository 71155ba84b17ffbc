import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { expectWords } from "../support/expect-words.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

let folder: string;

beforeEach(() => {
  folder = makeTempFolder();
});

const runCheck = (argv: string[], options: { cwd: string; env: Record<string, string> }) =>
  runTocsin(["check", ...argv], options);

const env = { TELEGRAM_BOT_TOKEN: "123456789:AAcanaryBotTokenThatNobodyMaySee_0001", TELEGRAM_CHAT_IDS: "-1001" };

test("a path that is no file is a mistake, not a crash", async () => {
  for (const path of ["gone.yaml", "."]) {
    const run = await runCheck(["--config", path, "--json"], { cwd: folder, env });
    expect(run.status).toBe(2);
    expect(run.json().data.problems).toHaveLength(1);
  }
});

test("says of an empty configuration that nobody gets anything, without empty tables", async () => {
  const run = await runCheck([], { cwd: folder, env: {} });
  expect(run.status).toBe(0);
  expectWords(run.stdout, "No destination: alerts are stored and shown, and sent to nobody.", { not: /^route/m });
});

test("says of a file that is not there where its name was given", async () => {
  const run = await runCheck(["--config", "nope.yaml"], { cwd: folder, env });
  expect(run).toMatchObject({ status: 2, stdout: expect.stringContaining("there is no file nope.yaml") });
  expect(run.stdout).toContain("after --config");
});

test("shows matchers as they are written, and a route that drops on purpose", async () => {
  const routes =
    '- { match: { value: { gte: 5 }, title: { equals: "a, b" } }, drop: true }\n  - { to: "telegram:-1001" }';
  await writeFile(join(folder, "tocsin.yaml"), `routes:\n  ${routes}\n`);
  const run = await runCheck([], { cwd: folder, env });
  expect(run.stdout).toMatch(/route 1 +value>=5 and title="a, b" +nobody \(dropped on purpose\)/);
});

test("shows which routes and mutes are disabled, and when and how a route works", async () => {
  const text = `routes:
  - { match: severity=info, to: "telegram:-1001", disabled: true }
  - { match: chain=eth, to: "telegram:-1001", activeHours: { from: "08:00", to: "18:00" }, silent: info, cooldown: 30m }
  - { to: "telegram:-1001", default: true }
mutes:
  - { match: token=DAI, reason: test, until: 2100-01-01T00:00:00Z, disabled: true }
  - { match: token=USDC, reason: move, from: 2099-01-01T00:00:00Z, until: 2100-01-01T00:00:00Z }
`;
  await writeFile(join(folder, "tocsin.yaml"), text);
  const { stdout } = await runCheck([], { cwd: folder, env });
  expect(stdout).toMatch(/route 1 +severity=info +disabled +telegram/);
  expect(stdout).toMatch(/route 2 +chain=eth +08:00 to 18:00 UTC +telegram:-1001 +info +cooldown: 30m +stop/);
  expectWords(stdout, [/token=DAI +disabled +test/, /token=USDC +move +2099-01-01T00:00:00.000Z +2100/]);
});

test("refuses a folder for data that cannot hold any, among the other mistakes", async () => {
  await writeFile(join(folder, "file"), "");
  const run = await runCheck([], { cwd: folder, env: { ...env, DATA_DIR: "file", PORT: "x" } });
  expect(run).toMatchObject({ status: 2, stdout: expect.stringContaining("PORT") });
  expect(run.stdout).toMatch(/DATA_DIR {2}.*file is a file, not a folder/);
});

test("shows where facts are read from by the mapping", async () => {
  await writeFile(join(folder, "tocsin.yaml"), "mapping: { title: [payload.rule.headline, payload.name] }\n");
  const run = await runCheck([], { cwd: folder, env });
  expect(run.stdout).toMatch(/title +payload\.rule\.headline, else payload\.name, else guessed/);
  const json = await runCheck(["--json"], { cwd: folder, env });
  expect(json.json().data.mapping).toEqual({ title: ["payload.rule.headline", "payload.name"] });
});

test("shows what is watched, and how long alerts are kept", async () => {
  const nothing = await runCheck([], { cwd: folder, env });
  expectWords(nothing.stdout, [/kept for +90 days/, /silence +not watched \(silence\)/], { not: /^canary/m });
  const watched =
    'retention: { age: 30d, size: 2 GB }\nsilence: { hook: auto, sources: { "Pyth alerts": 2h } }\n' +
    'canary: { at: ["07:30", "19:30"], days: mon-tue, timeZone: Europe/Zurich, to: ["telegram:-1001"] }\n';
  await writeFile(join(folder, "tocsin.yaml"), watched);
  const run = await runCheck([], { cwd: folder, env: { ...env, PUBLIC_URL: "https://tocsin.example.com" } });
  expectWords(run.stdout, [/kept for +30 days, and at most 2\.0 GiB/, /silence +hook: auto, source Pyth alerts: 2h/]);
  expect(run.stdout).toMatch(/canary +at 07:30 and 19:30 on Mon, Tue, Europe\/Zurich; to telegram:-1001/);
});
