// Once it has got SIGUSR2, the process ends right before its next call: the claim is committed, and the journal of claims
// (src/delivery/memory/claim-journal.ts) still says that nothing was called.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

let isArmed = false;
process.on("SIGUSR2", () => {
  isArmed = true;
});
const { writeSync } = fs;
fs.writeSync = (descriptor, data, ...rest) => {
  if (isArmed && /^ {36}\n$/.test(data)) process.kill(process.pid, "SIGKILL");
  return writeSync(descriptor, data, ...rest);
};
syncBuiltinESMExports();
