import { expect, test } from "vitest";
import { expectWords } from "../support/expect-words.ts";
import { takeLane } from "../support/lane.ts";
import { attempt, createWebFixture, type WebFixture, type WebFixtureOptions } from "../support/web-fixture.ts";

/** Two alerts that failed at `ops`, one at `treasury`, one at a destination that is no longer configured. */
async function openWithFailures(options: WebFixtureOptions = {}): Promise<WebFixture> {
  const fixture = await createWebFixture(options);
  const { addAlert, store, clock } = fixture;
  await addAlert({ deliveries: [{}, { destination: "treasury" }] });
  await addAlert({ deliveries: [{}], facts: { title: "Peg of <b>USDT</b>", severity: "warning" } });
  await addAlert({ deliveries: [{ destination: "retired" }] });
  await store.failOrphans(await takeLane(store), [], clock.now());
  await clock.advance(60_000);
  return fixture;
}

const countsOf = async ({ store }: WebFixture, name: string) =>
  (await store.countByDestination()).find(({ destination }) => destination === name)?.counts;

test("/api/resend is narrowed by what payloads have, as the log is", async () => {
  const { api, addAlert, store, clock } = await createWebFixture();
  for (const body of ['{"tx":"0xdead"}', '{"tx":"0xbeef"}']) await addAlert({ body, deliveries: [{}] });
  await store.failOrphans(await takeLane(store), [], clock.now());
  await clock.advance(60_000);
  const countOf = async (q: string) =>
    (await (await api(`/api/resend?q=${encodeURIComponent(q)}`)).json()) as { data: { deliveries: number } };
  expect((await countOf("raw:0xDEAD")).data.deliveries).toBe(1);
  expect((await countOf("raw:0x")).data.deliveries).toBe(2);
});

test("the page that asks before it resends refuses a filter that it cannot read rather than resend more", async () => {
  const fixture = await openWithFailures();
  for (const query of ["from=yesterday", "state=sent", "severity=loud"]) {
    expect((await fixture.get(`/resend?${query}`)).status).toBe(400);
    const [name = "", value = ""] = query.split("=");
    const failedUntil = new Date(fixture.clock.now()).toISOString();
    expect((await fixture.post("/resend", { [name]: value, failedUntil })).status).toBe(400);
  }
  expect((await fixture.post("/resend", {})).status).toBe(400);
  expect(await countsOf(fixture, "ops")).toEqual({ failed: 2 });
});

test("the page that asks before it resends names the mute to release by its reason", async () => {
  const fixture = await openWithFailures();
  const mute = { matchers: [], reason: "pool migration", endsAt: fixture.clock.now() + 60_000, createdBy: "page" };
  const { id } = await fixture.operations.addMute(mute);
  await fixture.operations.endMute(id);
  const page = await fixture.read(`/resend?mute=${id}`);
  expectWords(page, "What was held back for: pool migration", { not: "Filtered by" });
});

test("the page that asks before it resends is one step from a destination's card and from the filtered log", async () => {
  const fixture = await openWithFailures();
  expect(await fixture.read("/destinations")).toMatch(/href="\/resend\?destination=ops">\s*Resend 2 failed/);
  const log = await fixture.read("/?state=failed&destination=ops");
  expect(log).toMatch(/href="\/resend\?state=failed&amp;destination=ops">\s*Resend these …/);
  const [, sent = ""] = (await fixture.read("/?state=sent")).split("<main");
  expect(sent).not.toContain("/resend");
});

test("one alert on its page asks where to before it is resent to several, and resends to those that are ticked", async () => {
  const { read, post, addAlert, store } = await createWebFixture();
  const { id } = await addAlert({ deliveries: [{}] });
  expectWords(await read(`/alerts/${id}`), `href="/alerts/${id}/resend"`, { not: "Resend to all" });
  const page = await read(`/alerts/${id}/resend`);
  expectWords(page, [/name="destination" value="ops"/, /name="destination" value="treasury"/]);
  const none = await post(`/alerts/${id}/resend`);
  expect(none.status).toBe(400);
  expect(await none.text()).toContain("Tick at least one destination");
  expect((await store.getAlert(id))?.deliveries).toHaveLength(1);
  const done = await post(`/alerts/${id}/resend`, { destination: "treasury" });
  const location = done.headers.get("location") ?? "";
  expect(location).toBe(`/alerts/${id}?done=resent&n=1`);
  expect(await read(location)).toContain("1 delivery is on the way");
  expect(await read(`/alerts/${id}?done=Call+us&n=now`)).not.toContain("Call us");
});

test("one alert on its page proposes where it is missing, else where it has been, and never where it is on its way or held", async () => {
  const fixture = await openWithFailures();
  const { store, clock, addAlert } = fixture;
  const ticked = async (id: string) => {
    const page = await fixture.read(`/alerts/${id}/resend`);
    return [...page.matchAll(/value="(\w+)" checked/g)].map(([, name]) => name);
  };
  const failed = (await store.listAlerts({ limit: 1, destination: "treasury" }))[0]?.id ?? "";
  expect(await ticked(failed)).toEqual(["ops", "treasury"]);
  await fixture.operations.resend(failed, ["treasury"]);
  expect(await ticked(failed)).toEqual(["ops"]);
  const until = clock.now() + 3_600_000;
  const held = { destination: "treasury", state: "held", dueAt: until } as const;
  const { id } = await addAlert({ deliveries: [{}, held] });
  expect(await ticked(id)).toEqual([]);
  await attempt(store, "ops", clock.now(), { outcome: "sent", next: { state: "sent", reason: "" } });
  expect(await ticked(id)).toEqual(["ops"]);
});

