import { describe, expect, test } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { Downtime } from "../../src/core/gaps.ts";
import { silentLog } from "../../src/core/log.ts";
import type { PictureOutcome } from "../../src/core/picture-outcome.ts";
import { createComposer } from "../../src/delivery/lane/compose.ts";
import { createComposeAgain } from "../../src/explain/processing.ts";
import { createRendering } from "../../src/rendering/rendering.ts";
import { makeAlert, makeContext } from "../rendering/sample.ts";
import { chat } from "../routing/sample.ts";
import { expectWords } from "../support/expect-words.ts";
import { adminToken, attempt, createWebFixture, hookSecret, type WebFixture } from "../support/web-fixture.ts";

const minute = 60_000;

async function pageOf({ get }: WebFixture, id: string, query = ""): Promise<string> {
  const answer = await get(`/alerts/${id}${query}`);
  expect(answer.status).toBe(200);
  return answer.text();
}

/** Words without tags, as a reader sees them; pictures are left out. */
const wordsOf = (html: string) =>
  html
    .replace(/<svg[\s\S]*?<\/svg>/g, "")
    .replace(/<[^>]+>/g, "")
    .replaceAll(/\s+/g, " ");
const partOf = (page: string, id: string) =>
  new RegExp(`<section aria-labelledby="${id}">[\\s\\S]*?</section>`).exec(page)?.[0] ?? "";
const foldOf = (page: string, id: string) =>
  new RegExp(`<details id="${id}">[\\s\\S]*?(?=<details id=|</section>)`).exec(page)?.[0] ?? "";

/** Fires, and a word later whether it is over: each at its minute. */
async function fire(fixture: WebFixture, ...events: [minute: number, facts: Partial<AlertFacts>][]) {
  const start = fixture.clock.now();
  const ids: string[] = [];
  for (const [at, facts] of events) {
    await fixture.clock.advance(start + at * minute - fixture.clock.now());
    const { id } = await fixture.addAlert({
      facts: { alertKey: "pool <tvl>", threshold: "19000", unit: "USD", ...facts },
    });
    ids.push(id);
  }
  return ids as [string, ...string[]];
}

describe("what an alert is called", () => {
  const facts: Partial<AlertFacts> = {
    title: "Total TVL of pool 0x0b92…c1e0 on polygon",
    metric: "polygon_pool_total_tvl_0x0b92aaaabbbbccccddddeeeeffff00001111c1e0",
    chain: "polygon",
    token: "ONYX504",
    value: "18623.426",
    previousValue: "20282.771",
    threshold: "19000",
    unit: "USD",
  };
  const said = "ONYX504 pool TVL 18,623 USD, −8.2 %, below 19,000 (polygon)";

  test("is what its message says: in the tab, at the top, in the log and the API, with the title as sent beside it", async () => {
    const fixture = await createWebFixture();
    const { id } = await fixture.addAlert({ facts });
    const page = await pageOf(fixture, id);
    expectWords(page, [`<title>${said} · Tocsin</title>`, `<h1 dir="auto">${said}</h1>`]);
    expect(wordsOf(page)).toContain("Title as sentTotal TVL of pool 0x0b92…c1e0 on polygon");
    const alert = makeAlert({ facts: { ...facts, alertKey: "k" } });
    expect(createRendering().composeAlert(alert, makeContext()).subject).toContain(said);
    const log = await fixture.read('/?q="TVL of pool"');
    expect(log).toContain(`dir="auto" title="${said}">${said}</a>`);
    expect(log).toContain('title: <bdi dir="auto">Total <mark>TVL of pool</mark> 0x0b92');
    const wire = (await (await fixture.api(`/api/alerts/${id}`)).json()) as { data: unknown };
    expect(wire.data).toMatchObject({ title: facts.title, headline: said });
  });

  test("says no address whole in a row of the log, and none twice, unless it is searched for", async () => {
    const token = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
    const fixture = await createWebFixture();
    await fixture.addAlert({ facts: { title: "Volume of 0xa0b8…eb48", token } });
    const { get } = await fixture.logIn();
    await fixture.addAlert({ facts: { title: "Unnamed", alertKey: "unnamed", token } });
    const rows = await (await get("/")).text();
    expect(rows).not.toContain(token);
    expect(rows.match(/<bdi>0xa0b8…eb48<\/bdi>/g)).toHaveLength(1);
    const found = /<td class="what">.*?<\/td>/.exec(await (await get(`/?q=${token}`)).text())?.[0] ?? "";
    expect(wordsOf(found)).toContain(token);
  });

  test("says value and limit with the digits that tell them apart, once in a row of the log", async () => {
    const fixture = await createWebFixture();
    await fixture.addAlert({
      facts: { ...facts, value: "1083848000", threshold: "1083900000", previousValue: undefined },
    });
    const row = /<td class="number">.*?<\/td>/.exec(await fixture.read("/"))?.[0] ?? "";
    expect(wordsOf(row)).toBe("0.0048 % below");
  });
});

