import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { expect, it } from "vitest";
import { planEnvFile, writeEnvFile } from "../../src/config/env-file.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const planIn = async (text: string, values: Record<string, string>) => {
  const cwd = makeTempFolder();
  writeFileSync(join(cwd, ".env"), text);
  const change = await planEnvFile(cwd, values);
  await writeEnvFile(change);
  return readFileSync(join(cwd, ".env"), "utf8");
};

it.each([
  ["", "A=1\n"],
  ["B=2", "B=2\nA=1\n"],
  ["A=0\n# A=5\nB=2\nexport A='7'\nC=3\n", "A=0\n# A=5\nB=2\nexport A=1\nC=3\n"],
  ["A=0 # the desk's bot\nB=2", "A=1 # the desk's bot\nB=2"],
  ["  export A='x # y'  # why\n", "  export A=1  # why\n"],
  ["A= # none yet\n", "A=1 # none yet\n"],
  ["A=secret#more\n", "A=1\n"],
  ["A='secret #more'\n", "A=1\n"],
  ["A=1\nB=2", "A=1\nB=2"],
])(".env %j becomes %j: only the variable's own line changes", async (before, after) => {
  expect(await planIn(before, { A: "1" })).toBe(after);
});

it.each(["a b", "x#y", "it's", 'say "it\'s"', "smtps://u:p%20@host", "Tocsin <a@b.example>", ""])(
  ".env gives %j back as it was given",
  async (value) => {
    expect(parseEnv(await planIn("B=2\n", { A: value }))).toEqual({ A: value, B: "2" });
  },
);

it(".env is left alone where a change would make something else of it", async () => {
  const key = "KEY='-----BEGIN\nA=0\n-----END'\n";
  await expect(planIn(key, { A: "1" })).rejects.toThrow("cannot be changed safely");
  await expect(planIn("", { A: "one\ntwo" })).rejects.toThrow("no line of .env can carry");
});
