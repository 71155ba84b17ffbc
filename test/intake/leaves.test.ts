import { expect, it } from "vitest";
import { type Leaf, listLeaves } from "../../src/facts/leaves.ts";
import { parseJson } from "../../src/intake/read/parse-json.ts";
import { translate } from "./describe-facts.ts";

function leavesOf(text: string): Leaf[] {
  const parsed = parseJson(text);
  if (!parsed.ok) throw new Error(parsed.message);
  return listLeaves(parsed.value).leaves;
}

/** The path of the only leaf: the same list again as long as its place is kept. */
const pathOf = (text: string) => leavesOf(text)[0]?.path;

const ordinary = '{"data":{"alertName":"TVL fell"}}';

function namesAnew(count: number, prefix: string): string {
  return JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, 1])));
}

it("works a place out once, also for a name that comes in a list of pairs", () => {
  expect(pathOf(ordinary)).toBe(pathOf(ordinary));
  expect(leavesOf('{"fields":[{"name":"Chain","value":"eth"}]}')[0]?.names).toBe(
    leavesOf('{"fields":{"Chain":"base"}}')[0]?.names,
  );
  expect(leavesOf('{"0":1}')[0]?.path).toEqual(["0"]);
  expect(leavesOf('[{"a":{"b":1}}]')[0]?.path).toEqual(["[0]", "a", "b"]);
});

it("keeps no more than 4,000 places", () => {
  const before = pathOf(ordinary);
  for (let bodies = 0; bodies < 3; bodies += 1) leavesOf(namesAnew(1_500, `n${bodies}-`));
  expect(pathOf(ordinary)).not.toBe(before);
});

it("keeps no more characters than a few hundred thousand, and no long name", () => {
  const before = pathOf(ordinary);
  for (let bodies = 0; bodies < 5; bodies += 1) leavesOf(namesAnew(600, `${"x".repeat(90)}${bodies}-`));
  expect(pathOf(ordinary)).not.toBe(before);
  const long = JSON.stringify({ ["y".repeat(101)]: 1 });
  expect(pathOf(long)).not.toBe(pathOf(long));
});

it("reads the same whatever it keeps", () => {
  const bodies = [
    '{"title":"TVL fell","pool":{"name":"USDC/WETH"},"value":1.10}',
    '{"a.b":"x","a":{"b":"y"}}',
    '["a","b"]',
  ];
  const read = () => bodies.map((body) => translate(body));
  const first = read();
  for (let more = 0; more < 4; more += 1) {
    translate(namesAnew(1_900, `m${more}-`));
    expect(read()).toEqual(first);
  }
});