describe("the key of an alert", () => {
  test("says at the top that it is over, after how long, and the which time it was", async () => {
    const fixture = await createWebFixture();
    const [, , last = ""] = await fire(
      fixture,
      [0, { value: "18900" }],
      [5, { value: "19400", status: "resolved" }],
      [20, { value: "18600" }],
      [28, { value: "19100", status: "resolved" }],
    );
    await fixture.clock.advance(2 * minute);
    const page = await pageOf(fixture, last);
    const line = /<p class="key-line over">[\s\S]*?<\/p>/.exec(page)?.[0] ?? "";
    expect(wordsOf(line)).toBe(
      "Over since 2 min ago 21 Nov 2026, 12:28:00 UTC, after 8 min · 2nd time since 30 min ago 21 Nov 2026, 12:00:00 UTC · all of this key",
    );
    expect(page).toContain('id="key-title"');
  });

  test("says of one that was over that it fires again, and leads to the others", async () => {
    const fixture = await createWebFixture();
    const [first, over = "", again = ""] = await fire(fixture, [0, {}], [8, { status: "resolved" }], [30, {}]);
    const page = await pageOf(fixture, first);
    expect(wordsOf(page)).toContain("Over after 8 min; it fires again since just now");
    const section = partOf(page, "key-title");
    for (const id of [over, again]) expect(section).toContain(`<a href="/alerts/${id}">`);
    expect(section).not.toContain(`<a href="/alerts/${first}">`);
    expect(section.match(/, this one/g)).toHaveLength(1);
    expect(section).toContain("pool &lt;tvl&gt;");
    const [, log = ""] = /<a href="(\/\?key=[^"]+)">All in the log<\/a>/.exec(section) ?? [];
    const listed = await fixture.read(log);
    for (const id of [first, over, again]) expect(listed).toContain(`/alerts/${id}`);
  });

  test("draws values and threshold, and marks when it fired", async () => {
    const fixture = await createWebFixture();
    const [, second = ""] = await fire(
      fixture,
      [0, { value: "18900" }],
      [3, { value: "18623.426" }],
      [9, { value: "19400", status: "resolved" }],
    );
    const picture = /<figure class="picture">[\s\S]*?<\/figure>/.exec(await pageOf(fixture, second))?.[0] ?? "";
    expect(picture.match(/<svg /g)).toHaveLength(2);
    expectWords(picture, ["threshold 19,000 USD", "<desc>last 19,400 USD", "Fired 2 times."], { not: /NaN|Infinity/ });
  });

  test("draws nothing where no two alerts have a number, and no threshold where it is one of a change", async () => {
    const fixture = await createWebFixture();
    const [, second = ""] = await fire(fixture, [0, { value: "much" }], [1, { value: "18" }]);
    expect(await pageOf(fixture, second)).not.toContain("<figure");
    const fields = [{ name: "condition.kind", value: "change_percent" }];
    const [third] = await fire(fixture, [2, { value: "17", threshold: "2.5", fields }]);
    expectWords(await pageOf(fixture, third), "<figure", { not: "threshold 2.5" });
  });

  test("lists those around it, and leads to the others", async () => {
    const fixture = await createWebFixture();
    const ids = await fire(fixture, ...Array.from({ length: 20 }, (_, at): [number, object] => [at, {}]));
    const section = partOf(await pageOf(fixture, ids[10] ?? ""), "key-title");
    const listed = ids.flatMap((id, index) => (section.includes(`href="/alerts/${id}"`) ? [index] : []));
    expect(listed).toEqual([6, 7, 8, 9, 11, 12, 13, 14]);
    expect(section).toContain("All in the log");
  });
});

