import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { runTocsin } from "./cli.ts";

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
  const child = spawn(process.execPath, ["--import", hook, bin, ...argv], {
    env: { PATH: process.env.PATH, ...env, KILL_AT: String(killAt) },
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  let [said, complaints] = ["", ""];
  child.stdio[3]?.on("data", (chunk) => {
    said += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    complaints += chunk;
  });
  const [code, signal] = await once(child, "close");
  if (code !== 0 && signal !== "SIGKILL") throw new Error(`${argv.join(" ")} ended with ${code}: ${complaints}`);
  return { killed: signal === "SIGKILL", said };
}

/**
 * Runs a command of the built program in a world that `prepare` makes anew each time, killed before each of its steps in
 * turn (kill-at.mjs says what a step is), and then to its end in that same world. `check` looks at the world after each.
 */
export async function killAtEachStep<World extends { env: NodeJS.ProcessEnv }>(
  argv: (world: World) => string[],
  prepare: () => Promise<World> | World,
  check: (world: World, when: "killed" | "done") => Promise<void> | void,
): Promise<void> {
  const first = await prepare();
  const steps = Number((await runOnce(argv(first), first.env, 0)).said);
  await check(first, "done");
  expect(steps).toBeGreaterThan(10);
  for (let at = 1; at <= steps; at += 1) {
    const world = await prepare();
    expect((await runOnce(argv(world), world.env, at)).killed, `at step ${at} of ${steps}`).toBe(true);
    await check(world, "killed");
    expect(await runTocsin(argv(world), { env: world.env })).toMatchObject({ status: 0 });
    await check(world, "done");
  }
}