test("one alert on its page shows of a delivery that failed that it was resent, and what became of that", async () => {
  const fixture = await openWithFailures();
  const [alert] = await fixture.store.listAlerts({ limit: 1, destination: "treasury" });
  await fixture.operations.resend(alert?.id ?? "", ["treasury"]);
  const resend = (await fixture.store.getAlert(alert?.id ?? ""))?.deliveries.at(-1);
  const page = await fixture.read(`/alerts/${alert?.id}`);
  expect(page).toMatch(new RegExp(`resent .*just now.*href="#delivery-${resend?.id}"[^>]*>\\s*queued`, "s"));
  expect(page).toContain(`id="delivery-${resend?.id}"`);
});

const dead = { health: "dead", reason: "bot was kicked" } as const;

test("trying a destination from its card, says that it still does not work and when it is tried again", async () => {
  const { read, post, get, clock } = await createWebFixture({
    statuses: { ops: { ...dead, probeAt: 24 * 3_600_000 } },
    probe: { kind: "rejected", scope: "destination", reason: "kicked", detail: "bot was kicked" },
  });
  expect(await read("/destinations")).toContain('action="/destinations/ops/try"');
  const answer = await post("/destinations/ops/try");
  expect(answer.headers.get("location")).toBe("/destinations?tried=ops&result=fails");
  const page = await read("/destinations?tried=ops&result=fails");
  expectWords(page, [/ops<\/bdi> still does not work: <bdi>bot was kicked/, "tried again by itself"]);
  expect(clock.now()).toBeGreaterThan(0);
  expect(await (await get("/destinations?tried=nobody&result=Call+us")).text()).not.toContain("Call us");
});

test("trying a destination that was thought well says so when it does not answer", async () => {
  const { read, post } = await createWebFixture({
    probe: { kind: "retry", reason: "connect_failed", detail: "nobody listens" },
  });
  const answer = await post("/destinations/ops/try");
  expect(await read(answer.headers.get("location") ?? "")).toContain("did not answer as it should");
});

test("a destination that answers and has refused all that was sent there is failing, on strip, card and API alike", async () => {
  const fixture = await createWebFixture();
  const { id } = await fixture.addAlert();
  const refused = { state: "failed", reason: "<i>message refused</i>" } as const;
  await attempt(fixture.store, "ops", fixture.clock.now(), { outcome: "rejected", next: refused });
  const page = async () => fixture.read("/destinations");
  const stripOf = (html: string) => html.split('data-live="health"')[1]?.split("<main")[0] ?? "";
  const first = await page();
  expect(stripOf(first).replaceAll(/<[^>]+>/g, "")).toContain(
    "1 message was not delivered to ops · nothing has arrived there yet",
  );
  for (const help of ['action="/destinations/ops/test"', 'href="/resend?destination=ops"', 'state=failed"'])
    expect(stripOf(first)).toContain(help);
  expect(first).toMatch(/<bdi>ops<\/bdi>.*failing: nothing has arrived.*&lt;i&gt;message refused.*<bdi>treasury</s);
  expect(first).toContain(`It said so of <a href="/alerts/${id}"`);
  const wire = await (await fixture.api("/api/destinations")).json();
  expect(wire).toMatchObject({
    data: [{ name: "ops", verdict: "failing", lastFailedAt: expect.any(String) }, { verdict: "untried" }],
  });

  await fixture.addAlert();
  const taken = { state: "sent", reason: "" } as const;
  await attempt(fixture.store, "ops", fixture.clock.now(), { outcome: "sent", next: taken });
  await fixture.clock.advance(1_000);
  const second = await page();
  expect(second).not.toContain("nothing has arrived");
  expect(stripOf(second)).toContain("1 message was not delivered to ops");
  await fixture.clock.advance(24 * 60 * 60_000);
  expect(stripOf(await page())).not.toContain("not delivered");
});

test("the strip stays short, however much is wrong at once", async () => {
  const watches = Array.from({ length: 40 }, (_, index) => {
    return { name: `gaps:${index}`, verdict: "trouble", summary: `Trouble ${index}`, troubles: [] } as const;
  });
  const fixture = await createWebFixture({ watches: watches.map((watch) => ({ ...watch, troubles: [] })) });
  const strip = await fixture.read("/strip");
  expect(strip).toContain("and 37 more</summary>");
  expect(strip.match(/<li class="notice bad">/g)).toHaveLength(33);
  expect(strip.replaceAll(/<[^>]+>/g, "")).toContain("and 7 more, see Destinations and System");
});

test("what the strip counts is what its links lead to: one for what failed, one for what expired", async () => {
  const fixture = await createWebFixture();
  for (const state of ["expired", "failed", "expired"] as const) {
    await fixture.addAlert();
    await attempt(fixture.store, "ops", fixture.clock.now(), { outcome: "rejected", next: { state, reason: "late" } });
  }
  const strip = await fixture.read("/strip");
  expect(strip).toContain("3 messages were not delivered to ops");
  const links = [...strip.matchAll(/<a href="([^"]*state=[^"]*)"[^>]*>([^<]*)</g)];
  expect(links.map(([, , words]) => words)).toEqual(["Show 1 failed", "Show 2 expired"]);
  for (const [index, [, href = ""]] of links.entries())
    expect((await fixture.read(href.replaceAll("&amp;", "&"))).match(/data-alert=/g)).toHaveLength(index + 1);
});
