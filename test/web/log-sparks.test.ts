import { expect, test } from "vitest";
import { expectWords } from "../support/expect-words.ts";
import { createWebFixture } from "../support/web-fixture.ts";

test("a joined row draws the last values of its key with the threshold, in words as well; few values draw nothing", async () => {
  const fixture = await createWebFixture();
  const { addAlert, clock } = fixture;
  const fire = async (alertKey: string, value: string) => {
    await clock.advance(60_000);
    return addAlert({ facts: { alertKey, value, threshold: "25", unit: "USD", title: `Of ${alertKey}` } });
  };
  for (let round = 0; round < 34; round += 1) await fire("many", String(60 - round));
  for (const value of ["24", "23"]) await fire("few", value);
  for (const value of ["none", "unknown", "n/a", "-"]) await fire("words", value);
  const rowsOf = async (path: string) =>
    [...(await fixture.read(path)).matchAll(/<tr id[\s\S]*?<\/tr>/g)].map(([row]) => row);

  const [words, few, many] = await rowsOf("/");
  expect(many).toContain("Values of this key: 30 values, last 27 USD, threshold 25 USD");
  expectWords(many, [/<svg[^>]* class="spark"[^>]*role="img"/, "stroke-dasharray"]);
  expectWords(few, "Of few", { not: "<svg" });
  expect(words).not.toContain("<svg");

  await fire("many", "20");
  expect((await rowsOf("/"))[0]).toContain("last 20 USD");
  expect((await rowsOf("/?view=events")).join("")).not.toContain("<svg");
});
