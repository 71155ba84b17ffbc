import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { variables } from "../../src/config/variables.ts";
import { codeBlocks, readText, root } from "./documents.ts";

/** What the configuration asks the environment for, whatever it finds there. */
function askedByConfig(): Set<string> {
  const asked = new Set<string>();
  const get = (_target: object, name: string | symbol) => void asked.add(String(name));
  loadConfig({ env: new Proxy({}, { get }), cwd: root, readFile: () => undefined });
  return asked;
}

/** What any other file of the program or its scripts reads by name. */
function askedBySource(): Set<string> {
  const names = new Set<string>();
  for (const folder of ["src", "scripts", "workshop"]) {
    for (const file of readdirSync(`${root}${folder}`, { recursive: true, encoding: "utf8" })) {
      if (!/\.(ts|tsx|mjs)$/.test(file)) continue;
      const source = readText(`${folder}/${file}`);
      for (const [, name] of source.matchAll(/\benv\.([A-Z][A-Z0-9_]+)/g)) names.add(name as string);
      for (const [, list = ""] of source.matchAll(/const \{([^}]*)\} = (?:context|process)\.env/g))
        for (const [name] of list.matchAll(/[A-Z][A-Z0-9_]+/g)) names.add(name);
    }
  }
  return names;
}

const asked = new Set([...askedByConfig(), ...askedBySource()]);
test("every variable that is read is known, and no other; slips are looked for among them", () => {
  expect([...asked]).toEqual(expect.arrayContaining(["PORT", "TOCSIN_CONFIG", "SANDBOX_BOT_TOKEN", "NO_COLOR"]));
  expect(Object.keys(variables).sort()).toEqual([...asked].sort());
});

test("the README's example of an environment makes two chats and a mailbox", () => {
  const example = codeBlocks(readText("README.md"), "sh").find((text) => text.startsWith("PUBLIC_URL=")) ?? "";
  const filled = example.replace("123456:...", "123456:abcdefghijklmnopqrstuvwxyz").replaceAll("...", "key");
  const lines = filled.trim().split("\n");
  const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/).slice(0, 2)));
  const { rules, warnings } = loadConfig({ env, cwd: root, readFile: () => undefined });
  expect(rules.destinations.map(({ name }) => name)).toEqual([
    "telegram:-1001234567890",
    "telegram:-1009876543210",
    "email",
  ]);
  expect(warnings).toEqual([]);
});
