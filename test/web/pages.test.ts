import { describe, expect, test } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import type { Destination } from "../../src/core/rules.ts";
import { request } from "../conformance/store/scene-samples.ts";
import { destinationBase } from "../support/destinations.ts";
import { expectWords } from "../support/expect-words.ts";
import { createTestClock } from "../support/test-clock.ts";
import { createWebFixture } from "../support/web-fixture.ts";

describe("the log", () => {
  test("says what to do before the first alert has come", async () => {
    const { read } = await createWebFixture();
    expectWords(await read("/"), [/^<!doctype html><html/i, "No alert has arrived yet", "tocsin setup"]);
  });

  test("is drawn with the change that was the newest before the list was read", async () => {
    const { get, store } = await createWebFixture();
    const asked: string[] = [];
    for (const name of ["latestChange", "listAlertsWithin"] as const) {
      const answer = store[name] as (...given: unknown[]) => never;
      store[name] = (...given: unknown[]) => {
        asked.push(name);
        return answer(...given);
      };
    }
    await get("/");
    expect(asked).toEqual(["latestChange", "listAlertsWithin"]);
  });

  test("cuts a title that would take ten lines of a row; a word that it does not show is said to be there", async () => {
    const { read, addAlert, store, clock } = await createWebFixture();
    const title = `${"Total value locked ".repeat(12)}withdrawal`;
    const { id } = await addAlert({ facts: { title } });
    await store.maintain?.(clock.now());
    const row = /<td class="what">.*?<\/td>/s;
    const [cut = ""] = row.exec(await read("/")) ?? [];
    expectWords(cut, [`title="${title}"`, / Total…<\/a>/]);
    const [found] = row.exec(await read("/?q=withdrawal")) ?? [];
    expect(found).toMatch(/class="elsewhere">title: .*<mark>withdrawal<\/mark>/);
    expect(await read(`/alerts/${id}`)).toContain(`${title}</h1>`);
  });

  test("says how far back it looked when few alerts match, and offers to go on", async () => {
    const fixture = await createWebFixture();
    const { id } = await fixture.addAlert();
    const [alert] = await fixture.store.listAlerts({ limit: 1 });
    if (alert === undefined) throw new Error("there is one");
    const stopped = { position: alert.position, receivedAt: alert.receivedAt, looked: 4_096 };
    fixture.store.listAlertsWithin = async () => ({ alerts: [], stopped });
    fixture.store.countMatches = () => Promise.reject(new Error("it was searched for a moment already"));
    const looked = /Searched back to <time datetime="2026-11-21T12:00:00.000Z"/;
    const further = `href="/?q=rare&amp;cursor=${alert.position}" rel="next">Search further back`;
    expectWords(await fixture.read("/?q=rare"), ["No match so far", looked, further], { not: "No alert matches" });
    fixture.store.listAlertsWithin = async () => ({ alerts: [alert], stopped });
    expectWords(await fixture.read("/?q=rare"), [`/alerts/${id}`, "Search further back"], { not: "No match so far" });
  });

  test("reads the browser's date fields as UTC and keeps them", async () => {
    const { read, addAlert, clock } = await createWebFixture();
    await addAlert({ facts: { title: "Too early", alertKey: "early" } });
    await clock.advance(17 * 60_000);
    await addAlert({ facts: { title: "In time" } });
    const page = await read("/?from=2026-11-21T12:10&to=2026-11-21T12:20");
    expectWords(page, ["In time", 'value="2026-11-21T12:10"'], { not: "Too early" });
  });

  test("joins the alerts of a key to one row that says how often it came, with every alert one press away", async () => {
    const { read, addAlert, clock } = await createWebFixture();
    const minutes = (count: number) => clock.advance(count * 60_000);
    await addAlert({ facts: { title: "First", alertKey: "tvl" } });
    await minutes(5);
    await addAlert({ facts: { title: "Other", alertKey: "gas" } });
    await addAlert({ facts: { title: "Second", alertKey: "tvl" } });
    const rowsOf = async (path: string) => {
      const page = await read(path);
      const rows = page.slice(page.indexOf("<tbody")).split("<tr ").slice(1);
      return rows.filter((row) => row.startsWith("id=")).map((row) => row.replace(/<[^>]*>/g, " "));
    };
    const firing = await rowsOf("/");
    expect(firing).toHaveLength(2);
    expect(firing[0]).toMatch(/Second\s+fired 2 times\s*, first\s+12:00:00/);
    expect(firing[1]).toContain("Other");
    expect(firing[1]).not.toContain("times");
    await minutes(3);
    await addAlert({ facts: { title: "Back to normal", alertKey: "tvl", status: "resolved" } });
    const over = await rowsOf("/");
    expect(over[0]).toMatch(/Back to normal\s+over after 8 min,\s+fired 2 times/);
    expect(over).toHaveLength(2);
    expect(await rowsOf("/?view=events")).toHaveLength(4);
    expect(await rowsOf("/?key=tvl")).toHaveLength(3);
    await addAlert({ facts: { title: "Again", alertKey: "tvl" } });
    expect((await rowsOf("/"))[0]).not.toContain("times");
    const filtered = await read("/?severity=critical&view=keys");
    expect(filtered).toContain("Filters look at the newest alert of each key.");
    expect(filtered).toContain('<input type="hidden" name="view" value="keys"/>');
  });

  test("two alerts of a second with the same title about different things are two rows", async () => {
    const { read, addAlert } = await createWebFixture();
    const of = (instance: string) => ({
      title: "High CPU",
      alertKey: instance,
      fields: [{ name: "instance", value: instance }],
    });
    await addAlert({ facts: { ...of("db-1"), severity: "critical" } });
    await addAlert({ facts: { ...of("db-2"), severity: "warning" } });
    const page = await read("/");
    const rows = page.split("<tr ").filter((row) => row.startsWith("id="));
    expect(rows.map((row) => row.match(/class="severity (\w+)"/)?.[1])).toEqual(["warning", "critical"]);
  });

  test("shows the last hour while the log is younger than that, and then the last day", async () => {
    const { read, addAlert, clock } = await createWebFixture();
    await addAlert();
    const chosen = async () => />(\d+ \w)</.exec((await read("/")).split('aria-current="true"')[1] ?? "")?.[1];
    expect(await chosen()).toBe("1 h");
    await clock.advance(2 * 3_600_000);
    expect(await chosen()).toBe("24 h");
  });

  test("counts what came over time, and a bar leads to its alerts and to no other", async () => {
    const { read, addAlert, clock } = await createWebFixture();
    await addAlert({ facts: { title: "An hour ago", alertKey: "a" }, deliveries: [] });
    await clock.advance(60 * 60_000);
    await addAlert({ facts: { title: "Just now", alertKey: "b", severity: "info" } });
    const page = await read("/");
    const bars = [...page.matchAll(/<a href="([^"]+)" aria-label="([^"]+)"[^>]*data-from/g)].slice(0, 2);
    expect(bars.map(([, , label]) => label)).toEqual([
      expect.stringMatching(/12:00.*: 1 alert, 1 critical, 1 with a problem/),
      expect.stringMatching(/13:00.*: 1 alert, 1 info/),
    ]);
    const first = await read((bars[0]?.[1] ?? "").replaceAll("&amp;", "&"));
    const matches = /<b>1 alert<\/b> matches, of 2 alerts stored/;
    expectWords(first, ["An hour ago", "Between the times of the filter.", matches], { not: "Just now" });
    expect(await read("/?span=7d&severity=info")).toContain("Alerts over time, info");
  });

  test("says how many match, exactly where that is quick", async () => {
    const { read, addAlert, store } = await createWebFixture();
    for (let round = 0; round < 60; round += 1) await addAlert();
    expect(await read("/?severity=critical")).toMatch(/<b>60 alerts<\/b> match, of 60 alerts stored/);
    store.countMatches = async () => ({ count: 1000, isMore: true });
    expect(await read("/?severity=critical")).toContain("<b>1,000+ alerts</b> match");
    expect(await read("/")).not.toContain("match, of");
  });

  test("draws its bars in the zone that the browser has named, and in UTC for what is none", async () => {
    const { logIn, addAlert } = await createWebFixture();
    await addAlert();
    const browser = await logIn();
    const get = async (zone: string) =>
      (await browser.get("/", { headers: { cookie: `${browser.cookie}; zone=${encodeURIComponent(zone)}` } })).text();
    expect(await get("Asia/Singapore")).toMatch(/aria-label="[^"]*20:00/);
    for (const none of ["<b>", "Nowhere/None", "x".repeat(500)])
      expect(await get(none)).toMatch(/aria-label="[^"]*12:00/);
  });

  test("what only a payload has is found where nothing else has it, marked with what stands around it, and on wish anyway", async () => {
    const { read, addAlert } = await createWebFixture();
    await addAlert({ facts: { title: "First" }, body: '{"tx":"<b>0xDEADbeef</b>","by":"ann"}' });
    await addAlert({ facts: { title: "Ann", token: "DAI" }, body: '{"by":"bob"}' });
    const get = async (q: string) => read(`/?q=${encodeURIComponent(q)}`);
    const found = "&lt;b&gt;0xD<mark>EADb</mark>eef&lt;/b&gt;";
    expectWords(await get("eadb"), ["These have it in the payload as it came.", found]);
    const wish = `href="/?q=raw%3A%22ann%22">Search payloads as they came`;
    expectWords(await get("ann"), ["<mark>Ann</mark>", wish], { not: "First" });
    expectWords(await get('raw:"ann"'), ["First", "<mark>ann</mark>"]);
    const nothing = ["Payloads as they came were searched as well.", "No alert matches"];
    expectWords(await get("nowhere token:DAI"), nothing);
  });

  test("goes on to older ones with the same filters", async () => {
    const { read, addAlert } = await createWebFixture();
    const ids: string[] = [];
    for (let round = 0; round < 52; round += 1) ids.push((await addAlert()).id);
    const first = await read("/?severity=critical");
    expect(first.match(/<tr id="alert-/g)).toHaveLength(50);
    const older = /href="([^"]+)" rel="next"/.exec(first)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect(older).toMatch(/^\/\?severity=critical&cursor=\d+$/);
    const second = await read(older);
    expect([...second.matchAll(/<tr id="alert-([^"]+)"/g)].map(([, id]) => id)).toEqual([ids[1], ids[0]]);
    expectWords(second, [], { not: ['rel="next"', "data-newest"] });
  });
});

