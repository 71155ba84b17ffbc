import { spawnSync } from "node:child_process";

/** Tests of `npm test` that try some of what they could, and the variables with which they try all of it, or much more. */
const more = {
  TOCSIN_COST_BODIES: "5000",
  TOCSIN_COST_BYTES: "1048576",
  TOCSIN_CRASH_KILLS: "200",
  TOCSIN_FUZZ_EXCHANGES: "20000",
  TOCSIN_GROWTH_BYTES: "1048576",
  TOCSIN_KILL_STEPS: "all",
  TOCSIN_RESTARTS: "20",
  TOCSIN_RING_KILLS: "50",
  TOCSIN_WALKS: "1000",
};
const tests = [
  "test/cli/repair.test.ts",
  "test/cli/restore.test.ts",
  "test/journey/crash-rings.test.ts",
  "test/journey/crash.test.ts",
  "test/journey/held-socket.test.ts",
  "test/journey/restarts.test.ts",
  "test/ringing/walks.test.ts",
  "test/security/cost-fuzz.test.ts",
  "test/security/fuzz.test.ts",
  "test/security/growth.test.ts",
];

export async function run(): Promise<boolean> {
  const env = { ...process.env, ...more };
  const { status } = spawnSync("npx", ["vitest", "run", "--no-file-parallelism", ...tests], { env, stdio: "inherit" });
  return status === 0;
}
