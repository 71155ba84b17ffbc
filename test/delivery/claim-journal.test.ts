import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createIdSource, firstIdAt } from "../../src/core/id.ts";
import { openClaimJournal } from "../../src/delivery/memory/claim-journal.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const newId = createIdSource(() => 1);
const boot = firstIdAt(1);

function openAt(path: string, bootId: string | undefined = boot) {
  const faults: Error[] = [];
  const journal = openClaimJournal(path, { bootId, onFault: (error) => faults.push(error) });
  if (journal) onTestFinished(journal.close);
  return { journal, faults };
}

/** As a process that was killed leaves it: nothing is closed. */
function leave(path: string, bootId = boot): { noted: string[]; struck: string } {
  const { journal } = openAt(path, bootId);
  const noted = [newId(), newId(), newId()];
  journal?.note(noted);
  const struck = noted[1] as string;
  journal?.strike(struck);
  return { noted, struck };
}

it("knows after a kill which claims were not begun", () => {
  const path = join(makeTempFolder(), "claims");
  const { noted, struck } = leave(path);
  const { journal } = openAt(path);
  expect(noted.filter((token) => journal?.isUntried(token))).toEqual(noted.filter((token) => token !== struck));
});

it("keeps what it inherits until it is told that it is settled, beside what is noted meanwhile", () => {
  const path = join(makeTempFolder(), "claims");
  const { noted } = leave(path);
  const own = [newId(), newId()];
  openAt(path).journal?.note(own);
  const again = openAt(path).journal;
  expect(again?.isUntried(noted[0] as string)).toBe(true);
  expect(own.every((token) => again?.isUntried(token))).toBe(true);
  again?.forgetInherited();
  expect(openAt(path).journal?.isUntried(noted[0] as string)).toBe(false);
});

it("believes nothing that was written before the machine was started anew, then or later", () => {
  const path = join(makeTempFolder(), "claims");
  const { noted } = leave(path);
  expect(noted.some((token) => openAt(path, firstIdAt(2)).journal?.isUntried(token))).toBe(false);
  expect(noted.some((token) => openAt(path).journal?.isUntried(token))).toBe(false);
});

it("believes no line that was written in part", () => {
  const path = join(makeTempFolder(), "claims");
  const { noted } = leave(path);
  const text = readFileSync(path, "latin1");
  writeFileSync(path, text.slice(0, -5));
  const { journal } = openAt(path);
  expect(noted.map((token) => journal?.isUntried(token))).toEqual([true, false, false]);
});

it("uses the places of what is struck again", () => {
  const path = join(makeTempFolder(), "claims");
  const { journal } = openAt(path);
  for (let round = 0; round < 1000; round += 1) {
    const tokens = [newId(), newId()];
    expect(journal?.note(tokens)).toBe(true);
    for (const token of tokens) journal?.strike(token);
  }
  expect(statSync(path).size).toBeLessThan(200);
});

it("has room again when notes could not be made, and for claims that were not", () => {
  const path = join(makeTempFolder(), "claims");
  const { journal } = openAt(path);
  for (let round = 0; round < 10_000; round += 1) {
    expect(journal?.note([newId(), newId(), "no token"])).toBe(false);
    const unused = newId();
    journal?.note([unused]);
    journal?.forget(unused);
  }
  expect(statSync(path).size).toBeLessThan(200);
});

it("is not there where the file cannot be used, or no boot can be told from another", () => {
  const folder = makeTempFolder();
  const { journal, faults } = openAt(folder);
  expect(journal).toBeUndefined();
  expect(faults).toHaveLength(1);
  expect(openAt(join(folder, "claims"), "").journal).toBeUndefined();
});