describe("what is called by its address alone", () => {
  const address = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
  const learned = { kind: "token", address, chain: "eth", name: "US<D>C", learnedAt: 0 } as const;
  const headOf = (page: string) => wordsOf(/<header class="headline">[\s\S]*?<\/header>/.exec(page)?.[0] ?? "");

  test("has the service's name in the headline, and whose word that is", async () => {
    const fixture = await createWebFixture({ learnedName: ({ token }) => (token === address ? learned : undefined) });
    const [short, whole = "", other = ""] = await fire(
      fixture,
      [0, { token: address, title: "TVL of 0xa0b8…eb48 on eth is 3 USD" }],
      [1, { token: address, title: `Depeg of ${address.toUpperCase()}` }],
      [2, { token: "ETH", title: "ETH" }],
    );
    expect(headOf(await pageOf(fixture, short))).toContain("TVL of US&lt;D&gt;C on eth is 3 USD");
    expect(headOf(await pageOf(fixture, short))).toContain(`Named bythe service: ${address} on eth is US&lt;D&gt;C`);
    expect(headOf(await pageOf(fixture, whole))).toContain("Depeg of US&lt;D&gt;C");
    expect(await pageOf(fixture, whole)).not.toContain("learned since");
    expect(headOf(await pageOf(fixture, other))).not.toContain("Named by");
  });

  test("says that it was learned later than the alert came", async () => {
    const fixture = await createWebFixture({
      learnedName: () => ({ ...learned, learnedAt: fixture.clock.now() - minute }),
    });
    const [id] = await fire(fixture, [0, { token: address, title: "A title of its own" }]);
    await fixture.clock.advance(10 * minute);
    const head = headOf(await pageOf(fixture, id));
    expectWords(head, ["A title of its own", ", learned since: its messages have the address"]);
  });
});

