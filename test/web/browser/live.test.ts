import { expect, test } from "vitest";
import { loginLink } from "../../../src/contract/login-link.ts";
import { Secret } from "../../../src/core/secret.ts";
import { openPage, type Page } from "../../support/browser.ts";
import { adminToken, attempt } from "../../support/web-fixture.ts";
import { follow, live, openAt, serveWebFixture } from "../../support/web-server.ts";

const titles = (page: Page) => page.$$eval("#rows .what > a", (links) => links.map((link) => link.textContent));

/** The log's next looks at the relay wait until `release`: what happens meanwhile is one burst to it. */
async function holdLooks(page: Page): Promise<{ release(): Promise<void> }> {
  let resume = () => {};
  const held = new Promise<void>((resolve) => {
    resume = resolve;
  });
  const isLog = (address: URL) => address.pathname === "/";
  await page.route(isLog, async (route) => {
    await held;
    await route.continue();
  });
  return {
    async release() {
      resume();
      await page.unroute(isLog);
    },
  };
}

test("new alerts come in at the top by themselves, and nothing that is read moves; keys do what they say", async () => {
  const { url, addAlert } = await serveWebFixture();
  for (let round = 0; round < 40; round += 1)
    await addAlert({ facts: { title: `Old ${round}`, alertKey: `k${round}` } });
  const page = await follow(url, "/", { height: 500 });
  await addAlert({ facts: { title: "At the top", alertKey: "top" } });
  await page.waitForSelector("#rows tr:nth-child(2):has-text('At the top')");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]:has-text('search')");
  await page.keyboard.press("Escape");
  // It closes a moment later, and its box keeps the focus, and so the keys, until the browser has drawn once more.
  const holdsKeys = "document.querySelector('dialog[open]') ?? document.activeElement.closest('dialog')";
  await expect.poll(() => page.evaluate(`(${holdsKeys}) === null`)).toBe(true);
  for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Old 39");
  await page.evaluate("document.activeElement.blur(), scrollTo(0, 900)");
  const placeOf =
    "[...document.querySelectorAll('#rows tr')].find((row) => row.textContent.includes('Old 20')).getBoundingClientRect().top";
  const before = await page.evaluate(placeOf);
  await addAlert({ facts: { title: "Unseen", alertKey: "unseen" } });
  await page.waitForSelector("#news:has-text('1 new alert')");
  expect(Math.abs(Number(await page.evaluate(placeOf)) - Number(before))).toBeLessThan(2);
  expect(await page.title()).toBe("(1) What rang? · Tocsin");
  await page.click("#news");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Unseen");
  expect(await page.title()).toBe("What rang? · Tocsin");
  await page.keyboard.press("/");
  await page.keyboard.type("token:USDC j k");
  expect(await page.inputValue("input[type=search]")).toBe("token:USDC j k");
});

test("what the market does comes to an alert's page behind its picture, and without script with the next look", async () => {
  let line: string | undefined;
  const { url, addAlert } = await serveWebFixture({
    metricHistory: async () => [],
    market: {
      known: () => line,
      describe: async () => {
        line = "1 h −0.4 %";
        return line;
      },
    },
  });
  const { id } = await addAlert({ facts: { metric: "eth_token_price_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48" } });
  const page = await openAt(url, `/alerts/${id}`);
  await page.waitForSelector("[data-live=market]:has-text('The market: 1 h −0.4 %')");
  const still = await openAt(url, `/alerts/${id}`, { javaScript: false });
  expect(await still.textContent("[data-live=market]")).toBe("The market: 1 h −0.4 %");
});

test("while paused, new alerts are announced and shown when asked for; states change in place", async () => {
  const { url, addAlert, store, clock } = await serveWebFixture();
  await addAlert({ facts: { title: "First" } });
  const page = await follow(url, "/?view=events");

  await attempt(store, "ops", clock.now(), { outcome: "sent", next: { state: "sent", reason: "taken" } });
  await page.waitForSelector("tr:has-text('First') .all-sent:has-text('1 sent')");

  await page.click("#pause");
  await addAlert({ facts: { title: "Second" } });
  await addAlert({ facts: { title: "Third" } });
  await page.waitForSelector("#news:has-text('2 new alerts')");
  expect(await page.title()).toBe("(2) What rang? · Tocsin");
  expect(await titles(page)).toEqual(["First"]);
  await page.click("#news");
  expect(await titles(page)).toEqual(["Third", "Second", "First"]);
  expect(await page.isHidden("#news")).toBe(true);
  expect(await page.title()).toBe("What rang? · Tocsin");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Third");
});

