import type { Command } from "commander";
import { expect, test } from "vitest";
import { buildProgram } from "../../src/cli/program.ts";
import { createTestContext } from "../support/cli.ts";
import { codeBlocks, codeSpans, documentPaths, readText } from "./documents.ts";

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
      if (!optionsOf(command).includes(name)) return `${line}: ${command.name()} has no ${name}`;
      continue;
    }
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (next !== undefined) command = next;
    else if (command.commands.length > 0) return `${line}: ${command.name()} has no command ${word}`;
  }
  const isUnfinished = command.commands.length > 0 && command !== program && line.includes(" ");
  return isUnfinished ? `${line}: ${command.name()} needs a command` : undefined;
}

test.each(documentPaths)("every command line of %s can be typed, and every npm script exists", (path) => {
  expect(commandLines(readText(path)).flatMap((line) => findMistake(line) ?? [])).toEqual([]);
  const code = [...codeBlocks(readText(path), "sh"), ...codeSpans(readText(path))].join("\n");
  const named = [...code.matchAll(/npm (?:run )?([\w:-]+)/g)].map(([, name = ""]) => name);
  const known = [...packageScripts, "ci", "run", "prune", "rebuild", "install"];
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});
