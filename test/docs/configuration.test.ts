import { expect, test } from "vitest";
import { z } from "zod";
import { fileSchema } from "../../src/config/file.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { factFields } from "../../src/matching/path.ts";
import { vendors } from "../../src/vendors/index.ts";
import { exampleEnv } from "../config/load.ts";
import { codeBlocks, codeSpans, documentPaths, readText, root, tableRows } from "./documents.ts";

const page = ["configuration", "routing", "ringing", "sources"].map((name) => readText(`docs/${name}.md`)).join("\n");

/** The options of a shape and of the shapes within it, but for those that have gone. */
function keysOf(json: unknown): string[] {
  if (typeof json !== "object" || json === null) return [];
  if ("deprecated" in json) return [];
  const own = "properties" in json ? Object.entries(Object(json.properties)) : [];
  const named = own.flatMap(([key, inner]) => (Reflect.get(Object(inner), "deprecated") === true ? [] : [key]));
  return [...named, ...Object.values(json).flatMap(keysOf)];
}

const keys = new Set(keysOf(z.toJSONSchema(fileSchema(), { io: "input", unrepresentable: "any" })));
const conditions = ["equals", "not", "lt", "lte", "gt", "gte", "exists", "matches"];

test("the pages on the configuration explain every option and fact of the file, and no option that does not exist", () => {
  expect([...keys]).toEqual(expect.arrayContaining(["perMinute", "breaker", "pause", "after", "quietHours"]));
  const words = new Set(codeSpans(page).flatMap((span) => span.split(/[\s:,]+/)));
  expect([...keys, ...conditions].filter((key) => !words.has(key))).toEqual([]);
  const explained = [...tableRows(page, "option"), ...tableRows(page, "condition")].flatMap(([cell = ""]) =>
    codeSpans(cell),
  );
  expect(explained.filter((name) => !keys.has(name) && !conditions.includes(name))).toEqual([]);
  expect(codeSpans(page)).toContain(factFields.join(" "));
});

test("the pages of the configuration and of channels have every type of destination", () => {
  const channels = readText("docs/channels.md");
  for (const { type } of vendors) {
    expect(page).toContain(`\`${type}\``);
    expect(channels.toLowerCase()).toMatch(new RegExp(`^## .*${type === "email" ? "e-mail" : type}`, "m"));
  }
});

const env = { ...exampleEnv, EMAIL_TO: "desk@example.com" };

const examples = documentPaths.flatMap((path) =>
  codeBlocks(readText(path), "yaml")
    .filter((text) => /^(destinations|routes|defaults|mutes|intake|delivery|watch|silence|sources):/m.test(text))
    .map((text, index) => ({ where: `${path}, example ${index + 1}`, text })),
);

test("every example of the file in the documents is a configuration in order", () => {
  expect(examples.length).toBeGreaterThanOrEqual(8);
  for (const { where, text } of examples) {
    const readFile = (path: string) => (path.endsWith(".env") ? undefined : text);
    expect(loadConfig({ env, cwd: root, readFile }).rules.destinations.length, where).toBeGreaterThan(1);
  }
});
