// Takes the README's pictures from the demo: npm run pictures. Look at each before you commit it.
import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { findChromium } from "./chromium.mjs";
import { shrinkPng } from "./shrink-png.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const chromiumPath = findChromium();
const mostBytes = 100_000;
const shownToken = "WETH";

class Failure extends Error {}
function fail(message) {
  throw new Failure(message);
}
process.on("uncaughtException", (error) => {
  console.error(error instanceof Failure ? `error: ${error.message}` : error);
  process.exitCode = 1;
});

if (chromiumPath === undefined) {
  fail("There is no Chromium: sudo apt-get install chromium-headless-shell, or set CHROMIUM_PATH");
}
const fonts = spawnSync("fc-list", [":lang=und-zsye", "family"], { encoding: "utf8" }).stdout ?? "";
if (fonts.trim() === "") {
  fail("There is no font with emoji, so severities would be empty boxes: sudo apt-get install fonts-noto-color-emoji");
}

const demo = spawn(process.execPath, ["bin/tocsin.js", "demo", "--port", "0", "--json"], {
  cwd: root,
  stdio: ["ignore", "pipe", "inherit"],
});
const browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const links = await linksOf(demo);
  await takeAll(links, await fillWithAlerts(links));
} finally {
  await browser.close();
  demo.kill("SIGTERM");
}

/** Reads the demo's output, printed once it runs. */
async function linksOf(child) {
  let said = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    said += chunk;
    try {
      return JSON.parse(said).data;
    } catch {
      // The output is not complete yet.
    }
  }
  return fail("The demo ended before it said where it is");
}

/** Sends alerts with names and values that people know, next to the demo's own. Returns the id of the last. */
async function fillWithAlerts({ service, token, page }) {
  const api = new URL(page).origin;
  const control = `${service}_sandbox`;
  const fire = async (metricKey, alert) => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ metricKey, ...alert });
    const answer = await fetch(`${control}/fire`, { method: "POST", headers, body });
    if (!answer.ok) fail(`The service refused an alert: ${await answer.text()}`);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
  };
  // The demo begins with alerts of another form.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const { key, value } = await metricOf(service);
  const threshold = Number((value * 1.015).toPrecision(2));
  const [above, below] = [Math.round(threshold * 1.012), Math.round(threshold * 0.992)];
  const low = { condition: "below", threshold };
  await fire(key, { ...low, severity: "warning", value: below, previousValue: above });
  await fire(key, { ...low, severity: "warning", status: "resolved", value: above, previousValue: below });
  await fire(key, { ...low, severity: "critical", value: Math.round(value), previousValue: above });
  for (let look = 0; look < 60; look += 1) {
    const answer = await fetch(`${api}/api/alerts?limit=100`, { headers: { authorization: `Bearer ${token}` } });
    const { data } = await answer.json();
    const busy = data.filter(({ deliveries }) =>
      deliveries.some(({ state }) => state !== "sent" && state !== "digested"),
    );
    const shown = data.find(({ severity, title }) => severity === "critical" && title.startsWith(shownToken));
    if (busy.length === 0 && shown !== undefined) return shown.id;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  return fail(`The alert of ${shownToken} was not sent within a minute`);
}

/** A metric with a known name, and its present value in the market. */
async function metricOf(service) {
  const html = await (await fetch(service)).text();
  const [, key = ""] = /name="key" value="([^"]+)"/.exec(html) ?? [];
  const answer = await fetch(`${service}alerting/metrics?chainId=eth&page=1`, { headers: { authorization: key } });
  const { data } = await answer.json();
  return data.find(({ type, tokenSymbol }) => type === "token_total_tvl" && tokenSymbol === shownToken) ?? data[0];
}

async function takeAll({ page: login, chat }, shownId) {
  const desktop = await browser.newContext({ viewport: { width: 1280, height: 800 }, timezoneId: "Europe/Zurich" });
  const page = await desktop.newPage();
  await page.goto(login);
  if (await page.getByRole("button").first().isVisible()) await page.getByRole("button").first().click();
  await page.waitForSelector(`text=${shownToken}`);
  await page.getByRole("link", { name: "1 h", exact: true }).click();
  await settle(page);
  await take(page, "log-page");
  await page.goto(`${new URL(login).origin}/alerts/${shownId}`);
  await settle(page);
  await take(page, "alert-page", 1_000);

  const phone = await browser.newContext({
    viewport: { width: 390, height: 1_400 },
    colorScheme: "dark",
    timezoneId: "Europe/Zurich",
  });
  const chatPage = await phone.newPage();
  await chatPage.goto(chat);
  await settle(chatPage);
  const message = chatPage.locator(".message", { hasText: new RegExp(`${shownToken} TVL .*below`) }).last();
  keep("phone", await message.screenshot());
}

/** Waits for pictures that a page loads after itself. */
async function settle(page) {
  await page.waitForTimeout(2_500);
}

async function take(page, name, height = 800) {
  await page.setViewportSize({ width: 1280, height });
  keep(name, await page.screenshot());
}

function keep(name, screenshot) {
  const path = `docs/images/${name}.png`;
  const png = shrinkPng(screenshot);
  writeFileSync(root + path, png);
  console.log(`${path}: ${Math.round(png.length / 1000)} KB`);
  if (png.length >= mostBytes) fail(`${path} is over ${mostBytes / 1000} KB: take a smaller part of the page`);
}
