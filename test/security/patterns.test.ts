import { readdirSync } from "node:fs";
import { parseAst } from "rolldown/parseAst";
import { expect, it } from "vitest";
import { pairPattern } from "../../src/intake/read/salvage-json.ts";
import { readText, root } from "../docs/documents.ts";
import { findAmbiguity } from "../support/patterns/find-ambiguity.ts";

/** Rooms that see what senders, vendors or the service have written. */
const rooms =
  "core delivery ground intake matching operations rendering routing store upstream vendors watch web".split(" ");
/** They read matchers alone, which the relay's owner writes, and which have a longest length. */
const ofMatchers = ["match-text", "read-match", "read-condition", "guess-meaning"];
const files = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" }).filter(
  (name) =>
    /\.tsx?$/.test(name) &&
    rooms.includes(name.split("/", 1)[0] ?? "") &&
    !ofMatchers.some((file) => name === `matching/${file}.ts`),
);
const patterns = files.flatMap((file) => {
  const text = readText(`src/${file}`);
  return literalsIn(parseAst(text, { lang: file.endsWith("x") ? "tsx" : "ts" })).map(({ regex, start }) => {
    const line = text.slice(0, start).split("\n").length;
    return { source: regex.pattern, flags: regex.flags, line, file };
  });
});

type Literal = { start: number; regex: { pattern: string; flags: string } };

/** All literals of regular expressions below a node of a syntax tree. */
function literalsIn(node: unknown): Literal[] {
  if (typeof node !== "object" || node === null) return [];
  return "regex" in node ? [node as Literal] : Object.values(node).flatMap(literalsIn);
}

/**
 * What to do about a pattern that is refused: let a search say where it may begin (`(?<!\/)\/+$` for `\/+$`), let
 * neighbours read different characters, look at a bounded beginning with one loop, or scan in a loop of your own.
 */
it("no pattern over others' text can take more than linear time in any room that sees such text", () => {
  const { source, flags } = pairPattern();
  const all = [...patterns, { file: "intake/read/salvage-json.ts", line: 0, source, flags }];
  expect(all.length).toBeGreaterThan(250);
  const slow = all.flatMap((pattern) => {
    const why = findAmbiguity(pattern.source, pattern.flags);
    return why === undefined ? [] : [`${pattern.file}:${pattern.line} /${pattern.source}/: ${why}`];
  });
  expect(slow).toEqual([]);
});

it("patterns that are put together while the program runs are in one place alone", () => {
  expect(files.filter((file) => /new RegExp\b/.test(readText(`src/${file}`)))).toEqual(["intake/read/salvage-json.ts"]);
});
