import { expect, test } from "vitest";
import { openPage } from "../../support/browser.ts";
import { adminToken, attempt, type WebFixture } from "../../support/web-fixture.ts";
import { live, logIn, openAt, serveWebFixture } from "../../support/web-server.ts";

/** Stands in for what a browser shows and plays; its permission is the real one. */
const recorded = `
  window.shown = [];
  window.tones = 0;
  window.isAway = false;
  Object.defineProperty(document, "hidden", { get: () => window.isAway });
  const Real = window.Notification;
  window.Notification = class extends EventTarget {
    static get permission() { return Real.permission; }
    static requestPermission() { return Real.requestPermission(); }
    constructor(title, { body }) { super(); window.shown.push(title + ": " + body); }
    close() {}
  };
  const make = AudioContext.prototype.createOscillator;
  AudioContext.prototype.createOscillator = function () { window.tones += 1; return make.call(this); };
`;

/** The log with one alert, which follows events. What happens from `away` on happens while nobody looks. */
async function openRecorded(permissions: string[] = []) {
  const fixture = await serveWebFixture();
  const page = await openPage();
  if (permissions.length > 0) await page.context().grantPermissions(permissions, { origin: fixture.url });
  await page.addInitScript(recorded);
  await fixture.addAlert({ facts: { title: "Before", alertKey: "before" } });
  await logIn(page, fixture.url);
  await live(page);
  const alarm = (name: string) => `#alarms label:has-text('${name}') input`;
  const add = async (title: string) => {
    await fixture.addAlert({ facts: { title, alertKey: title } });
    await page.waitForSelector(`#rows:has-text('${title}')`);
  };
  return {
    ...{ fixture, page, add, alarm },
    shown: () => page.evaluate("window.shown"),
    tones: (count: number) =>
      expect.poll(() => page.evaluate("window.tones"), { timeout: 60_000 }).toBe(count) as Promise<void>,
    away: () => page.evaluate("window.isAway = true"),
    async addAway(title: string) {
      await page.evaluate("window.isAway = true");
      await add(title);
    },
    async wishForNotifications() {
      await page.click("#alarms summary");
      await page.check(alarm("Notification"));
      // The browser answers a moment later whether it may: until then nothing is on.
      await expect.poll(() => page.evaluate("localStorage.getItem('tocsin.notify')")).toBe("on");
    },
  };
}

test("being told of new alerts happens not without a wish: no notification, no sound, even where both are allowed", async () => {
  const { page, addAway } = await openRecorded(["notifications"]);
  await addAway("Unasked");
  expect(await page.evaluate("[window.shown, window.tones]")).toEqual([[], 0]);
});

test("on wish the browser notifies while nobody looks, once for each alert, and the wish lasts", async () => {
  const { page, add, addAway, shown, tones, wishForNotifications } = await openRecorded(["notifications"]);
  await wishForNotifications();
  await page.reload();
  await live(page);
  await add("In sight");
  expect(await shown()).toEqual([]);
  await addAway("Out of sight");
  expect(await shown()).toEqual(["New alert: Out of sight"]);
  await addAway("And another");
  expect(await shown()).toEqual(["New alert: Out of sight", "New alert: And another"]);
  await tones(0);
});

test("where the browser refuses to notify, the page says so, and the wish is not kept", async () => {
  const { page, addAway, alarm, shown } = await openRecorded();
  await page.click("#alarms summary");
  await page.click(alarm("Notification"));
  await page.waitForSelector(alarm("does not allow it"));
  expect(await page.isChecked(alarm("does not allow it"))).toBe(false);
  await page.reload();
  await live(page);
  await addAway("Refused");
  expect(await shown()).toEqual([]);
});

test("on wish a sound is played: at once, to hear what it is, and for each new alert", async () => {
  const { page, addAway, alarm, tones } = await openRecorded();
  await page.click("#alarms summary");
  await page.check(alarm("Sound"));
  await tones(2);
  await addAway("Heard");
  await tones(4);
  await page.uncheck(alarm("Sound"));
  await addAway("Unheard");
  await tones(4);
});

test("a critical twin rings that joins the row of a warning of the same second, and a milder one does not", async () => {
  const { fixture, page, away, shown, wishForNotifications } = await openRecorded(["notifications"]);
  await wishForNotifications();
  await away();
  for (const severity of ["warning", "critical", "info"] as const) {
    await fixture.addAlert({ facts: { title: "Twins", alertKey: severity, severity } });
    await page.waitForSelector(`#rows tr:has-text('Twins'):has(.severity.${severity})`);
  }
  expect(await shown()).toEqual(["New alert: Twins", "New alert: Twins"]);
});