describe("pictures that are loaded by themselves", () => {
  const metric = "eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";

  test("the metric's seven days are one, with the threshold, for light and dark", async () => {
    const asked: string[] = [];
    const fixture = await createWebFixture({
      metricHistory: async (key) => {
        asked.push(key);
        const now = fixture.clock.now();
        return [
          { at: now - 90 * minute, value: 20_000 },
          { at: now, value: 18_600 },
        ];
      },
    });
    const [id] = await fire(fixture, [0, { metric, value: "18600" }]);
    expect(await pageOf(fixture, id)).toContain(`src="/alerts/${id}/metric.svg"`);
    expect(asked).toEqual([]);
    const answers = await Promise.all(
      ["", "?theme=dark"].map((query) => fixture.get(`/alerts/${id}/metric.svg${query}`)),
    );
    const [light = "", dark = ""] = await Promise.all(answers.map((answer) => answer.text()));
    expect(answers.map(({ headers }) => headers.get("content-type"))).toEqual(
      Array(2).fill("image/svg+xml; charset=utf-8"),
    );
    for (const words of ["threshold 19,000 USD", "Fired 1 time."]) expect(light).toContain(words);
    expect(dark).not.toBe(light);
    expect(asked).toEqual([metric, metric]);
  });

  test("what the market does stands beside the metric's as far as it is known, and the picture makes it known", async () => {
    let line: string | undefined;
    const asked: string[] = [];
    const fixture = await createWebFixture({
      metricHistory: async () => [],
      market: {
        known: () => line,
        describe: async (id) => {
          asked.push(id);
          line = "1 h −0.4 % · 24 h <8.2 %";
          return line;
        },
      },
    });
    const [id] = await fire(fixture, [0, { metric }]);
    expect(await pageOf(fixture, id)).toContain('<div data-live="market"></div>');
    expect(asked).toEqual([]);
    await fixture.get(`/alerts/${id}/metric.svg`);
    expect(asked).toEqual([id]);
    expect(await pageOf(fixture, id)).toContain(
      '<div data-live="market"><p class="soft">The market: 1 h −0.4 % · 24 h &lt;8.2 %</p></div>',
    );
    const without = await createWebFixture({ metricHistory: async () => [] });
    const [alone] = await fire(without, [0, { metric }]);
    expect(await pageOf(without, alone)).not.toContain('data-live="market"');
  });

  test("the metric's says so when the service does not, and is asked for only where there is a key", async () => {
    const fixture = await createWebFixture({ metricHistory: async () => undefined });
    const [id] = await fire(fixture, [0, { metric }]);
    const answer = await fixture.get(`/alerts/${id}/metric.svg`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain("the service does not answer now");
    for (const text of ["TVL of the pool", "../../account", "a_b_c?key=x", undefined]) {
      const [other] = await fire(fixture, [1, { metric: text }]);
      expect(await pageOf(fixture, other)).not.toContain("metric.svg");
      expect((await fixture.get(`/alerts/${other}/metric.svg`)).status).toBe(404);
    }
    const without = await createWebFixture();
    const [alone] = await fire(without, [0, { metric }]);
    expect(await pageOf(without, alone)).not.toContain("metric.svg");
  });

  test("the key's is a PNG as well, and an error with a way out where none can be made", async () => {
    let png: Uint8Array | undefined = new TextEncoder().encode("png");
    let drawn = "";
    const fixture = await createWebFixture({
      toPng: async (svg) => {
        drawn = svg;
        return png;
      },
    });
    const [id, second = ""] = await fire(fixture, [0, { value: "1", title: "A <b> title" }], [1, { value: "2" }]);
    expect(await pageOf(fixture, id)).toContain(`href="/alerts/${id}/picture.png"`);
    const answer = await fixture.get(`/alerts/${id}/picture.png`);
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([200, "image/png", "png"]);
    expect(drawn).toContain("A &lt;b&gt; title");
    png = undefined;
    expect((await fixture.get(`/alerts/${second}/picture.png`)).status).toBe(500);
    const alone = await fixture.addAlert({ facts: { alertKey: "alone" } });
    expect((await fixture.get(`/alerts/${alone.id}/picture.png`)).status).toBe(404);
  });
});

test("charts have the times of the zone that the browser has named", async () => {
  const fixture = await createWebFixture({ metricHistory: async () => [{ at: fixture.clock.now(), value: 18_600 }] });
  const metric = "eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
  const [id] = await fire(fixture, [0, { metric, value: "18600" }], [1, { metric, value: "18601" }]);
  const browser = await fixture.logIn();
  const headers = { cookie: `${browser.cookie}; zone=Asia%2FSingapore` };
  for (const path of [`/alerts/${id}`, `/alerts/${id}/metric.svg`]) {
    const page = await (await browser.get(path, { headers })).text();
    expect(/<svg[\s\S]*<\/svg>/.exec(page)?.[0]).toContain("GMT+8");
  }
});

describe("who got it", () => {
  const rowsOf = (page: string) =>
    [...partOf(page, "deliveries-title").matchAll(/<tr id=[\s\S]*?<\/tr>/g)].map(([row]) => wordsOf(row));

  test("says that Tocsin was not running only where it was not", async () => {
    const downtimes: Downtime[] = [];
    const fixture = await createWebFixture({ downtimes });
    const { store, clock } = fixture;
    const { id } = await fixture.addAlert();
    const from = clock.now();
    await clock.advance(90_000);
    await attempt(store, "ops", clock.now(), { outcome: "sent", next: { state: "sent", reason: "" } });
    expect(rowsOf(await pageOf(fixture, id))).toEqual([
      expect.stringMatching(/waited 1 min for its turn12:01:30 sent, 240 ms/),
    ]);
    downtimes.push(
      { fromAt: from - 60_000, toAt: from + 45_000 },
      { fromAt: from, toAt: from + 90_000, restored: true },
    );
    expect(rowsOf(await pageOf(fixture, id))).toEqual([
      expect.stringContaining("waited 1 min for its turn, Tocsin was not running for 45 s of it"),
    ]);
  });

  test("folds the first of many calls", async () => {
    const fixture = await createWebFixture();
    const { store, clock } = fixture;
    const { id } = await fixture.addAlert();
    for (let count = 0; count < 9; count += 1) {
      await attempt(store, "ops", clock.now(), {
        outcome: "retry",
        reason: "server_error",
        detail: `fault ${count}`,
        next: { state: "waiting", reason: `fault ${count}`, dueAt: clock.now() + 1_000 },
      });
      await clock.advance(1_000);
    }
    const part = partOf(await pageOf(fixture, id), "deliveries-title");
    const folded = /<details><summary>5 before<\/summary>[\s\S]*?<\/details>/.exec(part)?.[0] ?? "";
    expect([folded.match(/fault \d/g), part.match(/fault \d/g)?.length]).toEqual([
      ["fault 0", "fault 1", "fault 2", "fault 3", "fault 4"],
      9,
    ]);
  });
});

describe("the messages of an alert", () => {
  const composeAgain = createComposeAgain(
    createComposer({ rendering: createRendering({ publicUrl: "http://tocsin.test" }), log: silentLog }),
    [chat("ops"), chat("treasury")],
  );

  test("sent as JSON are laid out for reading", async () => {
    const composed = {
      destination: "hooks",
      channel: "webhook" as const,
      inDigest: false,
      texts: [JSON.stringify({ type: "alert", value: "1.50", alerts: Array.from({ length: 40 }, (_, at) => at) })],
    };
    const fixture = await createWebFixture({ composeAgain: () => [composed] });
    const { id } = await fixture.addAlert();
    const part = foldOf(await pageOf(fixture, id), "messages-title");
    expect(part).toContain("{\n  &quot;type&quot;: &quot;alert&quot;,\n  &quot;value&quot;: &quot;1.50&quot;,");
  });

  test("say which part of a long one each text is", async () => {
    const composed = { destination: "ops", channel: "telegram" as const, inDigest: false, texts: ["first", "second"] };
    const fixture = await createWebFixture({ composeAgain: () => [composed] });
    const part = foldOf(await pageOf(fixture, (await fixture.addAlert()).id), "messages-title");
    expect(wordsOf(part)).toContain("Part 1 of 2 firstPart 2 of 2 second");
  });

  test("are in the evidence, with request, decisions, attempts, key and configuration, and no secret", async () => {
    const fixture = await createWebFixture({ composeAgain, configurationHash: "ab12", version: "1.2.3" });
    const { id } = await fixture.addAlert({ body: '{"value":18623.4260}', headers: [["x-api-key", "***"]] });
    await attempt(fixture.store, "ops", fixture.clock.now(), { outcome: "sent", next: { state: "sent", reason: "" } });
    const other = await fixture.addAlert();
    const answer = await fixture.get(`/alerts/${id}/evidence`);
    expect(answer.headers.get("content-disposition")).toBe(`attachment; filename="${id}.json"`);
    const text = await answer.text();
    const { data } = JSON.parse(text);
    expect(data.relay).toEqual({ version: "1.2.3", url: "http://tocsin.test", configurationSha256: "ab12" });
    expect(data.alert).toMatchObject({
      id,
      request: { body: '{"value":18623.4260}' },
      decisions: [{ result: "deliver" }],
      deliveries: [{ attempts: [{ outcome: "sent" }] }],
    });
    expect(data.messages[0].texts[0]).toContain("TVL of USDC dropped");
    expect(data.sameKey).toMatchObject({ isAll: true, alerts: [{ id: other.id }, { id }] });
    const fromApi = (await (await fixture.api(`/api/alerts/${id}/evidence`)).json()) as { data: unknown };
    expect(fromApi.data).toEqual(data);
    for (const secret of [adminToken, hookSecret]) expect(text).not.toContain(secret);
    expect((await fixture.api("/api/alerts/nobody/evidence")).status).toBe(404);
  });
});

test("the picture of a message is said at its delivery: how long after the text it joined, or why there is none; nothing where none was to come", async () => {
  const outcomes = new Map<string, PictureOutcome>();
  const fixture = await createWebFixture({ pictureOf: ({ id }) => outcomes.get(id) });
  const others = ["treasury", "night", "phone", "tablet"].map((destination) => ({ destination }));
  const { id } = await fixture.addAlert({ deliveries: [{}, ...others] });
  const { deliveries } = (await fixture.store.getAlert(id)) ?? { deliveries: [] };
  const [joined, none, linked, fetched] = deliveries.map((delivery) => delivery.id);
  outcomes.set(linked ?? "", { result: "linked" });
  outcomes.set(fetched ?? "", { result: "fetched", afterMs: 2_400, times: 3 });
  outcomes.set(joined ?? "", { result: "joined", afterMs: 1_300 });
  outcomes.set(none ?? "", { result: "not_drawn", reason: "fewer than two values are known" });
  const words = wordsOf(partOf(await pageOf(fixture, id), "deliveries-title"));
  expectWords(words, ["picture joined 1.3 s later", "no picture: fewer than two values are known"]);
  expectWords(words, ["picture by an address that nobody has fetched yet", "picture fetched 2.4 s later, 3 times"]);
  expect(words.match(/picture/g)).toHaveLength(4);
  const { data } = (await (await fixture.api(`/api/alerts/${id}`)).json()) as {
    data: { deliveries: { id: string; picture?: object }[] };
  };
  expect(data.deliveries.map(({ id: own, picture }) => [outcomes.get(own), picture])).toEqual(
    data.deliveries.map(({ id: own }) => [outcomes.get(own), outcomes.get(own)]),
  );
});

test("long content is shown from its beginning, with a box to tick for all of it", async () => {
  const fixture = await createWebFixture();
  const rows = Array.from({ length: 2_000 }, (_, row) => ({ row }));
  const fields = Array.from({ length: 40 }, (_, n) => ({ name: `field ${n}`, value: String(n) }));
  const { id } = await fixture.addAlert({ body: JSON.stringify(rows), facts: { text: "word ".repeat(2_000), fields } });
  const page = await pageOf(fixture, id);
  expectWords(page, ['aria-label="Show all of the body"', 'aria-label="Show all of the text"', "field 39"]);
  const short = await fixture.addAlert({ body: '{"a":1}', facts: { text: "short" } });
  expect(await pageOf(fixture, short.id)).not.toContain("Show all");
});

test("a line for a shell holds no word that the sender chose freely", async () => {
  const fixture = await createWebFixture();
  const { id } = await fixture.addAlert({ contentType: "text/plain'; rm -rf ~; '" });
  const page = await pageOf(fixture, id);
  expect(page).toContain(`/alerts/${id}</pre>`);
  expect(/<pre id="curl-again"[^>]*>([\s\S]*?)<\/pre>/.exec(page)?.[1]).not.toContain("rm -rf");
});
