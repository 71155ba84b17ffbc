import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { knownVariables } from "../../src/config/env-names.ts";
import { loadConfig } from "../../src/config/load-config.ts";
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
  expect([...knownVariables].sort()).toEqual([...asked].sort());
});

test("every variable of .env.example is one, and it has each that a relay reads", () => {
  const named = [...readText(".env.example").matchAll(/^(?:# )?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => name === undefined || !asked.has(name))).toEqual([]);
  // The rest is set by systemd, by Fly.io or for a terminal, or is for the sandbox and the tests alone.
  const notOfARelay = /^(LISTEN_|FLY_|SANDBOX_|NO_COLOR$|FORCE_COLOR$|TERM$|PATH$|CHROMIUM_PATH$)/;
  const missing = knownVariables.filter((name) => !named.includes(name) && !notOfARelay.test(name));
  expect(missing).toEqual([]);
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