/** Fifty keys with long words and numbers, each with a history. */
async function fill({ addAlert, clock }: WebFixture): Promise<string> {
  let id = "";
  for (let round = 0; round < 4; round += 1) {
    for (let key = 0; key < 55; key += 1) {
      const facts = {
        title: `Total TVL of the pool number ${key} on a chain with a long name is far below its threshold`,
        alertKey: `key ${key}`,
        token: `TOKEN${key}`,
        chain: "ethereum",
        metric: `eth_pool_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb${key}`,
        value: `${(round + 1) * 1234567}.${key}891234`,
        previousValue: `${(round + 2) * 1234567}.5`,
        threshold: "2500000.25",
        unit: "USD",
      };
      ({ id } = await addAlert({ facts, body: JSON.stringify({ a: "x".repeat(300), key }), deliveries: [{}] }));
    }
    await clock.advance(3_600_000);
  }
  return id;
}

test("on a slow line the first look is below 60 KB, with everything that it needs", async () => {
  const fixture = await serveWebFixture();
  await fill(fixture);
  const page = await openAt(fixture.url);
  await page.context().clearCookies({ name: "zone" });
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  const sizes: number[] = [];
  session.on("Network.loadingFinished", ({ encodedDataLength }) => void sizes.push(encodedDataLength));
  await page.goto(fixture.url, { waitUntil: "load" });
  expect(await page.$$("#rows svg.spark")).toHaveLength(50);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  expect(sizes.length).toBeGreaterThanOrEqual(4);
  expect(bytes).toBeGreaterThan(20_000);
  expect(bytes).toBeLessThan(60 * 1024);
});

test("at 200 % on a screen of 1280 px, and on 320 to 2,560 px, nothing goes beyond the edge", async () => {
  const fixture = await serveWebFixture();
  const id = await fill(fixture);
  const page = await openAt(fixture.url);
  const wide: string[] = [];
  // At 200 % a screen is half as many pixels: 640 is one of 1280.
  for (const width of [320, 360, 640, 768, 1280, 1440, 2560]) {
    await page.setViewportSize({ width, height: 700 });
    for (const path of ["/", "/?view=events&q=pool", "/?q=raw:xxxx", `/alerts/${id}`]) {
      await page.goto(fixture.url + path);
      const beyond = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
      if (beyond > 0) wide.push(`${path} at ${width} px: ${beyond} px beyond`);
    }
  }
  expect(wide).toEqual([]);
});

test("an alert whose key has no other leaves no room empty beside who got it", async () => {
  const { url, addAlert } = await serveWebFixture();
  const first = await addAlert({ facts: { alertKey: "first" } });
  await addAlert({ facts: { alertKey: "key" } });
  const later = await addAlert({ facts: { alertKey: "key" } });
  const page = await openAt(url, "/", { width: 1440 });
  const shareOf = async (id: string) => {
    await page.goto(`${url}/alerts/${id}`);
    return page.$eval(".columns > div", (column) => column.clientWidth / (column.parentElement?.clientWidth ?? 0));
  };
  expect(await shareOf(first.id)).toBe(1);
  expect(await shareOf(later.id)).toBeLessThan(0.6);
});

test("on paper the log and an alert are their content alone: no controls, dark or light", async () => {
  const fixture = await serveWebFixture();
  const id = await fill(fixture);
  const page = await openAt(fixture.url, "/", { colorScheme: "dark" });
  await page.emulateMedia({ media: "print" });
  const isWhite = "getComputedStyle(document.body).backgroundColor";
  for (const path of ["/", `/alerts/${id}`]) {
    await page.goto(fixture.url + path);
    const shown = await page.$$eval("button, input, select, textarea, nav, .skip, .news a", (controls) =>
      controls
        .filter((control) => control.checkVisibility?.() ?? true)
        .map((control) => control.outerHTML.slice(0, 120)),
    );
    expect(shown).toEqual([]);
    expect(await page.evaluate(isWhite)).toBe("rgb(255, 255, 255)");
    expect((await page.pdf({ format: "A4" })).length).toBeGreaterThan(10_000);
  }
});

test("a watch at the keyboard alone: search, next, open, back, mute, resend, elsewhere", async () => {
  const fixture = await serveWebFixture();
  const { url, addAlert } = fixture;
  await addAlert({ facts: { title: "Pool one", alertKey: "one" } });
  const { id } = await addAlert({ facts: { title: "Pool two", alertKey: "two" } });
  await addAlert({ facts: { title: "Something else", alertKey: "three" } });
  await fixture.store.maintain?.(fixture.clock.now());
  const page = await openAt(url);
  await page.keyboard.press("/");
  await page.keyboard.type("pool");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\?q=pool$/);
  await page.waitForSelector("#rows mark");
  await live(page);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${url}/alerts/${id}`);
  await page.goBack();
  await page.waitForURL(/\?q=pool$/);
  await page.keyboard.press("j");
  await page.keyboard.press("m");
  await page.waitForURL(`${url}/alerts/${id}#mute`);
  await page.waitForSelector("details[open] > #mute:focus");
  await page.goBack();
  await page.waitForURL(/\?q=pool$/);
  await page.keyboard.press("j");
  await page.keyboard.press("r");
  await page.waitForURL(`${url}/alerts/${id}/resend`);
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await page.waitForURL(`${url}/destinations`);
});