test("a row that new ones have pushed below the first page goes on changing", async () => {
  const { url, addAlert, store, clock } = await serveWebFixture();
  await addAlert({ facts: { title: "First" } });
  const page = await follow(url, "/?view=events");
  for (const title of ["Second", "Third"]) {
    for (let count = 0; count < 29; count += 1) await addAlert({ deliveries: [] });
    await addAlert({ facts: { title }, deliveries: [] });
    await page.waitForSelector(`#rows:has-text('${title}')`);
  }
  expect(await page.$$("#rows tr[data-alert]")).toHaveLength(61);
  await attempt(store, "ops", clock.now(), { outcome: "sent", next: { state: "sent", reason: "taken" } });
  await page.waitForSelector("tr:has-text('First') .all-sent:has-text('1 sent')");
  expect(await page.$$("#rows .gone")).toHaveLength(0);
});

test("what was opened on a card stays open while its counts change, and a test is followed to its end", async () => {
  const { url, addAlert, store, clock } = await serveWebFixture();
  const page = await follow(url, "/destinations");
  const button = "button[aria-label='Send a test: ops']";
  await page.click("summary:has-text('Send a test… ops')");
  await addAlert();
  await page.waitForSelector("[data-live=destinations] a:has-text('1 queued')");
  expect(await page.isVisible(button)).toBe(true);
  expect(await page.isVisible("button[aria-label='Send a test: treasury']")).toBe(false);
  await page.click(button);
  await page.waitForSelector("[data-live=test]:has-text('on its way to ops')");
  await live(page);
  await attempt(store, "ops", clock.now(), { outcome: "sent", next: { state: "sent", reason: "" } });
  await page.waitForSelector("[data-live=test]:has-text('has reached ops')");
});

test("times and days are the reader's own, and UTC one press away", async () => {
  const { url, addAlert, clock } = await serveWebFixture();
  await clock.advance(5 * 3_600_000);
  await addAlert();
  const page = await openAt(url, "/", { timezoneId: "Asia/Singapore" });
  const shown = () => page.$$eval(".day, .when", (cells) => cells.map((cell) => cell.textContent?.trim()));
  expect(await shown()).toEqual([expect.stringContaining("Sun 22 Nov 2026 GMT+8"), "01:00:00"]);
  expect(await page.inputValue("input[name=from]")).toBe("");
  await page.click("#zone");
  expect(await shown()).toEqual([expect.stringContaining("Sat 21 Nov 2026 UTC"), "17:00:00"]);
  await page.goto(`${url}/?from=2026-11-21T16:30:00Z`);
  expect(await shown()).toEqual([expect.stringContaining("Sat 21 Nov 2026 UTC"), "17:00:00"]);
  await page.click("#zone");
  expect(await page.inputValue("input[name=from]")).toBe("2026-11-22T00:30");
  await page.click("button:has-text('Search')");
  await page.waitForURL(/from=2026-11-21T16%3A30%3A00.000Z$/);
  expect(await shown()).toEqual([expect.stringContaining("Sun 22 Nov 2026 GMT+8"), "01:00:00"]);
});

test("the first alert appears by itself, and a newer one of its key takes the place of its row", async () => {
  const { url, addAlert } = await serveWebFixture();
  const page = await follow(url);
  await addAlert({ facts: { title: "First" } });
  await page.waitForSelector("#rows:has-text('First')");
  await addAlert({ facts: { title: "Other", alertKey: "other" } });
  await page.waitForSelector("#rows:has-text('Other')");
  await addAlert({ facts: { title: "First, resolved", status: "resolved" } });
  await page.waitForSelector("#rows:has-text('First, resolved')");
  expect(await titles(page)).toEqual(["First, resolved", "Other"]);
});

test("a twin of another severity joins the row that is there, whichever of both comes first", async () => {
  const { url, addAlert } = await serveWebFixture();
  const add = (title: string, severity: "critical" | "warning") =>
    addAlert({ facts: { title, severity, alertKey: `${title} ${severity}` } });
  const { id: mild } = await add("Mild first", "warning");
  await add("Severe first", "critical");
  const page = await follow(url);
  const { id: severe } = await add("Mild first", "critical");
  await add("Severe first", "warning");
  await page.waitForSelector("tr:has-text('Mild first'):has-text('warning'):has-text('critical')");
  await page.waitForSelector("tr:has-text('Severe first'):has-text('warning'):has-text('critical')");
  expect((await titles(page)).sort()).toEqual(["Mild first", "Severe first"]);
  await page.click("tr:has-text('Mild first') .how a");
  await page.waitForURL(`${url}/alerts/${mild}`);
  await page.goBack();
  await page.click("text=Mild first");
  await page.waitForURL(`${url}/alerts/${severe}`);
});

