// The browser tests use Debian's Chromium, and the test of power cuts records the relay with strace. Missing tools are
// installed for root on Debian. On other machines a line says how. The oldest supported PostgreSQL is fetched.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { findChromium } from "./chromium.mjs";
import { fetchBuild } from "./postgres-builds.mjs";

const tools = [
  {
    packages: ["chromium-headless-shell", "fonts-dejavu-core"],
    isThere: () => findChromium() !== undefined,
    without:
      "The browser tests need Chromium and will fail: sudo apt-get install chromium-headless-shell, or set CHROMIUM_PATH to one.",
  },
  {
    platform: "linux",
    packages: ["strace"],
    isThere: () => ["/usr/bin/strace", "/usr/local/bin/strace"].some((place) => existsSync(place)),
    without: "The test of power cuts needs strace and will fail: sudo apt-get install strace.",
  },
];
const isMissing = ({ platform = process.platform, isThere }) => platform === process.platform && !isThere();
const run = (command, ...args) => spawnSync(command, args, { stdio: ["ignore", "ignore", "inherit"] }).status === 0;

const packages = tools.filter(isMissing).flatMap((tool) => tool.packages);
if (packages.length > 0 && process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
  console.log(`Installing what the tests need (apt-get install ${packages.join(" ")}) …`);
  run("apt-get", "update", "-qq");
  run("apt-get", "install", "-y", "-qq", "--no-install-recommends", ...packages);
}
for (const { without } of tools.filter(isMissing)) console.error(without);
try {
  fetchBuild(14);
} catch (error) {
  console.error(`The tests of PostgreSQL 14 are left out: ${error.message}`);
}
