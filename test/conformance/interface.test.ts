import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readText } from "../docs/documents.ts";

/** The `interface-*.test.ts` files beside this one have a test a statement; here is what holds of them together. */

const folder = new URL(".", import.meta.url);
const files = readdirSync(folder)
  .filter((name) => /^interface-\w+\.test\.ts$/.test(name))
  .map((name) => {
    const source = readFileSync(new URL(name, folder), "utf8");
    const numbers = [...source.matchAll(/^(?:test\(| {2}\[|\s+)"S(\d+) [^"]+"/gm)].map(([, number]) => Number(number));
    return { path: `test/conformance/${name}`, numbers };
  });

test("statements are numbered without gaps or repeats", () => {
  const numbers = files.flatMap((file) => file.numbers).sort((a, b) => a - b);
  expect(numbers.length).toBeGreaterThan(60);
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});

test("docs/interface-conformance.md has each file with the number of its statements", () => {
  const said = readText("docs/interface-conformance.md").matchAll(/(interface-\w+\.test\.ts)` (?:has )?(\d+)/g);
  const documented = [...said].map(([, file, count]) => [`test/conformance/${file}`, Number(count)]);
  expect(documented.sort()).toEqual(files.map(({ path, numbers }) => [path, numbers.length]).sort());
});
