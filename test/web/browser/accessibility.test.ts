import { createRequire } from "node:module";
import { expect, test } from "vitest";
import type { SourceView } from "../../../src/contract/operations.ts";
import type { RefusedRequest } from "../../../src/core/ports/refused.ts";
import { Secret } from "../../../src/core/secret.ts";
import { openPage, type Page } from "../../support/browser.ts";
import { createTestClock } from "../../support/test-clock.ts";
import { adminToken } from "../../support/web-fixture.ts";
import { fillScene } from "../../support/web-scene.ts";
import { serveWebFixture } from "../../support/web-server.ts";

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

const refusedId = "019aa5a0-7c3e-7d2a-9b1c-0242ac120002";
const sources: SourceView[] = [
  {
    name: "forge",
    accepted: 3,
    lastAcceptedAt: 1,
    checks: ["addresses 203.0.113.0/24 2001:db8::/32", "hmac of x-signature"],
    refused: { wrong_signature: 13 },
    lastRefusedAt: 2,
    account: {
      canPutBack: true,
      answer: { at: 1, name: "Treasury", webhook: "elsewhere", webhookAddress: "https://x.example/…" },
    },
  },
];

const refused = (receivedAt: number): RefusedRequest[] =>
  [refusedId, "019aa5a0-7c3e-7d2a-9b1c-0242ac120003"].map((id, index) => ({
    id,
    source: "forge",
    receivedAt,
    reason: "wrong_signature",
    detail: "no v1 in stripe-signature is one of this source's",
    address: "2001:db8:1234:5678:9abc:def0:1234:5678",
    contentType: "application/json",
    headers: `[["x-very-long-header-of-a-proxy-before-it","${"v".repeat(300)}"]]`,
    body: Buffer.from(JSON.stringify({ title: "t".repeat(400) })),
    items: 1,
    unkept: 1_000 * index,
  }));

// 180 px are a phone at 200 %, where only the width differs from the next.
test.each([180, 360, 1400])(
  "every page at %i px, light and dark: nothing for axe to find, nothing beyond the edge",
  async (width) => {
    const clock = createTestClock(Date.now() - 45 * 60_000);
    const hook = new Secret(`https://alerts.example.com/hooks/${"canary".repeat(7)}`);
    const fixture = await serveWebFixture({ clock, sources, sourceHooks: () => [{ name: "forge", url: hook }] });
    for (const one of refused(clock.now())) await fixture.store.recordRefused(one);
    const { failedId } = await fillScene(fixture);
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

    await page.goto(`${fixture.url}/login`);
    await check("login");
    await page.fill("input[name=token]", adminToken);
    await page.click("button.primary");
    for (const path of [
      "/",
      "/?severity=info&state=failed&q=nothing",
      `/alerts/${failedId}`,
      `/alerts/${failedId}/resend`,
      "/resend",
      "/resend?q=nothing",
      "/destinations",
      "/routes",
      "/system",
      "/mutes",
      "/shapes",
      "/silence",
      "/gaps",
      "/setup",
      "/?source=forge",
      "/refused",
      "/refused?source=none",
      `/refused/${refusedId}`,
      "/api",
      "/nowhere",
      "/alerts/019aa5a0-7c3e-7d2a-9b1c-0242ac12ffff",
    ]) {
      await page.goto(fixture.url + path);
      await page.evaluate(openAll);
      await check(path);
    }
    fixture.store.getAlert = () => Promise.reject(new Error("a fault of ours"));
    expect((await page.goto(`${fixture.url}/alerts/${failedId}`))?.status()).toBe(500);
    await check("what failed");
    expect(problems).toEqual([]);
  },
);

test("on a phone the head of a page is one row of rooms, with the pages of the room below", async () => {
  const fixture = await serveWebFixture({});
  const reader = await openPage({ width: 360, timezoneId: "Asia/Kolkata" });
  await reader.goto(`${fixture.url}/login`);
  await reader.fill("input[name=token]", adminToken);
  await reader.click("button.primary");
  await reader.goto(`${fixture.url}/destinations`);
  await reader.waitForSelector("#zone:visible");
  await reader.waitForSelector("body[data-stream=open]");
  expect((await reader.locator(".rooms").boundingBox())?.height).toBeLessThan(60);
  const page = await openPage({ width: 360, javaScript: false });
  await page.goto(`${fixture.url}/login`);
  await page.fill("input[name=token]", adminToken);
  await page.click("button.primary");
  await page.goto(`${fixture.url}/gaps`);
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
