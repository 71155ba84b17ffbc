import { createRequire } from "node:module";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken, createGoldenWorld, type GoldenWorld } from "../../goldens/world.ts";
import { openPage, type Page } from "../../support/browser.ts";
import { follow, openAt, serveWebFixture } from "../../support/web-server.ts";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** What can be seen and is closed. Not by a click on each, which takes a minute for the operations of the API. */
const openAll = `for (const summary of document.querySelectorAll("details:not([open]) > summary"))
  if (summary.checkVisibility()) summary.parentElement.open = true`;

/** Those of axe that look at colours, in which alone the dark pages differ from the light ones. */
const rulesOfColours = ["color-contrast", "link-in-text-block"];

/**
 * Rules of WCAG 2.2 A and AA, and good practice. Run in spite of the page's own policy, which lets no script in.
 *
 * @param runOnly default: all of them
 */
async function findViolations(page: Page, runOnly?: string[]): Promise<string[]> {
  const options = JSON.stringify({ resultTypes: ["violations"], runOnly });
  const violations = (await page.evaluate(
    `axe.run(document, ${options}).then((result) => result.violations)`,
  )) as Violation[];
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  );
}

/** A log with everything in it. */
let world: GoldenWorld;
beforeAll(async () => {
  world = await createGoldenWorld();
});
afterAll(() => world?.close());

// 180 px are a phone at 200 %, where only the width differs from the next.
test.each([180, 360, 1400])(
  "every page at %i px, light and dark: nothing for axe to find, nothing beyond the edge",
  async (width) => {
    const { ids, relay } = world;
    const url = relay.localUrl;
    const page = await openPage({ width });
    await page.addInitScript({ path: axePath });
    const problems: string[] = [];

    async function check(name: string): Promise<void> {
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      if (Number(overflow) > 0) problems.push(`${name} is ${overflow} px wider than the screen`);
      for (const colorScheme of width === 180 ? [] : (["dark", "light"] as const)) {
        await page.emulateMedia({ colorScheme });
        const violations = await findViolations(page, colorScheme === "dark" ? rulesOfColours : undefined);
        problems.push(...violations.map((violation) => `${name}, ${colorScheme}, ${violation}`));
      }
    }

    await page.goto(`${url}/login`);
    await check("login");
    await page.fill("input[name=token]", adminToken);
    await page.click("button.primary");
    for (const path of [
      ...[
        "/",
        "/?severity=info&state=failed&q=nothing",
        "/?source=forge",
        `/alerts/${ids.failed}`,
        "/resend?q=nothing",
      ],
      ...[`/alerts/${ids.failed}/resend`, "/resend", "/destinations", "/routes", "/system", "/mutes", "/shapes"],
      ...["/silence", "/gaps", "/setup", "/refused", "/refused?source=none", `/refused/${ids["refused 1"]}`, "/api"],
      ...["/nowhere", "/alerts/019aa5a0-7c3e-7d2a-9b1c-0242ac12ffff"],
    ]) {
      await page.goto(url + path);
      await page.evaluate(openAll);
      await check(path);
    }
    const { getAlert } = relay.store;
    relay.store.getAlert = () => Promise.reject(new Error("a fault of ours"));
    const failed = await page.goto(`${url}/alerts/${ids.failed}`);
    relay.store.getAlert = getAlert;
    expect(failed?.status()).toBe(500);
    await check("what failed");
    expect(problems).toEqual([]);
  },
);

test("on a phone the head of a page is one row of rooms, with the pages of the room below", async () => {
  const fixture = await serveWebFixture({});
  const reader = await follow(fixture.url, "/destinations", { width: 360, timezoneId: "Asia/Kolkata" });
  await reader.waitForSelector("#zone:visible");
  expect((await reader.locator(".rooms").boundingBox())?.height).toBeLessThan(60);
  const page = await openAt(fixture.url, "/gaps", { width: 360, javaScript: false });
  expect((await page.locator(".rooms").boundingBox())?.height).toBeLessThan(60);
  expect(await page.locator(".top nav a[aria-current]").textContent()).toBe("Watch");
  const links = page.locator(".pages a");
  expect(await links.allInnerTexts()).toEqual(["Account", "Gaps", "Silence", "Shapes", "Refused"]);
  await links.first().focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(`${fixture.url}/setup`);
  await page.click(".brand");
  await page.waitForURL(`${fixture.url}/system`);
  await page.click("main button:has-text('Log out')");
  await page.waitForURL(`${fixture.url}/login`);
});
