import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openReadingJournal } from "../../../src/intake/thread/journal.ts";
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

it("suspects the body that the process before read last on its arrival, and no other", () => {
  const path = join(makeTempFolder(), "reading");
  const [one, other] = [Buffer.from("one"), Buffer.from("other")];
  const first = open(path);
  first.noteArrival(one);
  first.noteArrival(other);
  expect(first.isSuspect(other)).toBe(false);
  first.write([5, 6]);
  first.close();
  const second = open(path);
  expect([second.isSuspect(one), second.isSuspect(other), second.interrupted]).toEqual([false, true, [5, 6]]);
  second.write([]);
  second.close();
  expect(open(path).isSuspect(other)).toBe(false);
});

it("knows what a process of the last version was reading", () => {
  const path = join(makeTempFolder(), "reading");
  writeFileSync(path, "7,8;9,10,11,12,13,14,15;");
  const journal = open(path);
  expect(journal.interrupted).toEqual([7, 8]);
  journal.write([]);
  journal.noteArrival(Buffer.from("one"));
  journal.close();
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

it.each<[string, (path: string) => void]>([
  ["a folder", (path) => mkdirSync(path)],
  ["a link to nowhere", (path) => symlinkSync("/nonexistent/reading", path)],
  ["a device without end", (path) => symlinkSync("/dev/zero", path)],
])("goes on without it when %s stands in its place", (_what, make) => {
  const path = join(makeTempFolder(), "reading");
  make(path);
  const faults: Error[] = [];
  const journal = openReadingJournal(path, (error) => faults.push(error));
  journal.write([1]);
  expect([journal.interrupted, faults.length]).toEqual([[], 1]);
  journal.close();
});

it("reads no more of a huge file than a note can be, and writes its own over it", () => {
  const path = join(makeTempFolder(), "reading");
  writeFileSync(path, "1,2,");
  truncateSync(path, 5 * 1024 ** 3);
  const journal = open(path);
  expect(journal.interrupted).toEqual([]);
  journal.write([7]);
  journal.close();
  expect(open(path).interrupted).toEqual([7]);
});
