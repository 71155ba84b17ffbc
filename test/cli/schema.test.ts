import { expect, test } from "vitest";
import { configJsonSchema } from "../../src/config/file.ts";
import { runTocsin } from "../support/cli.ts";
import { fitsJsonSchema } from "../support/json-schema.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const printSchema = async (...argv: string[]) =>
  (await runTocsin(["schema", ...argv], { cwd: makeTempFolder() })).json();

test("prints the JSON Schema itself, for a file beside the configuration, and below `data` as every command with --json", async () => {
  const json = configJsonSchema();
  expect(json).toMatchObject({
    $schema: expect.stringContaining("2020-12"),
    type: "object",
    additionalProperties: false,
  });
  expect(await printSchema()).toEqual(json);
  expect(await printSchema("--json")).toEqual({ data: json });
});

test("explains an option in plain words, with its bounds and its default, and asks for secrets as references", () => {
  const { properties } = configJsonSchema() as { properties: Record<string, { anyOf: { properties: object }[] }> };
  expect(properties.watch?.anyOf[0]?.properties).toMatchObject({
    gaps: { description: "how often missing alerts are looked for. 5m to 1d, or off", default: "15m" },
  });
  expect(properties.heartbeat?.anyOf[0]?.properties).toMatchObject({ url: { type: "string", pattern: "\\$\\{" } });
  expect(properties.delivery?.anyOf[0]?.properties).toMatchObject({ jitter: { deprecated: true } });
});

test("checks what stands in any, all and not of a match as the match itself", () => {
  const json = configJsonSchema();
  const isFine = (match: unknown) => fitsJsonSchema(json, { routes: [{ to: "desk", match }] });
  expect(isFine({ any: [{ token: "A" }, "value<5", { not: { all: [{ chain: ["eth", "bsc"] }] } }] })).toBe(true);
  for (const wrong of [
    { any: { token: "A" } },
    { any: [{ tokn: "A" }] },
    { not: [{ token: "A" }] },
    { not: { tokn: 1 } },
    { all: [] },
  ])
    expect(isFine(wrong), JSON.stringify(wrong)).toBe(false);
});
