// The browser tests drive Debian's Chromium. As root on Debian it is installed here; elsewhere one line says how.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const places = [process.env.CHROMIUM_PATH, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const found = () => places.find((place) => place && existsSync(place));
const run = (command, ...args) => spawnSync(command, args, { stdio: ["ignore", "ignore", "inherit"] }).status === 0;

if (!found() && process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
  console.log("Installing Chromium for the browser tests (apt-get install chromium) …");
  run("apt-get", "update", "-qq");
  run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core");
}
if (!found()) {
  console.error(
    "The browser tests need Chromium and will fail: sudo apt-get install chromium, or set CHROMIUM_PATH to one.",
  );
}
