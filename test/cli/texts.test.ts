import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { parseDuration, parseInstant, parseList, parsePair } from "../../src/cli/options.ts";
import { fitText, hangText, openOutput, terminalText, wrapText } from "../../src/cli/shell/output.ts";
import { formatFields, formatTable } from "../../src/cli/shell/table.ts";
import { formatNumber, formatPrice, formatUsd } from "../../src/cli/upstream/panels.ts";
import { maskWebhookUrl } from "../../src/ground/net/shown-address.ts";
import { withAge } from "../../src/ground/time/time-format.ts";
import type { Cell, Panel } from "../../src/panels/panel.ts";
import { createTestContext } from "../support/cli.ts";

const now = Date.UTC(2026, 10, 21, 12);

it.each([
  ["2026-11-21T12:00:00Z", now],
  ["2026-11-21T12:00", now],
  ["2026-11-21 12:00", now],
  ["2026-11-21T13:00+01:00", now],
  ["2026-11-21", now - 12 * 3_600_000],
  [String(now / 1000), now],
  [String(now), now],
  ["now", now],
  ["-6h", now - 6 * 3_600_000],
  ["-1d12h", now - 36 * 3_600_000],
  ["-1.5h", now - 5_400_000],
])("an instant can be written %s", (text, at) => {
  expect(parseInstant(text, now)).toBe(at);
});

it.each(["yesterday", "-6", "6h", "21.11.2026", "2026-11-21T25:00", "", "1e9", "-101000000d"])(
  "an instant cannot be written %j",
  (text) => {
    expect(() => parseInstant(text, now)).toThrow("like -6h");
  },
);

it("other arguments are read as people write them", () => {
  expect(parseList(" a, b ,,c")).toEqual(["a", "b", "c"]);
  expect(parseDuration("1h30m")).toBe(5_400_000);
  expect(parsePair("ETH/USD")).toBe("ETH/USD");
});

it("other arguments are refused when they mean nothing", () => {
  expect(() => parseList(" , ")).toThrow();
  for (const text of ["5", "h"]) expect(() => parseDuration(text)).toThrow();
  expect(() => parsePair("ETH/USD/EUR")).toThrow();
});

it.each([
  [formatNumber(1234567.891), "1,234,567.891"],
  [formatNumber(1e-12), "1e-12"],
  [formatNumber(null), "–"],
  [formatUsd(1234.567), "$1,234.57"],
  [formatUsd(-0.5), "-$0.5"],
  [formatUsd(0), "$0.00"],
  [formatPrice(1.000213), "$1.000213"],
  [formatPrice(91204.159), "$91,204.16"],
  [formatPrice(0.000012345678), "$0.0000123457"],
  [formatPrice(1), "$1.00"],
])("numbers for people: %s", (text, expected) => {
  expect(text).toBe(expected);
});

it.each([
  ["https://relay.example/hooks/canary", "https://relay.example/hooks/***"],
  ["https://relay.example/base/hooks/canary/x?canary=1", "https://relay.example/base/hooks/***"],
  ["https://relay.example/canarycanarycanary/hooks/canary", "https://relay.example/…"],
  ["https://user:canary@relay.example/in", "https://relay.example/…"],
  ["https://chat.example/services/canary/canarycanarycanary", "https://chat.example/…"],
  ["https://other.example:8443/canary", "https://other.example:8443/…"],
  ["canary", "an address that cannot be read"],
])("a webhook's address %s is shown as %s", (url, shown) => {
  expect(maskWebhookUrl(url)).toBe(shown);
});

it("says of what no date can hold that it is unknown", () => {
  expect(withAge(Number.MAX_VALUE, now)).toBe("an unknown time");
  expect(withAge(Date.parse("2026-11-21T11:57:00.123Z"), now)).toBe("2026-11-21T11:57:00Z (3 min ago)");
});

const columns = [{ title: "KEY", keep: true }, { title: "NAME" }, { title: "VALUE", align: "right" as const }];

