import type { Command } from "commander";
import { expect, test } from "vitest";
import { z } from "zod";
import { buildProgram } from "../../src/cli/program.ts";
import { destinationSchema, ownOptions, quietHoursSchema } from "../../src/config/destinations.ts";
import { groupSchema, inhibitSchema } from "../../src/config/grouping.ts";
import { destinationName, routeSchema } from "../../src/config/routes.ts";
import {
  canarySchema,
  defaultsSchema,
  deliverySchema,
  heartbeatSchema,
  intakeSchema,
  marketSchema,
  muteSchema,
  retentionSchema,
  silenceMap,
  watchSchema,
} from "../../src/config/sections.ts";
import { sourceSchema } from "../../src/config/sources.ts";
import { type Variable, variables } from "../../src/config/variables.ts";
import { routes } from "../../src/contract/api.ts";
import { vendors } from "../../src/vendors/index.ts";
import { createTestContext } from "../support/cli.ts";
import { metricsOfAll } from "../support/metrics.ts";
import { readText } from "./documents.ts";

/** The page with these rows in the table whose header begins with this cell. `npx vitest run test/docs -u` writes it. */
function withRows(page: string, firstHeader: string, rows: string[][]): string {
  const table = new RegExp(`^(\\| ${firstHeader} \\|.*\\n\\|[-|]+\\n)(?:\\|.*\\n)*`, "m");
  expect(page).toMatch(table);
  return page.replace(table, (_, head: string) => head + rows.map((cells) => `| ${cells.join(" | ")} |\n`).join(""));
}

/** A command in a line, with its parts. Its own `--help` says the rest. */
function describeCommand(command: Command): string[] {
  const parts = command.commands.map((one) => `\`${one.name()}\``).join(", ");
  const summary = command.summary();
  // Those with parts may name them in words.
  const says = parts === "" ? summary : `${summary.replace(/:.*/, "")}: ${parts}`;
  return [`\`tocsin ${command.name()}\``, says];
}

test("docs/reference.md has every variable, command and request of the API, as the code says them", async () => {
  const commands = buildProgram(createTestContext().context).commands.map(describeCommand);
  // Their parameters and fields are in the OpenAPI document, which is made of the same shapes.
  const requests = routes.map(([, { path, says }]) => [`\`${path}\``, says]);
  const ofEnvironment = allVariables.map(([name, one]) => [`\`${name}\``, one.says, defaultOf(one)]);
  const page = withRows(readText("docs/reference.md"), "variable", ofEnvironment);
  const fresh = withRows(withRows(page, "command", commands), "API request", requests);
  await expect(fresh).toMatchFileSnapshot("../../docs/reference.md");
});

const allVariables: [name: string, Variable][] = Object.entries(variables);
const defaultOf = ({ otherwise, default: byDefault = "" }: Variable) => otherwise ?? String(byDefault);

test(".env.example has every variable that a relay reads, as the code says them", async () => {
  const [head] = readText(".env.example").split("\n\n");
  const lines = allVariables.flatMap(([name, { example, ...one }]) => {
    if (example === undefined) return [];
    const byDefault = defaultOf(one) === "" ? "" : ` (default: ${defaultOf(one)})`;
    const words = `${one.says}${byDefault}`.replaceAll("`", "");
    return [`# ${words}`, example === "" ? `${name}=` : `# ${name}=${example}`, ""];
  });
  await expect([head, "", ...lines].join("\n").trimEnd().concat("\n")).toMatchFileSnapshot("../../.env.example");
});

/** A row for each option of a map: what it means, within which bounds, and its default. */
function describeOptions(map: z.ZodType): string[][] {
  const { properties = {}, required = [] } = z.toJSONSchema(map, { io: "input", unrepresentable: "any" });
  return Object.entries(properties).flatMap(([name, json]) => {
    const { description, bounds, otherwise, deprecated, default: byDefault } = json as Record<string, unknown>;
    if (deprecated === true) return [];
    expect(description, name).toBeDefined();
    const list = Array.isArray(byDefault) ? `[${byDefault.join(", ")}]` : byDefault;
    const written = otherwise ?? (list === undefined ? "none" : `\`${list}\``);
    const meaning = bounds === undefined ? description : `${description}; ${bounds}`;
    return [[`\`${name}\``, String(meaning), required.includes(name) ? "required" : String(written)]];
  });
}

/** The page with the options of a map in the first table below a heading. */
function withOptions(page: string, heading: string, map: z.ZodType): string {
  const table = new RegExp(`^(#+ ${heading}[^\n]*\n(?:(?!#).*\n)*?\\| option \\|.*\n\\|[-|]+\n)(?:\\|.*\n)*`, "m");
  expect(page).toMatch(table);
  const rows = describeOptions(map).map((cells) => `| ${cells.join(" | ")} |\n`);
  return page.replace(table, (_, head: string) => head + rows.join(""));
}

const everyVendor = vendors.map(({ type, options }) => [`\`${type}\``, z.strictObject(options)] as const);
const withoutAllowInternal = ({ allowInternal, ...others }: z.core.$ZodLooseShape) => z.strictObject(others);
const [telegram] = destinationSchema.options;
const destinationOptions = z.strictObject({ type: telegram.shape.type, ...ownOptions });
test.each([
  [
    "routing",
    [
      ["`routes`", routeSchema()],
      ["`mutes`", muteSchema],
    ],
  ],
  ["sources", [["Sources", sourceSchema]]],
  [
    "ringing",
    [
      ["`group`", groupSchema],
      ["`inhibit`", inhibitSchema],
    ],
  ],
  [
    "configuration",
    [
      ["`defaults`", defaultsSchema],
      ["`destinations`", destinationOptions],
      ["`quietHours`", quietHoursSchema],
      // Those of a secret address share a table. What all with an address take is said above.
      ...everyVendor
        .filter(([, { shape }]) => Object.keys(shape).join() !== "url,allowInternal")
        .map(([heading, { shape }]) => [heading, withoutAllowInternal(shape)] as const),
      ["`silence`", silenceMap],
      ["`canary`", canarySchema(destinationName())],
      ["`intake`", intakeSchema],
      ["`watch`", watchSchema],
      ["`market`", marketSchema],
      ["`heartbeat`", heartbeatSchema],
      ["`delivery`", deliverySchema],
      ["`retention`", retentionSchema],
    ],
  ],
] as const)("docs/%s.md has every option as its shape says it", async (name, maps) => {
  const page = maps.reduce((text, [heading, map]) => withOptions(text, heading, map), readText(`docs/${name}.md`));
  await expect(page).toMatchFileSnapshot(`../../docs/${name}.md`);
});

test("docs/monitoring.md has every metric with its text, which says whether it is of this relay or the same on every one", async () => {
  const text = metricsOfAll();
  const helps = [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = "", help = ""]) => ({ name, help }));
  expect(helps.filter(({ help }) => /this relay/.test(help) === /the same on every relay/.test(help))).toEqual([]);
  const shared = helps.filter(({ help }) => help.includes("the same on every relay")).map(({ name }) => name);
  expect(shared.filter((name) => name.endsWith("_total"))).toEqual([]);
  const rows = helps.map(({ name, help }) => [
    `\`${name}\``,
    help
      .replace(" (the same on every relay)", " (=)")
      // The page says this once.
      .replace(/ (?:of|at) this relay/, "")
      .replace(/ since its start(?:, or since it took over a changed file)?/, ""),
  ]);
  await expect(withRows(readText("docs/monitoring.md"), "metric", rows)).toMatchFileSnapshot(
    "../../docs/monitoring.md",
  );
});
