import { existsSync } from "node:fs";

/** Without windows first: it takes half the processor time of one that has them. */
const places = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** The browser of the tests and of the README's pictures: that of `CHROMIUM_PATH`, or else one of this machine. */
export function findChromium() {
  return [process.env.CHROMIUM_PATH, ...places].find((place) => place && existsSync(place));
}
