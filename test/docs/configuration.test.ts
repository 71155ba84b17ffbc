import { describe, expect, test } from "vitest";
import { z } from "zod";
import { loadConfig } from "../../src/config/load-config.ts";
import * as schema from "../../src/config/schema.ts";
import { factFields } from "../../src/matching/path.ts";
import { vendors } from "../../src/vendors/index.ts";
import { exampleEnv } from "../config/load.ts";
import { codeBlocks, codeSpans, documentPaths, readText, root, tableRows } from "./documents.ts";

const page = readText("docs/configuration.md");

/** Every key of a shape and of the shapes within it. */
function keysOf(type: unknown): string[] {
  if (type instanceof z.ZodOptional) return keysOf(type.unwrap());
  if (!(type instanceof z.ZodObject)) return [];
  return Object.entries(type.shape).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
}

const shapes = [
  schema.fileSchema,
  schema.defaultsSchema,
  schema.quietHoursSchema,
  z.object(schema.destinationOptions),
  ...vendors.map(({ options }) => z.object(options)),
  schema.routeSchema,
  schema.muteSchema,
  schema.intakeSchema,
  schema.deliverySchema,
];
const keys = new Set(shapes.flatMap(keysOf));
const conditions = ["equals", "not", "lt", "lte", "gt", "gte", "exists", "matches"];

describe("docs/configuration.md", () => {
  test("the search finds the keys within keys", () => {
    expect([...keys]).toEqual(expect.arrayContaining(["perMinute", "breaker", "maxPause", "after", "quietHours"]));
  });

  test("mentions every option of the file", () => {
    const words = new Set(codeSpans(page).flatMap((span) => span.split(/[\s:,]+/)));
    expect([...keys, ...conditions].filter((key) => !words.has(key))).toEqual([]);
  });

  test("explains no option that does not exist", () => {
    const explained = [...tableRows(page, "option"), ...tableRows(page, "condition")].flatMap(([cell = ""]) =>
      codeSpans(cell),
    );
    expect(explained.filter((name) => !keys.has(name) && !conditions.includes(name))).toEqual([]);
  });

  test("names every fact that a matcher may look at", () => {
    expect(codeSpans(page)).toContain(factFields.join(" "));
  });

  test("and the page of channels have every type of destination", () => {
    const channels = readText("docs/channels.md");
    for (const { type } of vendors) {
      expect(page).toContain(`\`${type}\``);
      expect(channels.toLowerCase()).toMatch(new RegExp(`^## .*${type === "email" ? "e-mail" : type}`, "m"));
    }
  });
});

const env = { ...exampleEnv, EMAIL_TO: "desk@example.com" };

const examples = documentPaths.flatMap((path) =>
  codeBlocks(readText(path), "yaml")
    .filter((text) => /^(destinations|routes|defaults|mutes|intake|delivery):/m.test(text))
    .map((text, index) => ({ where: `${path}, example ${index + 1}`, text })),
);

test("the documents have examples of the file", () => {
  expect(examples.length).toBeGreaterThanOrEqual(8);
});

test.each(examples)("$where is a configuration in order", ({ text }) => {
  const config = loadConfig({
    env,
    cwd: root,
    readFile: (path) => (path.endsWith(".env") ? undefined : text),
  });
  expect(config.rules.destinations.length).toBeGreaterThan(1);
});
