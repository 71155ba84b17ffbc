import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { runTocsin, startProgram } from "./cli.ts";
import { makeTempFolder } from "./temp-folder.ts";

const hook = fileURLToPath(new URL("./kill-at.mjs", import.meta.url));
const bin = fileURLToPath(new URL("../../bin/tocsin.js", import.meta.url));

/**
 * The built program as a process, killed before its step `killAt` (kill-at.mjs says what a step is), or never with 0. Says then how many
 * steps there were.
 */
export async function runOnce(
  argv: string[],
  env: NodeJS.ProcessEnv,
  killAt: number,
): Promise<{ killed: boolean; said: string }> {
  const { child, ended } = startProgram(["--import", hook, bin, ...argv], {
    env: { ...env, KILL_AT: String(killAt) },
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stdio[3]?.on("data", (chunk) => {
    said += chunk;
  });
  const { status, stderr } = await ended;
  const killed = child.signalCode === "SIGKILL";
  if (status !== 0 && !killed) throw new Error(`${argv.join(" ")} ended with ${status}: ${stderr}`);
  return { killed, said };
}

/** `TOCSIN_KILL_STEPS=all` tries each step. */
const triesAll = process.env.TOCSIN_KILL_STEPS === "all";

/**
 * Runs a command of the built program as if it were killed before its steps in turn (kill-at.mjs says what a step is), and then to
 * its end where that left off. The command runs once as a process: what a kill leaves is a copy of the folder at that moment, which
 * is put in its place. Each tenth is tried of the steps that leave the folder with the same files as the one before. `check` looks
 * at the folder after each.
 */
export async function killAtSteps(
  argv: string[],
  dataDir: string,
  check: (when: "killed" | "done") => Promise<void> | void,
): Promise<void> {
  const [env, leftBehind] = [{ DATA_DIR: dataDir }, makeTempFolder()];
  const steps = Number((await runOnce(argv, { ...env, LEFT_BEHIND: leftBehind }, 0)).said);
  await check("done");
  expect(steps).toBeGreaterThan(10);
  let before = "";
  for (let at = 1; at <= steps; at += 1) {
    const names = readdirSync(join(leftBehind, String(at)))
      .sort()
      .join();
    const isTried = triesAll || names !== before || at % 10 === 0;
    before = names;
    if (!isTried) continue;
    rmSync(dataDir, { recursive: true });
    renameSync(join(leftBehind, String(at)), dataDir);
    await check("killed");
    expect(await runTocsin(argv, { env }), `behind step ${at} of ${steps}`).toMatchObject({ status: 0 });
    await check("done");
  }
}