describe("an alert's page", () => {
  test("lists what was read as conditions that a mute takes as they stand", async () => {
    const { read, post, addAlert } = await createWebFixture();
    const facts = { title: "*Odd*, a=b", token: "USDC", previousValue: "7.10", externalId: "e 1", source: "feed" };
    const { id } = await addAlert({ facts });
    const conditions = /<li><code>([^<]+)<\/code>/g;
    const written = [...(await read(`/alerts/${id}`)).matchAll(conditions)].map(([, text = ""]) =>
      text.replaceAll("&quot;", '"'),
    );
    for (const one of ['title="*Odd*, a=b"', "token=USDC", "previousValue=7.10", 'externalId="e 1"', "source=feed"])
      expect(written).toContain(one);
    expect((await post("/mutes", { match: written.join("\n"), for: "1h", reason: "tried" })).status).toBe(303);
  });

  test("a resend that cannot be made leaves the page there, with why", async () => {
    const { post, addAlert } = await createWebFixture();
    const { id } = await addAlert({ unrouted: true });
    const answer = await post(`/alerts/${id}/resend`, { destination: "ops" });
    expect(answer.status).toBe(409);
    expectWords(await answer.text(), ["has not been routed yet", "The request as received"]);
  });

  test("mutes what is alike in the chosen fact, whatever characters it holds", async () => {
    const { post, addAlert, operations } = await createWebFixture();
    const facts = { alertKey: 'a,b=~^"x"\n<y>', title: "*TVL*", token: "USDC,DAI" };
    const { id } = await addAlert({ facts });
    for (const [like, value] of Object.entries(facts)) {
      const answer = await post(`/alerts/${id}/mute`, { like, for: "4h", reason: like });
      expect(answer.headers.get("location")).toBe(`/alerts/${id}?done=muted`);
      const mute = (await operations.listMutes()).find(({ reason }) => reason === like);
      expect(mute).toMatchObject({ matchers: [{ field: like, condition: { equals: [value] } }], createdBy: "page" });
    }
  });

  test("says how many of the last 24 h the mute of one would have held, and of other facts when asked", async () => {
    const { read, post, addAlert, operations } = await createWebFixture();
    const { id } = await addAlert({ facts: { alertKey: "k1", token: "USDC" } });
    await addAlert({ facts: { alertKey: "k1", token: "USDC" } });
    await addAlert({ facts: { alertKey: "k2", token: "USDC" } });
    await addAlert({ facts: { alertKey: "k3", token: "DAI" } });
    expect(await read(`/alerts/${id}`)).toContain("It would have muted 2 of the 4 alerts of the last 24 h.");

    const asked = await post(`/alerts/${id}/mute`, { like: "token", for: "7d", reason: "", do: "preview" });
    expect(asked.status).toBe(200);
    const page = await asked.text();
    expectWords(page, ["It would have muted 3 of the 4 alerts of the last 24 h.", /<details class="action" open/]);
    expectWords(page, [/value="token" checked/, /<option value="7d" selected/], { not: /value="alertKey" checked/ });
    expect(await operations.listMutes()).toEqual([]);
    const nothing = await post(`/alerts/${id}/mute`, { for: "1h", do: "preview" });
    expect(nothing.status).toBe(400);
    expect(await nothing.text()).toContain("Tick at least one thing");
  });

  test("shows an alert whose preview cannot be made", async () => {
    const { get, addAlert, operations } = await createWebFixture();
    const { id } = await addAlert({ facts: { title: "Still here" } });
    operations.previewMute = () => Promise.reject(new Error("damaged"));
    const answer = await get(`/alerts/${id}`);
    expect(answer.status).toBe(200);
    expectWords(await answer.text(), "Still here", { not: "of the last 24 h" });
  });

  test("mutes until it is over, where its key is chosen and it fires", async () => {
    const { read, post, addAlert, operations, clock } = await createWebFixture();
    const { id } = await addAlert({ facts: { alertKey: "tvl:usdc", severity: "warning" } });
    const over = await addAlert({ facts: { alertKey: "tvl:dai", status: "resolved" } });
    const form = { for: "over", reason: "known" };
    expect((await post(`/alerts/${id}/mute`, { ...form, like: "severity" })).status).toBe(400);
    const answer = await post(`/alerts/${id}/mute`, { ...form, like: "alertKey" });
    expect(answer.headers.get("location")).toBe(`/alerts/${id}?done=muted`);
    const [mute] = await operations.listMutes();
    expect(mute).toMatchObject({ untilOver: "tvl:usdc", endsAt: clock.now() + 86_400_000 });
    expect(await read(`/alerts/${id}`)).toContain("until it is over</option>");
    expect(await read(`/alerts/${over.id}`)).not.toContain("until it is over</option>");
    expect(await read("/mutes")).toContain("it is over, at the latest");
  });

  test("gives the body for download as it came, and to no browser as a page", async () => {
    const { logIn, addAlert } = await createWebFixture();
    const body = Buffer.from("<script>alert(1)</script>");
    const { id } = await addAlert({ body, contentType: "text/html" });
    const answer = await (await logIn()).get(`/alerts/${id}/body`);
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    expect(answer.headers.get("content-disposition")).toBe(`attachment; filename="${id}.txt"`);
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(body);
  });

  test("shows duplicates and conflicts", async () => {
    const { read, addAlert, store, clock } = await createWebFixture();
    const { id } = await addAlert({ body: "{}", dedupeKey: "event-7" });
    await store.acceptRequest(request({ receivedAt: clock.now(), body: Buffer.from("{}"), dedupeKey: "event-7" }));
    const other = await addAlert({ body: '{"a":1}', dedupeKey: "event-7" });
    expect(await read(`/alerts/${id}`)).toContain("1 time by the sender: recognised as the same, not sent on");
    expect(await read(`/alerts/${other.id}`)).toContain("for another body before");
  });
});

