import { expect, test } from "vitest";
import { findHits, snippetOf } from "../../src/web/pages/marked.tsx";

const marked = (text: string, hits: string[]) => findHits(text, hits).map(({ from, to }) => text.slice(from, to));

test.each<[string, string, string[], string[]]>([
  ["a word in any case, wherever it begins one", "USDC pool: usdc/weth, ausdc", ["usdc"], ["USDC", "usdc"]],
  ["the beginning of a word", "liquidity", ["liq"], ["liq"]],
  ["the longer of two at one place", "usdc.e", ["usdc", "usdc.e"], ["usdc.e"]],
  ["a phrase", "free text is free", ["free text"], ["free text"]],
  ["nothing for nothing", "anything", [""], []],
  ["nothing where lower case has another length", "İ usdc", ["usdc"], []],
])("marks %s", (_name, text, hits, expected) => {
  expect(marked(text, hits)).toEqual(expected);
});

test("shows the words around a hit", () => {
  const text = `${"a".repeat(100)} usdc ${"b".repeat(100)}`;
  const [hit] = findHits(text, ["usdc"]);
  expect(snippetOf(text, hit ?? { from: 0, to: 0 })).toBe(`…${"a".repeat(39)} usdc ${"b".repeat(59)}…`);
});
