import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openReadingJournal } from "../../../src/intake/reading/journal.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

function open(path: string) {
  return openReadingJournal(path, (error) => {
    throw error;
  });
}

it("knows at the next start what was being read, and nothing of what was before", () => {
  const path = join(makeTempFolder(), "reading");
  const first = open(path);
  expect(first.interrupted).toEqual([]);
  first.write([101, 102, 103]);
  first.write([7, 8]);
  first.close();
  const second = open(path);
  expect(second.interrupted).toEqual([7, 8]);
  second.write([]);
  second.close();
  expect(open(path).interrupted).toEqual([]);
});

it.each(["", "no numbers;", "1,2,", "1,,2;", "\0\0\0;"])("takes %j for nothing", (text) => {
  const path = join(makeTempFolder(), "reading");
  writeFileSync(path, text);
  expect(open(path).interrupted).toEqual([]);
  expect(readFileSync(path, "utf8")).toBe(text);
});

it("goes on without the note when it cannot be written, and says so once", () => {
  const faults: Error[] = [];
  const journal = openReadingJournal(join(makeTempFolder(), "reading"), (error) => faults.push(error));
  journal.close();
  journal.write([1]);
  journal.write([2]);
  expect(faults).toHaveLength(1);
});
