import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const src = new URL("../../src/", import.meta.url);
const read = (file: string) => readFileSync(new URL(file, src), "utf8");
const wordsIn = (text: string) => text.match(/[a-z][\w-]*/g) ?? [];

/** What pages put together from states, severities and tones. */
const chosen = wordsIn("good bad busy off warn done warning failed firing over critical info unknown resolved");
/** Scripts and tests look for these, and they look like what they stand in. */
const hooks = wordsIn("clock since zone headline export gone picture metric");

test("each class of the stylesheet is on a page, and each class of a page has its rule", () => {
  const files = ["web/pages/", "web/assets/"].flatMap((folder) =>
    readdirSync(new URL(folder, src)).map((file) => folder + file),
  );
  const source = ["charts/spark-line.ts", ...files.filter((file) => /\.tsx?$/.test(file))].map(read).join("");
  const style = read("web/assets/page.css").replace(/\/\*.*?\*\//gs, "");
  const literal = /\bclass(?:Name)?(?:=|: | = )"([^"]*)"/g;
  const written = [...source.matchAll(literal)].flatMap(([, text = ""]) => wordsIn(text));
  const either = [...source.matchAll(/class=\{([^\n]*)|classList\.add\((.*)\)/g)].flatMap(([text]) => wordsIn(text));
  const styled = [...style.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = ""]) => name);
  const used = new Set([...written, ...either, ...chosen]);
  expect(styled.filter((name) => !used.has(name))).toEqual([]);
  const known = new Set([...styled, ...hooks]);
  expect(written.filter((name) => !known.has(name))).toEqual([]);
});
