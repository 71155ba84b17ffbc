// The closing line of a CI run, counted from vitest's JSON report. Fails when anything failed, was skipped or never
// ran.
import { readFileSync } from "node:fs";

const [, , path, testStatus, restStatus] = process.argv;
let report;
try {
  report = JSON.parse(readFileSync(path, "utf8"));
} catch {
  report = undefined;
}
const passed = report?.numPassedTests ?? 0;
const failed = (report?.numFailedTests ?? 0) + (report?.numFailedTestSuites && !report.numFailedTests ? 1 : 0);
const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);

if (restStatus !== "0") console.error("Format, lint, types, dead code or the bench did not pass; see above.");
if (testStatus !== "0") console.error("The test command did not end well; see above.");
if (skipped > 0) console.error(`${skipped} tests were skipped: a skipped test proves nothing.`);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = testStatus === "0" && restStatus === "0" && passed > 0 && failed === 0 && skipped === 0 ? 0 : 1;
