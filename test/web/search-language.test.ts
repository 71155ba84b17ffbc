import { expect, test } from "vitest";
import { inPayloads, parseSearch } from "../../src/contract/search-language.ts";

test.each<[string, object]>([
  ["", {}],
  ["usdc  depeg", { q: "usdc depeg" }],
  [
    'token:USDC severity:critical value>1000000 route:desk state:failed "free text"',
    {
      severity: "critical",
      state: "failed",
      route: "desk",
      phrases: ["free text"],
      facts: [
        { fact: "token", is: "USDC" },
        { fact: "value", compare: ">", number: 1_000_000 },
      ],
    },
  ],
  ['key:"metric:eth usdc" title:"pool TVL"', { key: "metric:eth usdc", facts: [{ fact: "title", has: "pool TVL" }] }],
  ["Severity=CRITICAL state:problem", { severity: "critical", state: "problem" }],
  ["source:github destination:desk", { source: "github", destination: "desk" }],
  [
    "status:resolved chain:eth",
    {
      facts: [
        { fact: "status", is: "resolved" },
        { fact: "chain", is: "eth" },
      ],
    },
  ],
  ["https://etherscan.io/tx/0x1 14:02:05 0x12:3", { q: "https://etherscan.io/tx/0x1 14:02:05 0x12:3" }],
  ['"tokn:x" "never closed', { phrases: ["tokn:x", "never closed"] }],
  ['raw:0xDEAD raw:"a b" usdc', { raw: ["0xDEAD", "a b"], q: "usdc" }],
  ['""', {}],
])("the language of the search box reads %s", (text, search) => {
  expect(parseSearch(text)).toEqual({ search, problems: [] });
});

test.each<[string, string, number]>([
  ["value:5", "=", 5],
  ["value=0.05", "=", 0.05],
  ["value>=1,000,000", ">=", 1e6],
  ["value<=1_000", "<=", 1000],
  ["value<-2.5", "<", -2.5],
  ["value>1.5M", ">", 1.5e6],
  ["value>2bn", ">", 2e9],
  ["value<1e-18", "<", 1e-18],
])("the language of the search box compares %s", (text, compare, number) => {
  expect(parseSearch(text).search.facts).toEqual([{ fact: "value", compare, number }]);
});

test.each<[string, string]>([
  ["tokn:USDC", "there is no field tokn to search in: did you mean token?"],
  ["colour:red", "known here: token, chain, metric, title, value, severity, status, state, destination, route"],
  ["token:", "there is no value after token:"],
  ["severity:crit", "severity:crit is not known: known here: critical, warning, info, unknown"],
  ["state:faild", "did you mean failed?"],
  ["value>much", "value>much is no number, write e.g. value>1000000"],
  ["value>1.2.3", "is no number"],
  ["token>USDC", "token cannot be compared with >, write token:USDC"],
  ["route:a route:b", "route is given twice"],
])("the language of the search box says what is wrong with %s", (text, problem) => {
  const { search, problems } = parseSearch(`usdc ${text}`);
  expect(problems.join()).toContain(problem);
  expect(search.q).toBe("usdc");
});

test("the language of the search box takes a long text of every sign in a moment", () => {
  const signs = 'token:"'.repeat(20_000) + "a".repeat(50_000) + ":::>>>===".repeat(1_000);
  expect(parseSearch(signs).problems.length).toBeGreaterThan(0);
});

test.each<[string, string | undefined]>([
  ["depeg 0xDEAD", 'raw:"depeg" raw:"0xDEAD"'],
  ['token:USDC value>=5 "free text" key:"a b"', 'token:USDC value>=5 raw:"free text" key:"a b"'],
  ["token:USDC", undefined],
  ["", undefined],
])("looks in payloads for %s", (text, expected) => {
  expect(inPayloads(text)).toBe(expected);
});
