// Runs the conformance of PostgreSQL and the tests of its store on one version after another: `npm run
// test:postgres-versions`, or on some with `-- 15 17`. `npm test` covers 18, and a short form of 14.
import { spawnSync } from "node:child_process";
import { builds, fetchBuild } from "./postgres-builds.mjs";

const installed = 18;
const tests = ["test/conformance/postgres-store.test.ts", "test/store/postgres"];
/** A version could not be fetched; no test has failed. */
const notFetched = 3;

const known = [...Object.keys(builds).map(Number), installed];
const asked = process.argv.slice(2).map(Number);
const unknown = asked.filter((major) => !known.includes(major));
if (unknown.length > 0) {
  console.error(`Only the versions ${known.join(", ")} are known.`);
  process.exit(2);
}
let status = 0;
for (const major of asked.length > 0 ? asked : known) {
  let build = "";
  try {
    if (major !== installed) build = fetchBuild(major);
  } catch (error) {
    console.error(`PostgreSQL ${major} was NOT TRIED: ${error.message}`);
    status ||= notFetched;
    continue;
  }
  console.log(`PostgreSQL ${major}:`);
  const env = { ...process.env, TOCSIN_TEST_POSTGRES: build };
  const run = spawnSync("npx", ["vitest", "run", "--project", "shared process", ...tests], { env, stdio: "inherit" });
  if (run.status !== 0) status = 1;
}
process.exitCode = status;