test("an alert that the filters leave out is not announced, and a row that they no longer let through says so", async () => {
  const { url, addAlert, store, clock } = await serveWebFixture();
  await addAlert();
  const page = await follow(url, "/?severity=critical&state=queued");
  await addAlert({ facts: { severity: "info", title: "Not asked for" } });
  await addAlert({ facts: { title: "Asked for" } });
  await page.waitForSelector("#rows:has-text('Asked for')");
  expect(await page.textContent("#rows")).not.toContain("Not asked for");
  await attempt(store, "ops", clock.now(), { outcome: "sent", next: { state: "sent", reason: "taken" } });
  await page.waitForSelector("#rows tr:has-text('no longer matches the filters')");
});

test.each(["/", "/?severity=critical&view=keys"])(
  "at %s a burst marks no row that is only further down",
  async (path) => {
    const { url, addAlert } = await serveWebFixture();
    const fire = (key: number, title: string) => addAlert({ facts: { title, alertKey: `k${key}` }, deliveries: [] });
    for (let key = 0; key < 50; key += 1) await fire(key, `Old ${key}`);
    const page = await follow(url, path);
    const looks = await holdLooks(page);
    for (let key = 50; key < 90; key += 1) await fire(key, `New ${key}`);
    await fire(2, "Again 2");
    await addAlert({ facts: { title: "Not critical", alertKey: "k45", severity: "info" }, deliveries: [] });
    await looks.release();
    await page.waitForSelector("#rows:has-text('Again 2')");
    const marked = await page.$$eval("#rows tr:has(.gone) .what > a", (links) => links.map((link) => link.textContent));
    expect(marked).toEqual(path === "/" ? [] : ["Old 45"]);
    expect(new Set(await titles(page)).size).toBe(90);
  },
);

test("a row drawn before its alert is read becomes the row of its key, or goes where a newer one has it", async () => {
  const { url, addAlert, routeAlert } = await serveWebFixture();
  await addAlert({ facts: { title: "Before" } });
  const page = await follow(url);
  const facts = [{ title: "First", alertKey: "one" }, { title: "Known, again" }, { title: "Second", alertKey: "one" }];
  const alerts = [];
  for (const one of facts) alerts.push(await addAlert({ facts: one, unrouted: true }));
  await addAlert({ facts: { title: "Read sooner", alertKey: "sooner" } });
  await page.waitForSelector("#rows tr:nth-child(5):has-text('Stored, not read yet')");
  for (const alert of alerts) await routeAlert(alert);
  await page.waitForSelector("#rows:has-text('Second')");
  expect(await titles(page)).toEqual(["Read sooner", "Second", "Known, again"]);
});

test.each(["/", "/?view=events"])(
  "at %s a row that was drawn unread and pushed down says what became of it",
  async (path) => {
    const { url, addAlert, routeAlert } = await serveWebFixture();
    await addAlert({ facts: { title: "Before", alertKey: "before" } });
    const page = await follow(url, path);
    const alert = await addAlert({ facts: { title: "Pushed", alertKey: "pushed" }, unrouted: true });
    await addAlert({ facts: { title: "Read sooner", alertKey: "sooner" } });
    await page.waitForSelector("#rows:has-text('Stored, not read yet')");
    const looks = await holdLooks(page);
    await routeAlert(alert);
    for (let key = 0; key < 55; key += 1) await addAlert({ facts: { title: `New ${key}`, alertKey: `k${key}` } });
    await looks.release();
    await page.waitForSelector("#rows:has-text('Pushed')");
    expect(await titles(page)).toHaveLength(58);
    expect(await page.textContent("#rows")).not.toContain("Stored, not read yet");
  },
);

test("a lost connection is shown, what was missed comes when it is back, and a relay that stops for good is shown, too", async () => {
  const { url, addAlert, dropConnections, web } = await serveWebFixture();
  await addAlert();
  const page = await follow(url);
  dropConnections();
  await page.waitForSelector("#lost:has-text('Connection lost')");
  await addAlert({ facts: { title: "Came meanwhile" } });
  await page.waitForSelector("#rows:has-text('Came meanwhile')");
  await live(page);
  web.close();
  await page.waitForSelector("#lost:has-text('Tocsin was stopped, trying again')");
});