describe("destinations", () => {
  test("says when a destination last took a message, passed a check, and why it could not be asked", async () => {
    const now = createTestClock().now();
    const detail = "no answer within 20 s";
    const { read } = await createWebFixture({
      statuses: {
        ops: { lastProvenAt: now - 60_000 },
        treasury: { lastSentAt: now - 7_200_000, failedProbes: { count: 1, reason: "no_answer", detail } },
      },
    });
    const page = (await read("/destinations")).replace(/<[^>]+>/g, "");
    expectWords(page, ["A check without a message last passed 1 min ago.", "Last delivered 2 h ago."]);
    expectWords(page, `Asked again soon, as it just did not answer: ${detail}.`, { not: "not tried yet" });
    expectWords(page, ["✓works (it passed a check 1 min ago)", "✓works (it took a message 2 h ago)"]);
  });

  test("nothing is green where nothing was tried, nor where a host has merely answered", async () => {
    const { destinations, read, api, clock } = await createWebFixture();
    const look = async (lastProvenAt?: number) => {
      const destination = { ...destinationBase("pager"), type: "webhook", url: "https://pager.example", headers: {} };
      const own = { kind: "destination", name: "pager", health: "ok", reason: "", since: 0, failures: 0 } as const;
      destinations[2] = { destination: destination as Destination, own: { ...own, lastProvenAt } };
      return (await read("/destinations")).split('id="destination-pager"')[1] ?? "";
    };
    const untried = /<span class="chip off">.*not tried yet<\/span>/;
    expect(await look()).toMatch(untried);
    expectWords(await look(clock.now() - 60_000), [untried, "Its host last answered"]);
    const { data } = (await (await api("/api/destinations")).json()) as { data: object[] };
    expect(data[2]).toMatchObject({ name: "pager", verdict: "untried" });
    expect(data[2]).not.toHaveProperty("provenAt");
  });

  test("are paused in two steps, say so on every page, and are resumed from there", async () => {
    const { read, post, operations } = await createWebFixture();
    expect(await read("/destinations")).toMatch(/<details[^>]*><summary>Pause…/);
    const paused = await post("/destinations/ops/pause");
    expect(paused.headers.get("location")).toBe("/destinations?changed=ops#destination-ops");
    expect((await operations.destinations())[0]?.paused?.by).toBe("page");
    expect(await read("/destinations?changed=ops")).toContain("what comes for it waits until");
    expectWords(await read("/mutes"), ["ops is paused", /<form method="post" action="\/destinations\/ops\/resume">/]);
    await post("/destinations/ops/resume");
    expect((await operations.destinations())[0]?.paused).toBeUndefined();
    expect((await post("/destinations/none/pause")).status).toBe(404);
  });

  test("say how to get one when there is none", async () => {
    const { read, operations } = await createWebFixture();
    operations.destinations = async () => [];
    expectWords(await read("/destinations"), ["No destination is configured", "TELEGRAM_CHAT_IDS"]);
  });
});

