import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { openBrowser, type Page } from "../../support/browser.ts";
import { createTestClock } from "../../support/test-clock.ts";
import { adminToken } from "../../support/web-fixture.ts";
import { fillScene } from "../../support/web-scene.ts";
import { serveWebFixture } from "../../support/web-server.ts";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Rules of WCAG 2.2 A and AA, and good practice. Run beside the page's own policy, which lets no script in. */
async function findViolations(page: Page): Promise<string[]> {
  const violations = (await page.evaluate(
    `axe.run(document, {resultTypes: ["violations"]}).then((result) => result.violations)`,
  )) as Violation[];
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  );
}

test.each([
  [360, "light"],
  [360, "dark"],
  [1400, "light"],
  [1400, "dark"],
] as const)(
  "every page at %i px, %s: nothing for axe to find, nothing beyond the edge",
  async (width, colorScheme) => {
    const clock = createTestClock(Date.now() - 45 * 60_000);
    const fixture = await serveWebFixture({ clock });
    const { failedId } = await fillScene(fixture);
    const { openPage } = await openBrowser();
    const page = await openPage({ width, colorScheme });
    await page.addInitScript({ path: axePath });
    const problems: string[] = [];

    async function check(name: string): Promise<void> {
      problems.push(...(await findViolations(page)).map((violation) => `${name} ${violation}`));
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      if (Number(overflow) > 0) problems.push(`${name} is ${overflow} px wider than the screen`);
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
      "/mutes",
      "/setup",
      "/api",
    ]) {
      await page.goto(fixture.url + path);
      for (const summary of await page.$$("details:not([open]) > summary")) await summary.click();
      await check(path);
    }
    expect(problems).toEqual([]);
  },
  60_000,
);
