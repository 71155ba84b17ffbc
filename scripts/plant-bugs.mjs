// `npm run test:planted`: plants a bug in a copy of the built program and expects a test to find it: that of crashes, of
// power cuts, or of leases. A test that cannot fail proves nothing. Last come the bugs of several relays (test/relays/planted.ts), which the
// journey of kills has to find. Takes some twelve minutes; needs a build.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const bugs = [
  {
    name: "hands a mail over behind its lease",
    file: "src/vendors/email/session.ts",
    from: "if (mayCall?.() === false) {",
    to: "if (signal.aborted) {",
    test: "test/vendors/email.test.ts",
  },
  {
    name: "writes a request behind its lease",
    file: "src/vendors/http/exchange.ts",
    from: "if (mayCall?.() === false) onAbort();",
    to: "if (signal.aborted) onAbort();",
    test: "test/vendors/http/transport.test.ts",
  },
  {
    name: "answers before the commit",
    file: "dist/intake/door/door.js",
    from: "const acceptance = await store.acceptRequest(toIncoming(request, source, signedKey, body));",
    to: 'const incoming = toIncoming(request, source, signedKey, body); store.acceptRequest(incoming).catch(() => {}); const acceptance = { kind: "accepted", ids: incoming.ids, conflict: false };',
  },
  {
    name: "repeats without the mark",
    file: "dist/delivery/lane/compose.js",
    from: "repeat: deliveries.some((delivery) => delivery.ambiguous > 0)",
    to: "repeat: false",
  },
  {
    name: "syncs no commit",
    file: "dist/store/sqlite/open-database.js",
    from: "requireFullSync(db);",
    to: 'db.pragma("synchronous = OFF");',
    test: "test/power/power.test.ts",
  },
  {
    name: "syncs no claim",
    file: "dist/store/sqlite/group-commit.js",
    from: "begin.run();",
    to: 'db.pragma("synchronous = " + (calls.every(({ name }) => name.startsWith("claim")) ? "OFF" : "FULL")); begin.run();',
    test: "test/power/power.test.ts",
  },
];

const copied = [
  "bin",
  "dist",
  "scripts",
  "src",
  "test",
  "workshop",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
];

/** Whether the test goes well in a copy of the program, with the bug if one is given. */
function passes(test, bug) {
  const folder = mkdtempSync(join(tmpdir(), "tocsin-planted-"));
  try {
    for (const name of copied) cpSync(name, join(folder, name), { recursive: true });
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    if (bug) plant(bug, join(folder, bug.file));
    // What runs is the bundle.
    spawnSync(process.execPath, [resolve("scripts/bundle.mjs")], { cwd: folder, stdio: "inherit" });
    return spawnSync("npx", ["vitest", "run", test], { cwd: folder, stdio: "ignore" }).status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function plant({ name, file, from, to }, path) {
  const code = readFileSync(path, "utf8");
  if (!code.includes(from)) throw new Error(`${file} has changed: the bug "${name}" cannot be planted`);
  writeFileSync(path, code.replace(from, to));
}

const testOf = ({ test = "test/journey/crash.test.ts" }) => test;
// A copy in which no test can run would find every bug.
for (const test of new Set(bugs.map(testOf))) {
  if (!passes(test)) throw new Error(`${test} fails where no bug is planted`);
}
let missed = 0;
for (const bug of bugs) {
  const isMissed = passes(testOf(bug), bug);
  console.log(`${isMissed ? "MISSED" : "found "} ${bug.name}`);
  if (isMissed) missed += 1;
}
const relays = spawnSync("npx", ["tsx", "test/relays/run.ts", "--planted"], { stdio: "inherit" });
process.exitCode = missed === 0 && relays.status === 0 ? 0 : 1;