describe("mutes", () => {
  test("are added line by line and ended by a button", async () => {
    const { read, post, operations } = await createWebFixture();
    const typed = { match: "severity=info\r\n\r\ntoken=USDC,DAI", for: "24h", reason: "quiet day" };
    const added = await post("/mutes", typed);
    const [mute] = await operations.listMutes();
    expect(added.headers.get("location")).toBe(`/mutes?added=${mute?.id}`);
    expect(mute?.matchers).toHaveLength(2);
    expect(await read("/mutes")).toContain("token=USDC,DAI");
    await post(`/mutes/${mute?.id}/end`);
    expect(await operations.listMutes()).toEqual([]);
    expect((await post(`/mutes/${mute?.id}/end`)).status).toBe(404);
  });

  test("say what they would have held, before and after they are made", async () => {
    const { read, post, addAlert, operations } = await createWebFixture();
    await addAlert({ facts: { token: "USDC" } });
    await addAlert({ facts: { token: "DAI" } });
    const typed = { match: "token=USDC", for: "4h", reason: "<why>" };
    const asked = await (await post("/mutes", { ...typed, do: "preview" })).text();
    const kept = ["token=USDC</textarea>", 'value="&lt;why&gt;"', /<option value="4h" selected/];
    expectWords(asked, ["It would have muted 1 of the 2 alerts of the last 24 h.", ...kept]);
    expect(await operations.listMutes()).toEqual([]);
    const vain = /class="notice warning"[^>]*>It matches none of the 2 alerts of the last 24 h\./;
    expect(await (await post("/mutes", { match: "token=USDT", do: "preview" })).text()).toMatch(vain);

    const made = await post("/mutes", { ...typed, match: "token=USDT" });
    const after = await read(made.headers.get("location") ?? "");
    expectWords(after, ["Muted. Alerts that match are stored", vain]);
    expect(await read("/mutes?added=unknown")).not.toContain("notice");
  });

  test("of everything begin on either page of rules, and stand in red on every page until they end", async () => {
    const { read, post, operations, clock } = await createWebFixture();
    for (const path of ["/routes", "/mutes"]) expect(await read(path)).toContain("Mute everything for…");
    const unsaid = await post("/mutes", { all: "true", for: "4h", reason: "" });
    expect(unsaid.status).toBe(400);
    expect(await unsaid.text()).toMatch(/<details class="action" open=""><summary>Mute everything for…/);
    await post("/mutes", { all: "true", for: "1h", reason: "the exchange moves" });
    const [mute] = await operations.listMutes();
    expect(mute).toMatchObject({ matchers: [], endsAt: clock.now() + 3_600_000, createdBy: "page" });
    await clock.advance(1_000);
    const page = await read("/");
    const [, strip = ""] = /<li class="notice bad">(.*?)<\/li>/s.exec(page) ?? [];
    expect(strip.replaceAll(/<[^>]+>/g, "")).toMatch(
      /^Everything is muted until .*13:00.* · made by page the exchange moves/s,
    );
    await post(/action="(\/mutes\/[^"]+\/end)"/.exec(strip)?.[1] ?? "");
    await clock.advance(1_000);
    expect(await read("/")).not.toContain("Everything is muted");
  });

  test("that cannot be read keep what was typed", async () => {
    const { post } = await createWebFixture();
    const answer = await post("/mutes", { match: "severty=info", for: "1h", reason: "why not" });
    expect(answer.status).toBe(400);
    expectWords(await answer.text(), ["did you mean severity?", "severty=info", 'value="why not"']);
  });
});

