/**
 * Takes pictures of all pages of the goldens' world, at the width of a phone and of a desk, light and dark:
 * `npm run pictures:pages -- FOLDER`. Two folders, before and after a change, are then looked at side by side.
 */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { findChromium } from "../../scripts/chromium.mjs";
import { adminToken, createGoldenWorld } from "./world.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("say where the pictures go: npm run pictures:pages -- FOLDER");

const world = await createGoldenWorld();
const { ids } = world;
const pages: Record<string, string> = {
  ...{ log: "/", "log-of-failed": "/?state=failed", "log-empty": "/?q=nothing", "log-by-key": "/?view=keys" },
  ...Object.fromEntries(
    "destinations routes mutes silence gaps shapes refused setup system api"
      .split(" ")
      .map((page) => [page, `/${page}`]),
  ),
  "refused-one": `/refused/${ids["refused 1"]}`,
  ...{ resend: "/resend", "resend-one": `/alerts/${ids.failed}/resend`, "not-found": "/nowhere" },
};
for (const name of ["failed", "fallback", "muted", "held", "unreadable", "repeat", "edited", "unmatched"])
  pages[`alert-${name}`] = `/alerts/${ids[name]}`;

const browser = await chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox", "--disable-gpu"] });
try {
  for (const [width, height] of [
    [390, 844],
    [1440, 900],
  ] as const) {
    for (const colorScheme of ["light", "dark"] as const) {
      const to = join(resolve(folder), `${width}-${colorScheme}`);
      mkdirSync(to, { recursive: true });
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme,
        timezoneId: "Europe/Zurich",
      });
      const page = await context.newPage();
      await page.clock.setFixedTime(world.now());
      await page.goto(`${world.relay.localUrl}/login`);
      await page.screenshot({ path: join(to, "login.png") });
      await page.fill("input[name=token]", adminToken);
      await page.click("button.primary");
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(world.relay.localUrl + path);
        // The first view says how much is seen without scrolling.
        if (name === "log") await page.screenshot({ path: join(to, "log-first-view.png") });
        await page.screenshot({ path: join(to, `${name}.png`), fullPage: true });
      }
      await context.close();
      console.log(to);
    }
  }
} finally {
  await browser.close();
  await world.close();
}
