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

// What a journal says after kills and restarts: runs.test.ts.
it("believes no line that was written in part", () => {
  const path = join(makeTempFolder(), "claims");
  const tokens = [newId(), newId(), newId()];
  openAt(path).journal?.note(tokens);
  writeFileSync(path, readFileSync(path, "latin1").slice(0, -5));
  const { journal } = openAt(path);
  expect(tokens.map((token) => journal?.isUntried(token))).toEqual([true, true, false]);
});

it("uses the places of what is struck, forgotten or could not be noted again", () => {
  const path = join(makeTempFolder(), "claims");
  const { journal } = openAt(path);
  for (let round = 0; round < 300; round += 1) {
    const tokens = [newId(), newId()];
    expect(journal?.note(tokens)).toBe(true);
    for (const token of tokens) journal?.strike(token);
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
