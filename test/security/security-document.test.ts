import { expect, it } from "vitest";
import { codeSpans, readText, tableRows } from "../docs/documents.ts";

const rows = tableRows(readText("test/security/protections.md"), "item");

it("test/security/protections.md has a row for each of the 19 items", () => {
  const items = new Set(rows.map(([item = ""]) => Number.parseInt(item, 10)));
  expect([...items]).toEqual(Array.from({ length: 19 }, (_, index) => index + 1));
});

it.each(rows)("%s %s: the test exists", (_item, test = "", name = "") => {
  expect(readText(codeSpans(test)[0] ?? "").split(name), "as the beginning of one name").toHaveLength(2);
});
