import { existsSync } from "node:fs";

/** The windowless browser first: it takes half the processor time of the other. */
const places = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** The browser for tests and the README's pictures: from `CHROMIUM_PATH`, or one of this machine. */
export function findChromium() {
  return [process.env.CHROMIUM_PATH, ...places].find((place) => place && existsSync(place));
}
