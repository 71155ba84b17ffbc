import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { pairPattern } from "../../src/intake/read/salvage-json.ts";
import { readText, root } from "../docs/documents.ts";
import { findAmbiguity } from "../support/patterns/find-ambiguity.ts";
import { findPatterns } from "../support/patterns/find-patterns.ts";

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
const patterns = files.flatMap((file) =>
  findPatterns(readText(`src/${file}`)).map((pattern) => ({ ...pattern, file })),
);

/**
 * What to do about a pattern that is refused: let a search say where it may begin (`(?<!\/)\/+$` for `\/+$`), let
 * neighbours read different characters, look at a bounded beginning with one loop, or scan in a loop of your own.
 */
describe("no pattern over others' text can take more than linear time", () => {
  it("in any room that sees such text", () => {
    const { source, flags } = pairPattern();
    const all = [...patterns, { file: "intake/read/salvage-json.ts", line: 0, source, flags }];
    expect(all.length).toBeGreaterThan(250);
    const slow = all.flatMap((pattern) => {
      const why = findAmbiguity(pattern.source, pattern.flags);
      return why === undefined ? [] : [`${pattern.file}:${pattern.line} /${pattern.source}/: ${why}`];
    });
    expect(slow).toEqual([]);
  });

  it("as patterns that are put together while the program runs are in one place alone", () => {
    const makers = files.filter((file) => /new RegExp\b/.test(readText(`src/${file}`)));
    expect(makers).toEqual(["intake/read/salvage-json.ts"]);
  });
});

describe("the search for slow patterns", () => {
  it.each([
    ["(a+)+$", "a repeat of a repeat"],
    ["^(a*)*b", "the same, at the beginning alone"],
    ["^(a|a)*b", "two equal branches"],
    ["^(a|b|ab)*c", "branches that together read the same"],
    ["^a*a*b", "two loops in a row"],
    ["^(\\d+)(\\d+)$", "two groups of the same"],
    ["^a*b*a*$", "what stands between may be nothing"],
    ["\\s+$", "a search for an end"],
    ["\\w+:", "a search that reads far and finds nothing"],
    ["[a-z]+(?!\\w)", "a look-ahead that may fail"],
    ["a*(?:b*c)?", "an end that may be tried in vain"],
    ['"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"', "a search for strings that are never closed"],
    ["^.{0,1000}.{0,1000}x", "bounds that are no bounds"],
    [
      "^[^\\p{L}\\p{N}[(]{0,8}(?:[[(]\\s*[^\\p{L}\\p{N}\\])]{0,6}([\\p{L} ]{2,24}?)(?:\\s*:\\s*\\d+)?\\s*[\\])])",
      "the pattern that a title of 8,000 spaces froze the relay by",
    ],
  ])("refuses /%s/: %s", (source) => {
    expect(findAmbiguity(source, "u")).toBeDefined();
  });

  it.each([
    "\\s+",
    "^\\s+$",
    "^[a-z]+(?=\\s*[:([-])",
    "(?<!\\/)\\/+$",
    "(?<![\\w$])[A-Za-z_$][\\w$]*:",
    "(\\p{M}{6})\\p{M}+",
    "^\\s*(?:https?:\\/\\/\\S+|[\\d.,+-]+)\\s*$",
  ])("lets /%s/ pass", (source) => {
    expect(findAmbiguity(source, "u")).toBeUndefined();
  });

  it("refuses what it cannot judge", () => {
    expect(() => findAmbiguity("(a)\\1")).toThrow("a back-reference");
    expect(() => findAmbiguity("(?<=ab*)c")).toThrow("a look-behind");
  });

  it("reads on from each line for patterns of lines", () => {
    expect(findAmbiguity("^ *#", "gm")).toBeUndefined();
    expect(findAmbiguity("^\\s*#", "gm")).toBeDefined();
  });

  it("finds literals wherever they stand, and takes no division, comment, string or mark-up for one", () => {
    const source = [
      "const a = /one/g.test(b) ? b / 2 / c : `text #{/two/.exec(`#{d}`)} / no /`;".replaceAll("#{", "$\u007b"),
      "// no /comment/ here\n/* nor /here/ */",
      'return /three[/"]/u; // "',
      "const b = <p>it's</p>; const c = <br />;",
      "x = y++ / 2; if (!/four/.test('/no/')) {}",
    ].join("\n");
    expect(findPatterns(source)).toEqual([
      { source: "one", flags: "g", line: 1 },
      { source: "two", flags: "", line: 1 },
      { source: 'three[/"]', flags: "u", line: 4 },
      { source: "four", flags: "", line: 6 },
    ]);
  });
});