test("the API's page documents every route and every shape", async () => {
  const { read, web } = await createWebFixture();
  const page = await read("/api");
  for (const route of web.routes.filter((candidate) => / \/api\/(?!openapi)/.test(candidate)))
    expect(page).toContain(route.split(" ")[1]?.replace(/:(\w+)/g, "{$1}"));
  expect(page).toContain('id="shape-AlertDetail"');
});

describe("what quiet hours hold", () => {
  async function prepare() {
    const fixture = await createWebFixture();
    const held = { state: "held" as const, dueAt: fixture.clock.now() + 3_600_000 };
    const { id } = await fixture.addAlert({ deliveries: [held, { ...held, destination: "treasury" }] });
    const heldByQuietHours = { count: 1, until: held.dueAt };
    const { destinations } = fixture.operations;
    fixture.operations.destinations = async () => (await destinations()).map((view) => ({ ...view, heldByQuietHours }));
    const dueAts = async () =>
      (await fixture.store.getAlert(id))?.deliveries.map(({ dueAt }) => (dueAt ?? 0) - fixture.clock.now());
    return { ...fixture, id, dueAts };
  }

  test("can be released for a destination, in two steps", async () => {
    const { read, post, dueAts } = await prepare();
    const page = await read("/destinations");
    expectWords(page, ["Release 1 held now", /<details[\s\S]*action="\/destinations\/ops\/release"/]);
    expect((await post("/destinations/ops/release")).headers.get("location")).toBe("/destinations?released=1");
    expect(await dueAts()).toEqual([0, 3_600_000]);
    expect(await read("/destinations?released=1")).toContain("Released: 1 held");
    expect(await read("/destinations?released=x<b>")).not.toContain("Released:");
  });

  test("can be sent now from the alert's page", async () => {
    const { read, post, id, dueAts } = await prepare();
    expect((await read(`/alerts/${id}`)).match(/>\s*Send now\s*</g)).toHaveLength(2);
    const answer = await post(`/alerts/${id}/release`, { destination: "treasury" });
    expect(await dueAts()).toEqual([3_600_000, 0]);
    const after = await read(answer.headers.get("location") ?? "");
    expect(after).toContain("Released: it is sent now");
    expect(after.match(/>\s*Send now\s*</g)).toHaveLength(1);
    await post(`/alerts/${id}/release`);
    expect(await dueAts()).toEqual([0, 0]);
  });
});

