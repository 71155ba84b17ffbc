import type { Command } from "commander";
import { expect, test } from "vitest";
import { buildProgram } from "../../src/cli/program.ts";
import { createTestContext } from "../support/cli.ts";
import { codeBlocks, codeSpans, documentPaths, readText, tableRows } from "./documents.ts";

const program = buildProgram(createTestContext().context);
const packageScripts = Object.keys(JSON.parse(readText("package.json")).scripts);

/** `setup --dry-run`, wherever a document says to run Tocsin: alone, in a checkout, in a container, or over ssh. */
function commandLines(markdown: string): string[] {
  const shell = [...codeBlocks(markdown, "sh"), ...codeSpans(markdown)].join("\n");
  const atCommand = /(?:^|&& |\| |-C "|\\ |docker exec tocsin |npx )tocsin ([a-z-][^"|&>#\n]*)/gm;
  const inCheckout = /node bin\/tocsin\.js ([^"|&>#\n]*)/g;
  return [...shell.matchAll(atCommand), ...shell.matchAll(inCheckout)].map(([, words = ""]) => words.trim());
}

function optionsOf(command: Command): string[] {
  const own = command.options.flatMap(({ short, long }) => [short, long]);
  const inherited = command.parent === null ? [] : optionsOf(command.parent);
  return [...own.filter((name) => name !== undefined), ...inherited, "--help"];
}

/** Why this command line could not be typed, or `undefined`. */
function findMistake(line: string): string | undefined {
  let command = program;
  for (const word of line.split(/\s+/)) {
    const name = word.split("=", 1)[0] ?? "";
    if (name.startsWith("-") && !/^-\d/.test(name)) {
      if (!optionsOf(command).includes(name)) return `${command.name()} has no ${name}`;
      continue;
    }
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (next !== undefined) command = next;
    else if (command.commands.length > 0) return `${command.name()} has no command ${word}`;
  }
  return command.commands.length > 0 && command !== program && line.includes(" ")
    ? `${command.name()} needs a command`
    : undefined;
}

test("the search for mistakes finds them", () => {
  expect(findMistake("setup --dry-run")).toBeUndefined();
  expect(findMistake("alerts resend 019a --to desk --wait")).toBeUndefined();
  expect(findMistake("setup --dryrun")).toBe("setup has no --dryrun");
  expect(findMistake("alerts purge")).toBe("alerts has no command purge");
  expect(findMistake("restart")).toBe("tocsin has no command restart");
});

test.each(documentPaths)("every command line of %s can be typed", (path) => {
  const mistakes = commandLines(readText(path)).map((line) => ({ line, mistake: findMistake(line) }));
  expect(mistakes.filter(({ mistake }) => mistake !== undefined)).toEqual([]);
});

test("the README shows command lines at all", () => {
  expect(commandLines(readText("README.md"))).toEqual(
    expect.arrayContaining(["setup --dry-run", "check", "doctor", "test"]),
  );
});

test.each(documentPaths)("every npm script of %s exists", (path) => {
  const code = [...codeBlocks(readText(path), "sh"), ...codeSpans(readText(path))].join("\n");
  const named = [...code.matchAll(/npm (?:run )?([\w:-]+)/g)].map(([, name = ""]) => name);
  const own = named.filter((name) => !["ci", "run", "prune", "rebuild", "install"].includes(name));
  expect(own.filter((name) => !packageScripts.includes(name))).toEqual([]);
});

const rows = tableRows(readText("README.md"), "command").map(([name = "", what = ""]) => ({
  name: name.replace(/^`tocsin (.*)`$/, "$1"),
  what,
}));

test("the README's table has every command, in the order of the help", () => {
  expect(rows.map(({ name }) => name)).toEqual(program.commands.map((command) => command.name()));
});

test.each(rows)("the README's row of $name names what exists, and each of its commands", ({ name, what }) => {
  const command = program.commands.find((candidate) => candidate.name() === name) as Command;
  const subcommands = command.commands.map((each) => each.name());
  const words = codeSpans(what).map((span) => span.split(" ", 1)[0] ?? "");
  const options = words.filter((word) => word.startsWith("--"));
  expect(options.filter((option) => !optionsOf(command).includes(option))).toEqual([]);
  expect(words.filter((word) => subcommands.includes(word))).toEqual(subcommands);
});
