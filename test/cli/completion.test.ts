import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const yaml = `
destinations:
  desk: { type: ntfy, topic: desk }
  night-desk: { type: ntfy, topic: night }
sources: { github: {} }
`;

/** What bash offers at the end of a line, by the script and nothing else. */
async function offered(line: string): Promise<string[]> {
  const { stdout: script } = await runTocsin(["completion", "bash"]);
  const folder = makeTempFolder();
  writeFileSync(join(folder, "tocsin.yaml"), yaml);
  const names = async (of: string) =>
    (await runTocsin(["completion", "bash", "--names", of], { cwd: folder, env: { DATA_DIR: folder } })).stdout;
  // In the place of the program itself, which a script on a real machine finds in PATH.
  const program = `tocsin() { case $4 in destinations) printf '%s' '${await names("destinations")}' ;; sources) printf '%s' '${await names("sources")}' ;; esac; }`;
  const words = line.split(" ").map((word) => `'${word}'`);
  const ask = `COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _tocsin; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const text = execFileSync("bash", ["--norc", "-u", "-c", `${script}\n${program}\n${ask}`], { encoding: "utf8" });
  return text.split("\n").filter((word) => word !== "");
}

it.each<[string, string[]]>([
  ["tocsin al", ["alerts"]],
  ["tocsin alerts ta", ["tail"]],
  ["tocsin --json alerts re", ["resend", "release"]],
  ["tocsin alerts tail --sev", ["--severity"]],
  ["tocsin alerts tail --severity w", ["warning"]],
  ["tocsin alerts tail --severity = w", ["warning"]],
  ["tocsin alerts list --destination ", ["desk", "night-desk"]],
  ["tocsin destinations try n", ["night-desk"]],
  ["tocsin explain body.json --source ", ["github"]],
  ["tocsin completion z", ["zsh"]],
  ["tocsin alerts list --limit ", []],
])("bash offers behind %j: %j", async (line, words) => {
  expect(await offered(line)).toEqual(words);
});

it("gives scripts for zsh and fish with the same commands, and every option", async () => {
  for (const shell of ["zsh", "fish"]) {
    const { status, stdout } = await runTocsin(["completion", shell]);
    expect(status).toBe(0);
    for (const word of ["tocsin alerts resend", "webhook-off", "destinations"]) expect(stdout).toContain(word);
  }
  expect((await runTocsin(["completion", "csh"])).status).toBe(2);
});

it("offers no names, and says nothing, where the configuration has mistakes", async () => {
  const folder = makeTempFolder();
  writeFileSync(join(folder, "tocsin.yaml"), "destinations: [");
  const run = await runTocsin(["completion", "bash", "--names", "destinations"], { cwd: folder });
  expect(run).toMatchObject({ status: 0, stdout: "", stderr: "" });
});