test("the account's page shows the hook also while the store does not answer, and says that it does not", async () => {
  const fixture = await createWebFixture();
  fixture.operations.status = async () => {
    throw new AppError("store_unavailable", "The database has stopped.");
  };
  expectWords(await fixture.read("/setup"), ["http://tocsin.test/hooks/…", "The database has stopped."]);
});

describe("the rooms", () => {
  /** Every page that there was under a name of its own, and the room in which it is. */
  const pages = {
    "/": "Alerts",
    "/destinations": "Destinations",
    "/routes": "Rules",
    "/mutes": "Rules",
    "/setup": "Watch",
    "/gaps": "Watch",
    "/silence": "Watch",
    "/shapes": "Watch",
    "/refused": "Watch",
    "/system": "Tocsin",
    "/api": "Tocsin",
  };

  test.each(Object.entries(pages))(
    "%s is in the room %s, asks a question, and its room leads to it",
    async (path, room) => {
      const { read, get } = await createWebFixture();
      const answer = await get(path);
      expect(answer.status).toBe(200);
      const page = await answer.text();
      const [, title] = /<title>([^<]+\?) · Tocsin<\/title>/.exec(page) ?? [];
      expect(page).toMatch(new RegExp(`<h1[^>]*>${title?.replace("?", "\\?")}</h1>`));
      const [, nav = ""] = /<nav class="rooms"[^>]*>(.*?)<\/nav>/s.exec(page) ?? [];
      const links = [...nav.matchAll(/<a[^>]*href="([^"]+)"[^>]*>(.*?)<\/a>/g)].map(
        ([link, to = "", content = ""]) => ({
          to,
          name: content.replace(/<[^>]+>/g, ""),
          isHere: link.includes("aria-current"),
        }),
      );
      expect(links.map(({ name }) => name)).toEqual(["Tocsin", "Alerts", "Destinations", "Rules", "Watch"]);
      const here = links.filter(({ isHere }) => isHere);
      expect(here.map(({ name }) => name)).toEqual([room]);
      expect(await read(here[0]?.to ?? "")).toContain(`href="${path}"`);
    },
  );

  test("are on the page of an address that leads nowhere, for who has logged in", async () => {
    const { ask, get } = await createWebFixture();
    const answer = await get("/nowhere");
    expect(answer.status).toBe(404);
    expect(await answer.text()).toMatch(/<nav class="rooms".*There is no such page/s);
    const nobody = await ask("/nowhere");
    expect(nobody.status).toBe(404);
    expect(await nobody.text()).not.toContain("<nav");
  });
});
