#!/usr/bin/env node
// Plain code for any Node: a faulty installation gives one line, not a stack.
import { existsSync } from "node:fs";
import { isatty } from "node:tty";

// SIGHUP takes a changed file over: it must not end a relay that has not read the file yet. A closed terminal sends it too.
if (process.argv.includes("serve") && !isatty(0)) process.on("SIGHUP", () => {});

const [major, minor] = process.versions.node.split(".").map(Number);
const hasBuild = existsSync(new URL("../dist/bundle/main.js", import.meta.url));
const hasSource = existsSync(new URL("../src/main.ts", import.meta.url));

if (major < 20 || (major === 20 && minor < 19)) {
  refuse(
    `Tocsin needs Node.js 20.19 or newer; this is ${process.versions.node}.`,
    "install a current long-term release of Node.js",
  );
} else if (!hasBuild) {
  refuse(
    "Tocsin is not built yet.",
    hasSource
      ? "run: npm run build (npm start and npm run demo do it by themselves)"
      : "install it again: the folder dist is missing",
  );
} else {
  await import("../dist/bundle/main.js").catch(refuseIncomplete);
}

/** Packages that an interrupted npm ci has taken away, or a build that did not end. */
function refuseIncomplete(error) {
  if (!/^(ERR_)?MODULE_NOT_FOUND$/.test(error?.code)) throw error;
  const [missing] = error.message.split(/\n| imported from /);
  refuse(
    `Tocsin is not installed completely: ${missing}.`,
    hasSource ? "run: npm ci && npm run build" : "install it again",
  );
}

/** Reports in the form of `reportFailure`, which cannot be loaded here. */
function refuse(message, hint) {
  process.stderr.write(`error: ${message}\nhint:  ${hint}\n`);
  if (process.argv.includes("--json")) {
    process.stdout.write(`${JSON.stringify({ error: { code: "failed", message, hint } })}\n`);
  }
  process.exitCode = 1;
}
