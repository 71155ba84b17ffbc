import { expect, test } from "vitest";
import { suggest } from "../../../src/ground/text/suggest.ts";

test.each([
  ["chatid", "chatId"],
  ["chta_id", "chatId"],
  ["timezone", "timeZone"],
  ["quiet_hours", "quietHours"],
  ["banana", undefined],
  ["", undefined],
])("%j is taken for %j", (word, meant) => {
  expect(suggest(word, ["chatId", "timeZone", "quietHours", "silent"])).toBe(meant);
});
