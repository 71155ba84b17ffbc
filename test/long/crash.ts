import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

/** The journey through kills (test/journey/crash.test.ts), with more of them. */
export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({ args: [...args], options: { kills: { type: "string", default: "200" } } });
  const env = { ...process.env, CRASH_KILLS: values.kills };
  const { status } = spawnSync("npx", ["vitest", "run", "test/journey/crash.test.ts"], { env, stdio: "inherit" });
  return status === 0;
}
