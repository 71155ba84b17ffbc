import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

/** The journey of one key through kills (test/journey/crash-rings.test.ts), with more of them. */
export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({ args: [...args], options: { kills: { type: "string", default: "50" } } });
  const env = { ...process.env, RING_KILLS: values.kills };
  const { status } = spawnSync("npx", ["vitest", "run", "test/journey/crash-rings.test.ts"], { env, stdio: "inherit" });
  return status === 0;
}