describe("a table", () => {
  it("aligns its columns, numbers to the right", () => {
    const first = ["a", "first", "1"];
    const second = ["bcd", "second one", "1000"];
    const table = "KEY  NAME        VALUE\na    first           1\nbcd  second one   1000\n";
    expect(formatTable(columns, [first, second])).toBe(table);
  });

  it("lets cells go on in lines below until it fits, keys in one line, and cuts nothing", () => {
    const key = "eth_token_total_tvl_0xabc";
    const name = "a name that is rather long";
    const table = formatTable(columns, [[key, name, "5"]], 50);
    const head = "KEY                        NAME              VALUE\n";
    expect(table).toBe(`${head}${key}  a name that is        5\n                           rather long\n`);
    const rows = [["k", "one two three four five six seven", "5"]];
    const lines = ["KEY  NAME            VALUE", "k    one two three       5", "     four five six", "     seven", ""];
    expect(formatTable(columns, rows, 26).split("\n")).toEqual(lines);
    expect(formatTable(columns, [[key, "y".repeat(40), "5"]], 70)).toContain("y".repeat(36));
    for (let width = 1; width < 60; width += 1) {
      const words = formatTable(columns, [[key, name, "5"]], width).split(/\s+/);
      expect(words).toEqual(expect.arrayContaining([key, ...name.split(" "), "5"]));
    }
  });

  it("leaves a column out that has nothing to say, where it may", () => {
    const sparse = [{ title: "A" }, { title: "B", optional: true }, { title: "C" }];
    expect(formatTable(sparse, [["1", "", "2"]])).toBe("A  C\n1  2\n");
    expect(formatTable(sparse, [["1", "x", ""]])).toBe("A  B  C\n1  x\n");
  });

  it("becomes a list of records where a row cannot fit", () => {
    const table = formatTable(columns, [["k".repeat(50), "name", "5"]], 40);
    expect(table).toBe(`KEY    ${"k".repeat(50)}\nNAME   name\nVALUE  5\n\n`);
  });

  it("counts wide characters as two columns", () => {
    const rows = ["日本 x", "ab y"].map((row) => row.split(" "));
    expect(formatTable([{ title: "A" }, { title: "B" }], rows)).toBe("A     B\n日本  x\nab    y\n");
  });

  it.each([
    ["क्षि", "  x"],
    ["a\u00ad", "   x"],
  ])("counts %j as a terminal shows it", (cell, rest) => {
    const table = formatTable([{ title: "AB" }, { title: "C" }], [[cell, "x"]]);
    expect(table).toBe(`AB  C\n${cell}${rest}\n`);
  });

  it("begins a value of a field below its title where it has no room beside it", () => {
    const fields = [
      ["a title of some length", "one two three four five six"],
      ["short", "fits"],
      ["", "another line that is too long"],
    ] as [string, string][];
    expect(formatFields(fields, 30)).toBe(
      `a title of some length\n  one two three four five six\nshort                   fits\n  another line that is too\n  long\n`,
    );
  });
});

describe("a panel", () => {
  const isTty = { stdin: false, stdout: true, stderr: false };
  const draw = (panel: Panel, columns: number) =>
    openOutput(createTestContext({ isTty, columns }).context, false).draw(panel);

  it("ends each colour in the line in which it begins, wherever a cell is broken", () => {
    const silent = { chip: "not heard of for a while", tone: "bad" } as const;
    const titles = [{ title: "its name" }, { title: "state" }];
    const table = { kind: "table", columns: titles, rows: [["one", silent]] } as const;
    const facts = { kind: "facts", rows: [["state", silent]] } as const;
    const drawn = draw([table, facts, { kind: "text", text: { bold: silent } }], 20);
    expect(drawn.split("\n").length).toBeGreaterThan(8);
    for (const line of drawn.split("\n")) {
      const times = (...codes: string[]) => codes.reduce((sum, code) => sum + line.split(`\u001b[${code}m`).length, 0);
      expect(times("1", "31")).toBe(times("22", "39"));
      expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(20);
    }
  });

  it("passes on no control character, from whichever cell", () => {
    const hostile = "\u001b[2Jx\u202e";
    const link = { link: "/", text: hostile };
    const cells: Cell[] = [hostile, { words: hostile }, { code: hostile }, { bold: hostile }, link];
    const rows = cells.map((cell) => [hostile, cell] as const);
    const panel: Panel = [
      { kind: "text", title: hostile, text: cells },
      { kind: "facts", rows },
      { kind: "table", columns: [{ title: "a" }, { title: "b" }], rows },
      { kind: "messages", to: cells, texts: [hostile] },
      { kind: "cards", cards: [{ name: hostile, chip: hostile, panel: [{ kind: "facts", rows }] }] },
    ];
    expect(stripVTControlCharacters(draw(panel, 80)).match(/\\x1b\[2Jx\\u\{202e\}/g)?.length).toBeGreaterThan(30);
    for (const raw of ["\u001b[2J", "\u202e"]) expect(draw(panel, 80)).not.toContain(raw);
  });
});

it.each<[string, number, string[]]>([
  ["one two three", 7, ["one two", "three"]],
  ["日本 日本", 5, ["日本", "日本"]],
  ["abcdefgh", 3, ["abc", "def", "gh"]],
  ["a 👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 3, ["a", "👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"]],
  ["", 5, [""]],
])("a text that is too long for its line %j goes on below at %i columns", (text, width, lines) => {
  expect(wrapText(text, width)).toEqual(lines);
});

it("a text that is too long for its line keeps an address that is to be copied in one piece", () => {
  const address = "https://alerts.example.com/login/abc";
  expect(hangText(`see ${address}`, 24, 2)).toBe(`see\n  ${address}`);
  expect(hangText("nothing is known of the width", undefined, 2)).toBe("nothing is known of the width");
});

it.each([
  ["\u001b]0;title\u0007", "\\x1b]0;title\\x07"],
  ["a\u202eb", "a\\u{202e}b"],
  ["one\ntwo\tthree", "one two three"],
  ["\ud800", "\\u{d800}"],
  ["e\u0301 日本 👍🏽", "e\u0301 日本 👍🏽"],
])("text of strangers %j is shown as %j", (text, shown) => {
  expect(terminalText(text)).toBe(shown);
});

it("text of strangers is never cut inside a character", () => {
  expect(fitText("👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 5)).toBe("👨‍👩‍👧‍👦👨‍👩‍👧‍👦…");
  expect(fitText("abc", 3)).toBe("abc");
});