test("a session that has ended elsewhere is shown with a way back", async () => {
  const { url, addAlert, clock } = await serveWebFixture();
  await addAlert();
  const page = await follow(url);
  await clock.jump(12 * 3_600_000);
  await page.waitForSelector("#lost a[href='/login?next=%2F']");
});

test("a page that follows no events says as well that the session is over, or the relay gone", async () => {
  const { url, addAlert, clock } = await serveWebFixture();
  await addAlert();
  const page = await openAt(url, "/routes");
  await page.route("**/strip", (route) => route.abort());
  await page.evaluate("dispatchEvent(new Event('online'))");
  await page.waitForSelector("#lost:has-text('Connection lost')");
  await page.unroute("**/strip");
  await page.evaluate("dispatchEvent(new Event('online'))");
  await page.waitForSelector("#lost", { state: "hidden" });
  await page.context().setOffline(true);
  await page.waitForSelector("#lost:has-text('Connection lost')");
  await page.context().setOffline(false);
  await page.waitForSelector("#lost", { state: "hidden" });
  await clock.jump(12 * 3_600_000);
  await page.evaluate("dispatchEvent(new Event('online'))");
  await page.waitForSelector("#lost a[href='/login?next=%2Froutes']");
});

test("logging out in one window ends the others at once, and says so there", async () => {
  const { url, addAlert } = await serveWebFixture();
  await addAlert();
  const first = await openAt(url);
  await live(first);
  const second = await first.context().newPage();
  await second.goto(`${url}/?q=dropped&token=canary`);
  await live(second);
  await first.click("text=Log out >> visible=true");
  await first.waitForURL(/\/login/);
  await second.waitForSelector("#lost a[href='/login?next=%2F%3Fq%3Ddropped']");
});

test("an alert's page follows its deliveries, and a resend shows up, while a long text stays open", async () => {
  const { url, addAlert, store, clock } = await serveWebFixture({
    composeAgain: () => [{ destination: "ops", channel: "telegram", texts: ["word ".repeat(2_000)], inDigest: false }],
  });
  const { id } = await addAlert();
  const page = await follow(url, `/alerts/${id}`);
  await attempt(store, "ops", clock.now(), {
    outcome: "rejected",
    reason: "kicked",
    detail: "bot was kicked",
    next: { state: "failed", reason: "bot was kicked" },
  });
  await page.waitForSelector("[data-live=deliveries] .chip.bad:has-text('failed')");
  await page.click("button[aria-label='Resend: ops']");
  await page.waitForSelector(".notice.done:has-text('1 delivery is on the way')");
  expect((await store.getAlert(id))?.deliveries.map(({ purpose }) => purpose)).toEqual(["alert", "resend"]);
  await live(page);
  await page.click("summary:has-text('The message at each destination')");
  await page.click("[data-live=messages] details details summary");
  const box = page.locator("[data-live=messages] input[type=checkbox]").first();
  await box.check();
  await attempt(store, "ops", clock.now(), { outcome: "sent", next: { state: "sent", reason: "taken" } });
  await page.waitForSelector("[data-live=deliveries] .chip.good:has-text('sent')");
  expect(await box.isChecked()).toBe(true);
});

test("a login link asks for one press, and leaves no code behind", async () => {
  const { url, clock } = await serveWebFixture();
  const page = await openPage();
  await page.goto(loginLink(url, new Secret(adminToken), clock.now()));
  await page.click("button.primary");
  await page.waitForURL(`${url}/`);
  await page.click("text=Log out >> visible=true");
  await page.waitForURL(/\/login/);
  await page.goBack();
  await page.goto(`${url}/`);
  expect(page.url()).toContain("/login?next=%2F");
});

test("without a script every page and every form works", async () => {
  const { url, addAlert, store, operations } = await serveWebFixture();
  const { id } = await addAlert();
  const page = await openAt(url, "/", { javaScript: false });
  await page.click("text=TVL of USDC dropped");
  await page.click("a:visible:has-text('Resend to …')");
  await page.check("input[value=ops]");
  await page.click("button:has-text('Resend to those ticked')");
  await page.waitForSelector(".notice.done");
  expect((await store.getAlert(id))?.deliveries).toHaveLength(2);
  await page.click(".rooms >> text=Rules");
  await page.click(".pages >> text=Mutes");
  await page.fill("textarea", "severity=info");
  await page.fill("input[name=reason]", "quiet");
  await page.click("button.primary");
  await page.waitForSelector(".notice.done");
  expect(await operations.listMutes()).toHaveLength(1);
});