test("a look on a phone: more filters, an alert, back, an export, nothing smaller than a finger", async () => {
  const fixture = await serveWebFixture();
  const { url, addAlert, store } = fixture;
  const page = await openPage({ width: 360, height: 740, isPhone: true });
  await addAlert({ facts: { title: "A warning", alertKey: "warning", severity: "warning" } });
  const { id } = await addAlert({ facts: { title: "A critical one", alertKey: "critical" } });
  await store.maintain?.(fixture.clock.now());
  await page.goto(url);
  await page.fill("input[name=token]", adminToken);
  await page.tap("button.primary");
  await page.waitForURL(`${url}/`);
  await page.tap("label:has-text('Filters')");
  await page.selectOption("select[name=severity]", "critical");
  await page.tap("button:has-text('Search')");
  await page.waitForURL(`${url}/?severity=critical`);
  expect(await page.textContent("#rows")).not.toContain("A warning");
  await page.tap("#rows a:has-text('A critical one')");
  await page.waitForURL(`${url}/alerts/${id}`);
  await page.goBack();
  await page.waitForURL(`${url}/?severity=critical`);
  await page.tap(".export summary");
  const [download] = await Promise.all([page.waitForEvent("download"), page.tap(".export a:has-text('CSV')")]);
  expect(download.suggestedFilename()).toBe("tocsin-alerts-2026-11-21.csv");
  const small = await page.$$eval("main a, main button, main summary, main select", (targets) =>
    targets
      .filter((target) => (target.checkVisibility?.() ?? true) && target.closest("svg") === null)
      .map((target) => ({ text: target.textContent?.trim(), height: target.getBoundingClientRect().height }))
      .filter(({ height }) => height < 24),
  );
  expect(small).toEqual([]);
});

test.each([
  [1440, 900, 14],
  [390, 844, 5],
])(
  "the first view at %i by %i shows %i alerts, with and without destinations in trouble",
  async (width, height, least) => {
    const { url, addAlert, store, clock } = await serveWebFixture({ watches: [] });
    for (let round = 0; round < 60; round += 1) {
      const title = `USDC pool 24 h volume ${round}.7741 M USD, below ${round + 1} M (arbitrum)`;
      await addAlert({
        facts: { title, alertKey: `k${round}`, value: `${round}774100`, threshold: `${round + 1}000000` },
        deliveries: [{ destination: "bad" }, { destination: "later" }, {}],
      });
    }
    const page = await openAt(url, "/", { width, height });
    const inView = `[...document.querySelectorAll("#rows tr[data-alert]")]
    .filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length`;
    expect(await page.evaluate(inView)).toBeGreaterThanOrEqual(least);
    const now = clock.now();
    const waiting = { state: "waiting", reason: "503", dueAt: now + 60_000 } as const;
    await attempt(store, "bad", now, { outcome: "rejected", next: { state: "failed", reason: "chat not found" } });
    await attempt(store, "later", now, { outcome: "retry", next: waiting });
    await attempt(store, "ops", now, { outcome: "sent", next: { state: "sent", reason: "" } });
    await page.reload();
    expect(await page.textContent("#rows tr[data-alert] .where")).toMatch(/bad failed.*later waiting.*op/);
    expect(await page.evaluate(inView)).toBeGreaterThanOrEqual(least);
  },
);

test("at 390 px and by keyboard alone what an ended mute held back is released", async () => {
  const fixture = await serveWebFixture({});
  const { url, store, clock, addAlert } = fixture;
  const now = clock.now();
  const times = { startsAt: now - 7_200_000, endsAt: now - 3_600_000, createdAt: now - 7_200_000 };
  await store.addMute({ id: "m1", matchers: [], reason: "migration", createdBy: "page", ...times });
  const { id } = await addAlert({
    facts: { title: "ONYX price", alertKey: "onyx" },
    deliveries: [{ state: "muted", mutedBy: "m1" }],
  });
  const page = await openAt(url, "/", { width: 390, height: 844 });
  await page.goto(`${url}/mutes`);
  const pressOn = async (selector: string) => {
    const focused = page.locator(`${selector}:focus`);
    for (let count = 0; count < 80; count += 1) {
      if ((await focused.count()) > 0) break;
      await page.keyboard.press("Tab");
    }
    expect(await focused.count()).toBe(1);
    expect((await focused.boundingBox())?.height).toBeGreaterThanOrEqual(24);
    await page.keyboard.press("Enter");
  };
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  await pressOn("main a:has-text('Release')");
  await page.waitForURL(/resend\?mute=m1/u);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  await pressOn("main button:has-text('Release')");
  await page.waitForSelector("main :text('released')");
  expect((await store.getAlert(id))?.deliveries.filter(({ purpose }) => purpose === "bulk_resend")).toHaveLength(1);
});
