import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The `interface-*.test.ts` files beside this one have a test a statement; here is what holds of them together. */

interface Statement {
  number: string;
  name: string;
  file: string;
}

function statementsOfTests(): Statement[] {
  const folder = new URL(".", import.meta.url);
  return readdirSync(folder).flatMap((fileName) => {
    const file = /^interface-(\w+)\.test\.ts$/.exec(fileName)?.[1];
    if (file === undefined) return [];
    const source = readFileSync(new URL(fileName, folder), "utf8");
    return [...source.matchAll(/^test\("(S\d+) ([^"]+)"/gm)].map(([, number = "", name = ""]) => ({
      number,
      name,
      file,
    }));
  });
}

function statementsOfTable(): Statement[] {
  const text = readFileSync(new URL("../../docs/interface-conformance.md", import.meta.url), "utf8");
  return [...text.matchAll(/^\| (S\d+) \| [\d., ]+ \| (.+?) \| (\w+) \|$/gm)].map(
    ([, number = "", name = "", file = ""]) => ({ number, name, file }),
  );
}

const byNumber = (a: Statement, b: Statement) => Number(a.number.slice(1)) - Number(b.number.slice(1));

test("the table of statements and the tests agree, one for one", () => {
  const tests = statementsOfTests().sort(byNumber);
  expect(tests.length).toBeGreaterThan(60);
  expect(statementsOfTable()).toEqual(tests);
});

test("statements are numbered without gaps or repeats", () => {
  const numbers = statementsOfTable().map(({ number }) => number);
  expect(numbers).toEqual(numbers.map((_, index) => `S${index + 1}`));
});
