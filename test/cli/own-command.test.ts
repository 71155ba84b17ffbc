import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, it } from "vitest";
import { buildProgram } from "../../src/cli/program.ts";
import { asTyped, findOwnCommand } from "../../src/cli/shell/own-command.ts";
import { createTestContext, runTocsin } from "../support/cli.ts";
import { expectWords } from "../support/expect-words.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

function touch(...path: string[]): string {
  const folder = join(...path.slice(0, -1));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(...path), "");
  return folder;
}

it("how a person calls Tocsin is the command of the PATH, and npx where only npx has put one there while it runs", () => {
  const [cwd, system] = [makeTempFolder(), makeTempFolder()];
  const script = "/opt/tocsin/bin/tocsin.js";
  expect(findOwnCommand(system, cwd, script)).toBe(`node ${script}`);
  const ofNpx = touch(cwd, "node_modules", ".bin", "tocsin");
  expect(findOwnCommand([ofNpx, system].join(delimiter), cwd, script)).toBe("npx tocsin");
  touch(system, "tocsin");
  expect(findOwnCommand([ofNpx, system].join(delimiter), cwd, script)).toBe("tocsin");
  expect(findOwnCommand(undefined, makeTempFolder(), script)).toBe(`node ${script}`);
});

it("how a person calls Tocsin stands in every text with a command, and nowhere else", () => {
  const others = "deploy/tocsin.socket, Tocsin is, tocsin.yaml, the database tocsin at db.example.com";
  expect(asTyped(`start it with: tocsin serve. \`tocsin setup --restore\`; ${others}`, "npx tocsin")).toBe(
    `start it with: npx tocsin serve. \`npx tocsin setup --restore\`; ${others}`,
  );
  for (const command of buildProgram(createTestContext().context).commands.filter((one) => one.name() !== "help"))
    expect(asTyped(`tocsin ${command.name()}`, "npx tocsin")).toBe(`npx tocsin ${command.name()}`);
});

it("how a person calls Tocsin stands in the hint of an error", async () => {
  const cwd = makeTempFolder();
  const run = await runTocsin(["alerts", "list"], {
    cwd,
    env: { DATA_DIR: cwd, PORT: "9" },
    ownCommand: "npx tocsin",
  });
  expectWords(run.stderr, /npx tocsin serve/, { not: /(?<!npx )tocsin serve/ });
});
