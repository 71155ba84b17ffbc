import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Condition, Matcher } from "../../src/core/rules.ts";
import { describeMatchers } from "../../src/matching/describe-match.ts";
import { compileMatchers } from "../../src/matching/judge.ts";
import { parseMatch } from "../../src/matching/read-match.ts";
import { botEnv, load, problemsOf } from "../config/load.ts";
import { alert } from "../routing/sample.ts";

/** As the one route of a file would have it; what the file makes of it, or why not. */
const one = "destinations: { ops: { type: telegram, chatId: -1 } }\n";
const fileOf = (match: string) => `${one}routes:\n  - to: ops\n    match: ${match}\n`;
const matchersOf = (match: string) => load(fileOf(match), botEnv).rules.routes[0]?.matchers;
const refusalOf = (match: string) =>
  problemsOf(fileOf(match), botEnv).map(
    ({ path, message, instead }) => `${path?.replace("routes[0].", "")}: ${message} → ${instead}`,
  );

describe("the text form", () => {
  test.each<[string, Record<string, Condition>]>([
    ["severity=critical", { severity: { equals: ["critical"] } }],
    ["chain=eth, base", { chain: { equals: ["eth", "base"] } }],
    ["token!=USDC,DAI", { token: { not: ["USDC", "DAI"] } }],
    ["value>=5", { value: { gte: 5 } }],
    ["value < 1e6", { value: { lt: 1_000_000 } }],
    ["value==5", { value: { equals: ["5"] } }],
    ["title=~^TVL=", { title: { matches: "^TVL=" } }],
    ["title!~test", { title: { notMatches: "test" } }],
    ["title=TVL of USDC fell", { title: { equals: ["TVL of USDC fell"] } }],
    ["link=https://x.example/?a=b", { link: { equals: ["https://x.example/?a=b"] } }],
    ['payload["a=b"].c=d', { 'payload["a=b"].c': { equals: ["d"] } }],
    ["payload['a b=c']=d", { "payload['a b=c']": { equals: ["d"] } }],
    ["payload.items[*].id>3", { "payload.items[*].id": { gt: 3 } }],
    ["payload.pool exists", { "payload.pool": { exists: true } }],
    ["unit is missing", { unit: { exists: false } }],
    ['title="TVL, daily: a=b"', { title: { equals: ["TVL, daily: a=b"] } }],
    ['token="*", USDC', { token: { equals: ["*", "USDC"] } }],
    ['title="say \\"hi\\" \\\\ \\d"', { title: { equals: ['say "hi" \\ \\d'] } }],
    ["value>=5 severity=critical", { value: { gte: 5 }, severity: { equals: ["critical"] } }],
    ["value>=5 and value<10", { value: { gte: 5, lt: 10 } }],
    ["title=~^TVL of .* chain=eth,base", { title: { matches: "^TVL of .*" }, chain: { equals: ["eth", "base"] } }],
    ["payload.a exists token=USDC", { "payload.a": { exists: true }, token: { equals: ["USDC"] } }],
  ])("%s", (text, expected) => {
    const matchers = Object.entries(expected).map(([field, condition]) => ({ field, condition }));
    expect(parseMatch(text)).toEqual(matchers);
    expect(parseMatch([text])).toEqual(matchers);
    expect(matchersOf(JSON.stringify(text))).toEqual(matchers);
    expect(parseMatch(describeMatchers(matchers))).toEqual(matchers);
  });

  test("may be a list of texts, which must all hold", () => {
    expect(matchersOf('["value>=5", "value<10", "token=USDC,DAI"]')).toEqual([
      { field: "value", condition: { gte: 5, lt: 10 } },
      { field: "token", condition: { equals: ["USDC", "DAI"] } },
    ]);
  });

  test.each([
    ["severity", /is not a condition.*write field=value/],
    ["=critical", /is not a condition/],
    ["severty=critical", /"severty" is not a field of an alert \(did you mean severity\?\)/],
    ["severity=critcal", /is never the severity of an alert \(did you mean critical\?\)/],
    ["severity=critical chian=eth", /"chian" is not a field.*did you mean chain\?/],
    ["title=Alarm: rate > 5", /"rate" is not a field.*put that value in "quotes"/],
    ["value>x", /"x" is not a number/],
    ["value=>5", /value=>5: has =>, which is no operator \(write >= or >\)/],
    ["value>1M", /write value>1000000/],
    ["severity>=warning", /write severity=critical,warning/],
    ["title=~(", /the pattern cannot be read/],
    ["title=~*tvl*", /found anywhere in the text, without stars: write "tvl"/],
    ["token=", /without a value/],
    ["token=USDC,", /without a value/],
    ['title="TVL', /quote that is not closed/],
    ['title="TVL" fell', /"fell" is not a condition|" fell" is not a condition/],
    ["title='TVL fell'", /double quotes/],
    ["token=USDC, chain=eth", /condition after a comma/],
    ["token=USDC; chain=eth", /by a space or by and/],
    ["token=USDC token=DAI", /for any of them write token=USDC,DAI/],
    ["value>10 value<5", /no number is that large and that small/],
    ["value>5 value<=5", /no number is that large and that small/],
    ["value>=5 value<5", /no number is that large and that small/],
    ["chain=eth|arbitrum", /write chain=eth,arbitrum; if this very text is meant: chain="eth\|arbitrum"/],
    ["title=*TVL*", /write title~\*TVL\*; if this very text is meant: title="\*TVL\*"/],
    ["", /cannot be used: it is empty \(write/],
    ["token=USDC or", /an or without a condition after it/],
    ["token=USDC and", /an and without a condition after it/],
    ["token=USDC, unit exists", /condition after a comma/],
    ["token=“USDC”", /typographic quotes \(write plain double quotes/],
    ["token=[USDC, DAI]", /a list in brackets \(leave them out: USDC,DAI\)/],
    ["chain=(eth|base)", /write chain=eth,base/],
    ["value=1,000,000", /a number with commas.*write 1000000; for any of these values "1","000","000"/],
    ["title=TVL fell, below 5", /for the text itself write "TVL fell, below 5".*"TVL fell","below 5"/],
    ["alertKey=title:usdc, eth", /for the text itself write "title:usdc, eth"/],
    ["title=~/TVL/i", /not part of a pattern here \(write "\(\?i\)TVL"\)/],
    ["value ≥ 5", /write value>=5/],
    ["value <> 5", /has <>, which is no operator \(write !=\)/],
    ["value === 5", /has ===, which is no operator \(write =\)/],
    ["token: USDC", /write token=USDC/],
    ["title contains TVL fell", /write title=~TVL fell/],
    ["payload.pool is not missing", /write payload.pool exists/],
    ["unit missing", /write unit is missing/],
  ])("%s is refused", (text, why) => {
    expect(() => parseMatch(text)).toThrow(expect.objectContaining({ code: "invalid_request" }));
    expect(() => parseMatch(text)).toThrow(why);
    const [problem] = problemsOf(fileOf(JSON.stringify(text)), botEnv);
    expect(problem).toMatchObject({ where: "tocsin.yaml:4:12", path: "routes[0].match" });
  });

  test("in a list says that a comma has ended an entry", () => {
    expect(refusalOf("[token=USDC,DAI]")).toEqual([
      'match[1]: "DAI" is not a condition → a comma ends an entry of a list; put the text in quotes: "token=USDC,DAI"',
    ]);
  });

  test("in a list is refused at its own entry, each on its own", () => {
    expect(refusalOf('["sevrity=info", "value>x", "DAI"]')).toEqual([
      expect.stringMatching(/^match\[0\]: .*did you mean severity/),
      expect.stringMatching(/^match\[1\]: value>x: "x" is not a number/),
      expect.stringMatching(/^match\[2\]: "DAI" is not a condition/),
    ]);
    expect(refusalOf("[{ severity: critical }]")).toEqual([expect.stringMatching(/^match\[0\]: .*without the list$/)]);
    expect(refusalOf("[]")).toEqual([expect.stringMatching(/^match: is empty/)]);
  });
});

describe("groups", () => {
  const is = (field: string, ...equals: string[]) => ({ field, condition: { equals } });
  const a = is("token", "A");
  const b = is("chain", "b");
  const low: Matcher = { field: "value", condition: { lt: 5 } };
  const lowIn = { value: { lt: 5 } };
  const either: Matcher = { any: [[a], [b]] };
  const neither: Matcher = { any: [[{ not: [a] }], [{ not: [b] }]] };
  const each = (condition: Condition): Matcher => ({ field: "payload.ids[*]", condition });
  const gt3 = each({ gt: 3 });
  const [pattern, stars] = [{ matches: "^(a|b)$" }, { glob: ["US*", "*DAI"] }];
  const bracketed = { any: [[is("payload.a(b)", "A")], [{ field: "unit", condition: { exists: true } }]] };

  test.each<[string, unknown, Matcher[]]>([
    ["token=A or chain=b", { any: [{ token: "A" }, "chain=b"] }, [either]],
    ["(token=A or chain=b) and value<5", { all: [{ any: ["token=A", "chain=b"] }, "value<5"] }, [either, low]],
    ["token=A or (chain=b value<5)", { any: ["token=A", { chain: "b", ...lowIn }] }, [{ any: [[a], [b, low]] }]],
    [
      "value<5 not (token=A or chain=b)",
      { ...lowIn, not: { any: [{ token: "A" }, "chain=b"] } },
      [low, { not: [either] }],
    ],
    ["not token=A OR not chain=b", { any: [{ not: "token=A" }, { not: { chain: "b" } }] }, [neither]],
    // In any case, as the other two words: it would else be a part of the value before it.
    ["token=A AND NOT chain=b", { token: "A", not: "chain=b" }, [a, { not: [b] }]],
    ["token=A Not (chain=b)", { token: "A", not: { chain: "b" } }, [a, { not: [b] }]],
    ["not ( token=A  and chain=b )", { not: ["token=A chain=b"][0] }, [{ not: [a, b] }]],
    // In one list the same value meets both, in two any value meets either.
    ["payload.ids[*]>3 payload.ids[*]<5", { "payload.ids[*]": { gt: 3, lt: 5 } }, [each({ gt: 3, lt: 5 })]],
    ["payload.ids[*]>3 (payload.ids[*]<5)", { all: ["payload.ids[*]>3", "payload.ids[*]<5"] }, [gt3, each({ lt: 5 })]],
    [
      "(title=~^(a|b)$ or title=pool (eth) x) value<5",
      { all: [{ any: [{ title: pattern }, { title: "pool (eth) x" }] }, lowIn] },
      [{ any: [[{ field: "title", condition: pattern }], [is("title", "pool (eth) x")]] }, low],
    ],
    ["(payload.a(b)=A or unit exists)", { any: [{ "payload.a(b)": "A" }, { unit: { exists: true } }] }, [bracketed]],
    ["token~US*,*DAI", { token: stars }, [{ field: "token", condition: stars }]],
  ])("%s", (text, map, matchers) => {
    expect(parseMatch(text)).toEqual(matchers);
    expect(parseMatch(map)).toEqual(matchers);
    expect(matchersOf(JSON.stringify(map))).toEqual(matchers);
    expect(parseMatch(describeMatchers(matchers))).toEqual(matchers);
  });

  test.each([
    ["title=this or that", [is("title", "this or that")]],
    ["title=TVL (eth) fell)", [is("title", "TVL (eth) fell)")]],
    ["title=is not here", [is("title", "is not here")]],
  ])("%s has none", (text, matchers) => expect(parseMatch(text)).toEqual(matchers));

  test.each([
    ["token=A or chain=b value<5", /so nobody can know which belong together \(put parentheses/],
    ["(token=A or chain=b", /a parenthesis that is not closed/],
    ["unit exists)", /closes a parenthesis that is not open/],
    ["()", /is not a condition/],
    ["token=A or", /an or without a condition/],
    [`${"(".repeat(6)}token=A${")".repeat(6)}`, /more than 5 groups/],
    ["not not not not not not token=A", /more than 5 groups/],
    ["token~USDC", /has no star \(write token=USDC for this very text, or token=~USDC for a part of it\)/],
    ["title~^TVL*", /looks like a regular expression \(write title=~\^TVL\*/],
    ["(token=A value>5 value<3) or chain=b", /no number is that large/],
    ["(tken=A or chain=b)", /did you mean token/],
  ])("%s is refused", (text, why) => {
    expect(() => parseMatch(text)).toThrow(why);
    expect(problemsOf(fileOf(JSON.stringify(text)), botEnv)[0]).toMatchObject({ where: "tocsin.yaml:4:12" });
  });

  test.each([
    ["{ any: { token: A } }", 'match.any: is no list of matches → write e.g. any: [{ severity: critical }, "value<5"]'],
    ["{ all: [] }", "match.all: is no list of matches"],
    ["{ any: [{ token: A }, { tken: B }] }", "match.any[1].tken: is not a field of an alert → did you mean token?"],
    ["{ any: [{ value: { gt: x } }] }", 'match.any[0].value.gt: "x" is not a number'],
    ["{ any: [{}, a=b] }", "match.any[0]: is empty"],
    ["{ not: [a, b] }", "could mean none of them or not all of them → for none of several write not: { any: […] }"],
    ["{ not: { severity: urgent } }", "match.not.severity"],
    ["{ constructor: A }", "match.constructor: is not a field of an alert → write one of title, "],
    ["{ or: [{ token: A }] }", "match.or: is not a field of an alert → did you mean any?"],
    ["{ token: { glob: USDC } }", 'match.token.glob: "USDC" has no star → write token: USDC for this very text'],
    ["{ not: { not: { not: { not: { not: { not: a } } } } } }", "one more than 5 groups"],
  ])("%s is refused at its place", (written, said) => {
    const [first, ...others] = refusalOf(written);
    expect(first).toContain(said);
    expect(others.length).toBeLessThan(2);
  });

  test("a mistake in a group is shown at its line and column", () => {
    const file = `${one}routes:\n  - to: ops\n    match:\n      any:\n        - token: A\n        - { value: { gt: 5, lt: x } }\n`;
    expect(problemsOf(file, botEnv)).toMatchObject([
      { where: "tocsin.yaml:7:33", path: "routes[0].match.any[1].value.lt" },
    ]);
  });
});

describe("a value that is a condition, in the map form", () => {
  test.each([
    ['value: ">= 1000000"', 'a comparison → write value: { gte: 1000000 }, or as a text "value>=1000000"'],
    ['value: "> 5 and < 10"', "write value: { gt: 5, lt: 10 }"],
    ['value: ">5,<10"', "write value: { gt: 5, lt: 10 }"],
    ['value: "> 1M"', "a comparison → write value: { gt: 1000000 }"],
    ['value: "> 1_000_000"', "write value: { gt: 1000000 }"],
    ['value: ">=1,000,000"', "write value: { gte: 1000000 }"],
    ['value: ">1,000,000,<2.1bn"', "write value: { gt: 1000000, lt: 2100000000 }"],
    ['value: "1000000+"', "write value: { gte: 1000000 }"],
    ["value: 1.5M+", "write value: { gte: 1500000 }"],
    ["value: above 5 %", "write value: { gt: 5 }"],
    ["value: 1M-2M", "write value: { gte: 1000000, lte: 2000000 }"],
    ["payload.pool.tvl: '> 1.1M'", "write payload.pool.tvl: { gt: 1100000 }"],
    ["value: above 5", "write value: { gt: 5 }"],
    ["value: 5..10", "write value: { gte: 5, lte: 10 }"],
    ["value: 5-10", "write value: { gte: 5, lte: 10 }"],
    ['value: "1,000,000"', "a number → write value: 1000000"],
    ["value: 1.5M", "write value: 1500000"],
    ["payload.pool.tvl: '<= 3'", "write payload.pool.tvl: { lte: 3 }"],
    ['token: "USDC,DAI"', "a list → write token: [USDC, DAI]"],
    ['token: ["USDC,DAI", WETH]', "a list → write token: [USDC, DAI]"],
    ["chain: eth|arbitrum", "write chain: [eth, arbitrum]"],
    ["chain: eth | arbitrum || base", "write chain: [eth, arbitrum, base]"],
    ["chain: eth or base", "write chain: [eth, base]"],
    ["chain: not eth", "write chain: { not: [eth] }"],
    ["chain: '!eth'", "write chain: { not: [eth] }"],
    ["chain: '!= eth'", "write chain: { not: [eth] }"],
    ["chain: '*'", "write chain: { exists: true }"],
    ['title: "*TVL*"', 'a pattern → write title: { glob: "*TVL*" }'],
    ['title: "TVL*"', 'write title: { glob: "TVL*" }'],
    ['title: "*fell (a.b)"', 'write title: { glob: "*fell (a.b)" }'],
    ['title: "=~^TVL"', 'write title: { matches: "^TVL" }'],
    ['title: "^TVL"', 'write title: { matches: "^TVL" }'],
    ['title: "/tvl|volume/i"', 'write title: { matches: "(?i)tvl|volume" }'],
    ['title: "%TVL%"', "write title: { matches: TVL }"],
    ['chain: "(eth|base)"', "write chain: [eth, base]"],
    ['chain: "[eth, base]"', "write chain: [eth, base]"],
    ["metric: eth_*_tvl", 'write metric: { glob: "eth_*_tvl" }'],
    ['token: { not: "USDC,DAI" }', "write token: { not: [USDC, DAI] }"],
    ['title: { not: "*TVL*" }', "write title: { notMatches: TVL }"],
    ['severity: "critical,warning"', "write severity: [critical, warning]"],
    ['severity: ">= warning"', "write severity: [critical, warning]"],
  ])("%s is refused with what to write", (written, instead) => {
    const refusals = refusalOf(`{ ${written} }`);
    expect(refusals).toEqual([expect.stringContaining(instead)]);
    // What is proposed is taken.
    const proposed = /write (\S+: .+?)(?:, or as a text|;|$)/.exec(refusals[0] ?? "")?.[1] ?? "";
    expect(matchersOf(`{ ${proposed} }`), proposed).toHaveLength(1);
  });

  test.each([
    'title: "TVL fell, again"',
    'title: "Alert | eth | pool"',
    'title: "rocks or not"',
    'title: "not enough liquidity"',
    'title: "--> fell"',
    'title: "a * b"',
    "alertKey: 'metric:eth|usdc,*'",
    "link: 'https://x.example/a,b|c'",
    "payload.path: /var/log/app",
    "payload.id: 2026-11-21",
    "value: -5",
    "value: 1e6",
    "token: '0xAb12'",
    "unit: '%'",
    "chain: 'arbitrum-one'",
    'title: { equals: "*TVL*" }',
    'title: { not: ["a,b"] }',
    'value: { equals: ">= 5" }',
  ])("%s is what it says", (written) => {
    expect(matchersOf(`{ ${written} }`)).toHaveLength(1);
  });

  test.each([
    ['value: "> 5 apples"', "and no comparison"],
    ['threshold: "<lots"', "and no comparison"],
    ['value: "5 x 2+"', "and no comparison"],
    ['payload.tvl: "> 1.000.000"', "and no comparison"],
    ['payload.tvl: "> 1 Mio"', "and no comparison"],
    ['payload.tvl: "1000000+"', "and no comparison"],
    ['value: "$1M"', "and no number"],
    ['value: "not > 5"', "and no number"],
    ['value: "1,5"', "for a decimal write 1.5, with a point"],
    ['value: "> 10000,000"', "for a decimal write > 10000.000, with a point"],
  ])("%s is no text for a number", (written, said) => {
    expect(refusalOf(`{ ${written} }`)).toEqual([expect.stringContaining(said)]);
  });

  test("is refused with the way to mean it", () => {
    expect(refusalOf('{ title: "*TVL*" }')[0]).toContain('if this very text is meant: title: { equals: "*TVL*" }');
    expect(refusalOf('{ title: { not: "a,b" } }')[0]).toContain('if this very text is meant: title: { not: ["a,b"] }');
  });
});

test("a list where one value belongs is refused, and not read by its first entry alone", () => {
  expect(refusalOf("{ value: { gt: [5, 10] } }")).toEqual([expect.stringMatching(/value\.gt: a list is not a number/)]);
  const [flag, pattern] = ["{ unit: { exists: [true, false] } }", "{ title: { matches: [TVL, volume] } }"].map(
    refusalOf,
  );
  expect(flag).toEqual([expect.stringMatching(/unit\.exists: a list is neither true nor false/)]);
  const written = /title\.matches: a list is not a pattern → write "TVL\|volume" for any of them/;
  expect(pattern).toEqual([expect.stringMatching(written)]);
  expect(refusalOf("{ title: { notMatches: [] } }")).toHaveLength(1);
});

describe("conditions by other names", () => {
  test.each([
    ["title: { contains: tvl }", "did you mean matches? Write title: { matches: tvl }; a pattern is found anywhere"],
    ["value: { min: 5 }", "did you mean gte? Write value: { gte: 5 }"],
    ["value: { '>': 5 }", "did you mean gt? Write value: { gt: 5 }"],
    ["token: { in: [USDC, DAI] }", "did you mean equals?"],
    ["token: { exits: true }", "did you mean exists?"],
    ["payload: { pool: { address: x } }", "write the whole path: payload.pool.address: x"],
    ["severity=critical", 'write it as a text: match: "severity=critical"'],
    ["payload.pool: { 'a.b': { gt: 5 } }", 'write the whole path: payload.pool["a.b"]: …'],
  ])("%s", (written, instead) => {
    expect(refusalOf(`{ ${written} }`)).toEqual([expect.stringContaining(instead)]);
  });
});

test("a configured mute takes the text form as well", () => {
  const { rules } = load("mutes: [{ match: token=USDC value<5, reason: dust, until: 2127-01-01T00:00:00Z }]", botEnv);
  expect(rules.mutes[0]?.matchers).toEqual([
    { field: "token", condition: { equals: ["USDC"] } },
    { field: "value", condition: { lt: 5 } },
  ]);
});

test("a matcher of the API is refused with all that is wrong", () => {
  expect(parseMatch({ severity: "critical", value: { gt: 5 } })).toEqual([
    { field: "severity", condition: { equals: ["critical"] } },
    { field: "value", condition: { gt: 5 } },
  ]);
  expect(() => parseMatch({ severty: "x", value: { gt: "y" } })).toThrow(/severty is not a field.*value\.gt/s);
  expect(() => parseMatch({ severity: { equals: ["x"] } })).toThrow(/severity\.0 "x" is never/);
  for (const nothing of [undefined, null, [], "x", "", {}]) {
    expect(() => parseMatch(nothing)).toThrow(expect.objectContaining({ code: "invalid_request" }));
  }
});

test("what describes matchers can be written as a matcher, and means the same", () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((bound) => bound + 0);
  const literal = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom(..."Aa1.,+-*_ |\"\\=<>~!km0xorandt:;'/%^$") }),
    fc.constantFrom(
      ...["a,b", ">= 5", "*TVL*", "or", "and", "not x", "'x'", "x;", "5-10", "1e5-10", "5..10", "A.+"],
      ...["1_000", "1M", '"', "\\", "a chain=b"],
    ),
  );
  const pattern = fc.constantFrom(
    ...["^TVL", "(a|b)", "\\)", "a\\(", "a b", "or", "x;", 'say "x"', "\\d+\\s", "'a'", "a|b", "a chain=b"],
  );
  const star = fc.constantFrom("*", "US*", "a.*b", "* (x", "a,b*", "or *", '"*');
  const condition = fc
    .record(
      {
        equals: fc.array(literal, { minLength: 1, maxLength: 3 }),
        not: fc.array(literal, { minLength: 1, maxLength: 3 }),
        gt: number,
        lte: number,
        matches: pattern,
        notMatches: pattern,
        glob: fc.array(star, { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: [] },
    )
    .filter((one) => Object.keys(one).length > 0 && !((one.gt ?? -Infinity) >= (one.lte ?? Infinity)));
  const field = fc.constantFrom("title", "value", "token", "payload.a", 'payload["a b=c"]', "alertKey");
  const someFields = (maxLength?: number) =>
    fc.uniqueArray(fc.record({ field, condition }), { selector: (one) => one.field, minLength: 1, maxLength });
  const [fields, few] = [someFields(), someFields(2)];
  const groups = (lists: fc.Arbitrary<Matcher[]>): fc.Arbitrary<Matcher[]> =>
    fc.oneof(
      fc.array(lists, { minLength: 2, maxLength: 3 }).map((any) => [{ any }]),
      lists.map((not) => [{ not }]),
    );
  const nested = fc.tuple(few, groups(fc.oneof(few, groups(few)))).map((lists): Matcher[] => lists.flat());
  const matchers: fc.Arbitrary<Matcher[]> = fc.oneof(fields, nested);
  fc.assert(
    fc.property(matchers, (written) => {
      expect(parseMatch(describeMatchers(written))).toEqual(written);
    }),
    { numRuns: 500, endOnFailure: true },
  );
});

test("values that read as one number with commas between them are described apart", () => {
  const written = [{ field: "value", condition: { equals: ["1", "000"] } }];
  expect(describeMatchers(written)).toBe('value="1","000"');
  expect(parseMatch(describeMatchers(written))).toEqual(written);
  const ids = [{ field: "payload.chainId", condition: { equals: ["1", "137"] } }];
  expect(describeMatchers(ids)).toBe("payload.chainId=1,137");
  expect(parseMatch(describeMatchers(ids))).toEqual(ids);
});

test("whatever the configuration takes as a matcher can be asked of an alert", () => {
  const value = fc.oneof(fc.string(), fc.integer(), fc.boolean());
  const equals = fc.oneof(value, fc.array(value));
  const gt = fc.oneof(fc.double(), fc.string());
  const named = { equals, not: fc.array(value), gt, exists: fc.boolean(), matches: fc.string() };
  const condition = fc.record(named, { requiredKeys: [] });
  const name = fc.oneof(
    fc.constantFrom("title", "value", "payload"),
    fc.string().map((text) => `payload${text}`),
  );
  fc.assert(
    fc.property(fc.dictionary(name, fc.oneof(condition, value)), (match) => {
      let matchers: ReturnType<typeof parseMatch>;
      try {
        matchers = parseMatch(match);
      } catch {
        return;
      }
      compileMatchers(matchers).reason(alert({ value: "5" }, { payload: ["x"] }));
    }),
    { numRuns: 300 },
  );
});

test("what needs no quotes is described without them", () => {
  const long = ["0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "eth_token_total_tvl_0xab"];
  for (const text of [...long, "7.10", "arbitrum-one", "ÉTH"]) {
    expect(describeMatchers([{ field: "token", condition: { equals: [text] } }])).toBe(`token=${text}`);
  }
});
