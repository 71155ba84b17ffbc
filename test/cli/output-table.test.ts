import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { formatFields, formatTable } from "../../src/cli/shell/table.ts";
import { fitText, terminalText } from "../../src/cli/shell/terminal-text.ts";

const columns = [
  { title: "KEY", keep: true },
  { title: "NAME" },
  { title: "VALUE", align: "right" as const },
];

describe("a table", () => {
  it("aligns its columns, numbers to the right", () => {
    expect(
      formatTable(columns, [
        ["a", "first", "1"],
        ["bcd", "second one", "1000"],
      ]),
    ).toBe("KEY  NAME        VALUE\na    first           1\nbcd  second one   1000\n");
  });

  it("cuts what may be cut until it fits, and keys never", () => {
    const key = "eth_token_total_tvl_0xabc";
    const table = formatTable(columns, [[key, "a name that is rather long", "5"]], { width: 46 });
    for (const line of table.trimEnd().split("\n")) expect(stringWidth(line)).toBeLessThanOrEqual(46);
    expect(table).toContain(key);
    expect(table).toContain("…");
  });

  it("becomes a list of records where a row cannot fit", () => {
    const table = formatTable(columns, [["k".repeat(50), "name", "5"]], { width: 40 });
    expect(table).toBe(`KEY    ${"k".repeat(50)}\nNAME   name\nVALUE  5\n\n`);
  });

  it("counts wide characters as two columns", () => {
    const lines = formatTable(
      [{ title: "A" }, { title: "B" }],
      [
        ["日本", "x"],
        ["ab", "y"],
      ],
    ).split("\n");
    expect(lines[1]).toBe("日本  x");
    expect(lines[2]).toBe("ab    y");
  });

  it.each([
    ["क्षि", "  x"],
    ["a\u00ad", "   x"],
  ])("counts %j as a terminal shows it", (cell, rest) => {
    const table = formatTable([{ title: "AB" }, { title: "C" }], [[cell, "x"]]);
    expect(table).toBe(`AB  C\n${cell}${rest}\n`);
  });

  it("aligns the values of fields", () => {
    expect(
      formatFields([
        ["Id", "1"],
        ["Account", "x"],
      ]),
    ).toBe("Id       1\nAccount  x\n");
  });
});

describe("text of strangers", () => {
  it.each([
    ["\u001b]0;title\u0007", "\\x1b]0;title\\x07"],
    ["a\u202eb", "a\\u{202e}b"],
    ["one\ntwo\tthree", "one two three"],
    ["\ud800", "\\u{d800}"],
    ["e\u0301 日本 👍🏽", "e\u0301 日本 👍🏽"],
  ])("%j is shown as %j", (text, shown) => {
    expect(terminalText(text)).toBe(shown);
  });

  it("is never cut inside a character", () => {
    expect(fitText("👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 5)).toBe("👨‍👩‍👧‍👦👨‍👩‍👧‍👦…");
    expect(fitText("abc", 3)).toBe("abc");
  });
});
