import { describe, expect, test } from "vitest";
import { z } from "zod";
import { alertDetailView, alertView, deliveryView } from "../../src/contract/views/alerts.ts";
import { destinationView } from "../../src/contract/views/destinations.ts";
import { muteView, newMuteView } from "../../src/contract/views/mutes.ts";
import { statusView } from "../../src/contract/views/status.ts";
import { AppError } from "../../src/core/errors.ts";
import { attempt, createWebFixture, type WebFixture } from "../support/web-fixture.ts";
import { fillScene } from "../support/web-scene.ts";

const listSchema = z.object({ data: z.array(alertView), meta: z.object({ nextCursor: z.string().nullable() }) });

async function list({ api }: WebFixture, query = "") {
  const answer = await api(`/api/alerts${query}`);
  expect(answer.status).toBe(200);
  const page = (await answer.json()) as z.input<typeof listSchema>;
  listSchema.parse(page);
  return page;
}

/** As it is outside: what its view can read. */
async function readData<S extends z.ZodType>(answer: Response, view: S): Promise<z.input<S>> {
  const { data } = (await answer.json()) as { data: z.input<S> };
  view.parse(data);
  return data;
}

async function readError(answer: Response) {
  return z
    .object({ error: z.object({ code: z.string(), message: z.string(), hint: z.string().optional() }) })
    .parse(await answer.json()).error;
}

function sendJson(body: unknown, method = "POST"): RequestInit {
  return { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

test("a HEAD of the event stream takes no place of a reader", async () => {
  const { api } = await createWebFixture();
  for (let asked = 0; asked < 201; asked += 1) {
    expect((await api("/api/stream", { method: "HEAD" })).status).toBe(200);
  }
  const opened = await api("/api/stream");
  expect(opened.status).toBe(200);
  await opened.body?.cancel();
});

describe("GET /api/alerts", () => {
  test("gives the newest first, each with its deliveries", async () => {
    const fixture = await createWebFixture();
    const older = await fixture.addAlert();
    const newer = await fixture.addAlert({ facts: { title: "Second", value: "1.10", occurredAt: 0 } });
    const { data, meta } = await list(fixture);
    expect(meta.nextCursor).toBeNull();
    expect(data.map(({ id }) => id)).toEqual([newer.id, older.id]);
    expect(data[0]).toMatchObject({
      title: "Second",
      severity: "critical",
      url: `http://tocsin.test/alerts/${newer.id}`,
      receivedAt: "2026-11-21T12:00:00.000Z",
      facts: { value: "1.10", occurredAt: "1970-01-01T00:00:00.000Z" },
      deliveries: [{ destination: "ops", channel: "telegram", state: "queued" }],
    });
  });

  test("calls what has an address alone by the name that was learned, and says whose word it is", async () => {
    const address = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
    const learned = { kind: "token", chain: "eth", address, name: "USDC", learnedAt: 0 } as const;
    const fixture = await createWebFixture({ learnedName: ({ token }) => (token === address ? learned : undefined) });
    const facts = { title: "TVL of 0xa0b8…eb48 is 3", token: address };
    const { id } = await fixture.addAlert({ facts });
    await fixture.addAlert({ facts: { title: "ETH", token: "ETH" } });
    const named = {
      title: facts.title,
      headline: "TVL of USDC is 3",
      learnedName: { ...learned, learnedAt: "1970-01-01T00:00:00.000Z" },
    };
    const { data } = await list(fixture);
    expect(data[1]).toMatchObject(named);
    expect(data[0]?.learnedName).toBeUndefined();
    const detail = await readData(await fixture.api(`/api/alerts/${id}`), alertDetailView);
    expect(detail).toMatchObject(named);
    const exported = await fixture.api("/api/export?format=ndjson");
    expect(await exported.text()).toContain('"headline":"TVL of USDC is 3"');
  });

  test("walks the whole log by its cursor, although more comes in meanwhile", async () => {
    const fixture = await createWebFixture();
    const ids: string[] = [];
    for (let round = 0; round < 7; round += 1) ids.unshift((await fixture.addAlert()).id);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: z.input<typeof listSchema> = await list(
        fixture,
        `?limit=3${cursor === null ? "" : `&cursor=${cursor}`}`,
      );
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.meta.nextCursor;
      await fixture.addAlert();
    } while (cursor !== null);
    expect(seen).toEqual(ids);
  });

  test("a page that was not full when its time was over says how far back it looked, and goes on from there", async () => {
    const fixture = await createWebFixture();
    const [older, newer] = [await fixture.addAlert(), await fixture.addAlert()];
    const [, before] = await fixture.store.listAlerts({ limit: 2 });
    if (before === undefined) throw new Error("there are two");
    const { listAlertsWithin } = fixture.store;
    fixture.store.listAlertsWithin = async (query) => {
      if (query.before !== undefined) return listAlertsWithin(query, 0);
      const [alert] = await fixture.store.listAlerts({ limit: 1 });
      if (alert === undefined) throw new Error("there is one");
      return { alerts: [alert], stopped: { position: alert.position, receivedAt: alert.receivedAt, looked: 1 } };
    };
    const first = z
      .object({ data: z.array(alertView), meta: z.object({ nextCursor: z.string(), searchedTo: z.string() }) })
      .parse(await (await fixture.api("/api/alerts?q=tvl")).json());
    expect(first.data.map(({ id }) => id)).toEqual([newer.id]);
    expect(first.meta.searchedTo).toBe("2026-11-21T12:00:00.000Z");
    const rest = await list(fixture, `?cursor=${first.meta.nextCursor}`);
    expect(rest.data.map(({ id }) => id)).toEqual([older.id]);
    expect(rest.meta).toEqual({ nextCursor: null });
  });

  test("an alert that is not read yet is there, with nothing made up", async () => {
    const fixture = await createWebFixture();
    await fixture.addAlert({ unrouted: true });
    const { data } = await list(fixture, "?state=unrouted");
    expect(data[0]).toMatchObject({ title: null, severity: null, facts: null, routedAt: null, deliveries: [] });
  });

  test.each([
    ["?q=usdt%20peg", []],
    ["?q=usdt%20exch", ["USDT trades at 0.9931 on three exchanges"]],
    ["?severity=warning", ["Pool volume of WETH/USDC 0.05 % fell by 41 % within an hour on Arbitrum"]],
    ["?state=failed", ["TVL of USDC on Ethereum below 25,000,000 USD"]],
    ["?state=unmatched", ["Daily liquidity report is ready"]],
    ["?state=muted&destination=ops", ["Gas price above 80 gwei"]],
    [
      "?destination=treasury&severity=warning",
      ["Pool volume of WETH/USDC 0.05 % fell by 41 % within an hour on Arbitrum"],
    ],
    ["?from=2026-11-21T12:10:00Z&to=2026-11-21T14:20:00%2B02:00", ["Gas price above 80 gwei"]],
  ])("finds by %s", async (query, titles) => {
    const fixture = await createWebFixture();
    await fillScene(fixture);
    const { data } = await list(fixture, query);
    expect(data.map(({ title }) => title)).toEqual(titles);
  });

  test.each([
    ["?limit=0", "limit must be at least 1"],
    ["?limit=201", "limit must be at most 200"],
    ["?limit=ten", "limit must be a whole number"],
    ["?limit=1.5", "limit must be a whole number"],
    ["?cursor=abc", "cursor is not a cursor"],
    ["?cursor=-1", "cursor is not a cursor"],
    ["?severity=high", "severity must be one of critical, warning, info, unknown"],
    ["?state=done", "state must be one of"],
    ["?to=2026-11-21", "to must be a time in ISO 8601 with its zone"],
    ["?from=yesterday", "from must be a time in ISO 8601"],
    ["?from=2026-11-21T14:00:00", "from must be a time in ISO 8601 with its zone"],
    ["?sate=failed", "sate is not known here"],
    ["?severity=info&severity=critical", "severity must be one of"],
  ])("%s is refused and explained", async (query, message) => {
    const { api } = await createWebFixture();
    const answer = await api(`/api/alerts${query}`);
    expect(answer.status).toBe(400);
    const error = await readError(answer);
    expect(error.code).toBe("invalid_request");
    expect(error.message).toContain(message);
  });
});

describe("GET /api/alerts/:id", () => {
  test("gives all that is known: request, decisions, attempts", async () => {
    const fixture = await createWebFixture();
    const body = '{"value": 1.10, "big": 123456789012345678901}';
    const { id } = await fixture.addAlert({ body, headers: [["X-Key", "***"]], dedupeKey: "k1" });
    await attempt(fixture.store, "ops", fixture.clock.now(), {
      outcome: "retry",
      reason: "rate_limited",
      detail: "Too Many Requests: retry after 5",
      next: { state: "waiting", reason: "Too Many Requests", dueAt: fixture.clock.now() + 5_000 },
    });
    const data = await readData(await fixture.api(`/api/alerts/${id}`), alertDetailView);
    expect(data.request).toMatchObject({
      body,
      bodyEncoding: "utf8",
      bodyBytes: body.length,
      headers: [["X-Key", "***"]],
      item: 1,
      items: 1,
      dedupeKey: "k1",
      conflict: false,
      duplicates: 0,
    });
    expect(data.decisions).toEqual([
      { route: "everything", destination: "ops", result: "deliver", reason: "the route takes every alert" },
    ]);
    expect(data.deliveries[0]).toMatchObject({
      state: "waiting",
      dueAt: "2026-11-21T12:00:05.000Z",
      attempts: [
        {
          at: "2026-11-21T12:00:00.000Z",
          outcome: "retry",
          reason: "rate_limited",
          detail: "Too Many Requests: retry after 5",
          durationMs: 240,
          part: 1,
          parts: 1,
        },
      ],
    });
  });

  test.each([
    ["text", Buffer.from("Grüße \u0000 \ud83d\udea8"), "utf8"],
    ["a byte order mark", Buffer.from("\ufeff{}"), "utf8"],
    ["bytes", Buffer.from([0xff, 0xfe, 0x00, 0x80]), "base64"],
    ["nothing", Buffer.alloc(0), "utf8"],
  ])("a body of %s comes back byte for byte", async (_what, body, encoding) => {
    const fixture = await createWebFixture();
    const { id } = await fixture.addAlert({ body });
    const { request } = await readData(await fixture.api(`/api/alerts/${id}`), alertDetailView);
    expect(request?.bodyEncoding).toBe(encoding);
    expect(Buffer.from(request?.body ?? "", encoding as BufferEncoding)).toEqual(body);
  });

  test("an instant that no date can hold costs no answer", async () => {
    const fixture = await createWebFixture();
    const { id } = await fixture.addAlert({ facts: { occurredAt: 9e15 } });
    expect((await fixture.api(`/api/alerts/${id}`)).status).toBe(200);
    expect((await (await fixture.logIn()).get(`/alerts/${id}`)).status).toBe(200);
  });

  test("an id that does not exist is 404 with a hint", async () => {
    const { api } = await createWebFixture();
    for (const id of ["0190-nothing", "%00", "..%2f..%2fetc"]) {
      const answer = await api(`/api/alerts/${id}`);
      expect(answer.status).toBe(404);
      expect((await readError(answer)).code).toBe("not_found");
    }
  });
});

describe("POST /api/alerts/:id/resend", () => {
  async function prepare() {
    const fixture = await createWebFixture();
    const { id } = await fixture.addAlert({ deliveries: [{}, { destination: "treasury" }] });
    const states = async () =>
      (await fixture.store.getAlert(id))?.deliveries.map(({ destination, purpose }) => [destination, purpose]);
    return { ...fixture, id, states };
  }

  test("without a body goes to every destination that it had", async () => {
    const { api, id, states } = await prepare();
    const answer = await api(`/api/alerts/${id}/resend`, { method: "POST" });
    expect(answer.status).toBe(200);
    const made = await readData(answer, z.array(deliveryView));
    expect(made.map(({ purpose }) => purpose)).toEqual(["resend", "resend"]);
    expect(await states()).toHaveLength(4);
  });

  test("names one destination", async () => {
    const { api, id, states } = await prepare();
    await api(`/api/alerts/${id}/resend`, sendJson({ destination: "treasury" }));
    expect((await states())?.slice(2)).toEqual([["treasury", "resend"]]);
  });

  test.each<[string, RequestInit, number]>([
    ["an unknown destination", sendJson({ destination: "nowhere" }), 404],
    ["a misspelt field", sendJson({ destinaton: "treasury" }), 400],
    ["a body that is no JSON", { ...sendJson(""), body: "{" }, 400],
    ["a body without its type", { method: "POST", body: '{"destination":"treasury"}' }, 400],
    ["a form", { method: "POST", body: new URLSearchParams({ destination: "treasury" }) }, 400],
  ])("%s resends nothing", async (_what, init, status) => {
    const { api, id, states } = await prepare();
    const answer = await api(`/api/alerts/${id}/resend`, init);
    expect(answer.status).toBe(status);
    expect((await readError(answer)).message).not.toBe("");
    expect(await states()).toHaveLength(2);
  });

  test("with its destination in the address resends nothing, as each route refuses what it does not know there", async () => {
    const { api, id, states } = await prepare();
    const answer = await api(`/api/alerts/${id}/resend?destination=ops`, { method: "POST" });
    expect(answer.status).toBe(400);
    expect((await readError(answer)).message).toBe("destination is not known here.");
    expect(await states()).toHaveLength(2);
    expect((await api("/api/status?all=1")).status).toBe(400);
  });

  test("of an alert that is not routed yet is a conflict", async () => {
    const { api, addAlert } = await createWebFixture();
    const { id } = await addAlert({ unrouted: true });
    const answer = await api(`/api/alerts/${id}/resend`, { method: "POST" });
    expect(answer.status).toBe(409);
    expect((await readError(answer)).code).toBe("conflict");
  });
});

describe("mutes", () => {
  const maintenance = { for: "2h", reason: "maintenance" };

  test.each<[string, unknown, unknown]>([
    ["a text", "severity=info", [{ field: "severity", condition: { equals: ["info"] } }]],
    [
      "several texts",
      ["token=USDC,DAI", "value<5"],
      [
        { field: "token", condition: { equals: ["USDC", "DAI"] } },
        { field: "value", condition: { lt: 5 } },
      ],
    ],
    [
      "a map",
      { severity: "info", value: { gte: 5 } },
      [
        { field: "severity", condition: { equals: ["info"] } },
        { field: "value", condition: { gte: 5 } },
      ],
    ],
  ])("are made from %s", async (_what, match, matchers) => {
    const { api } = await createWebFixture();
    const answer = await api("/api/mutes", sendJson({ match, ...maintenance }));
    expect(answer.status).toBe(201);
    expect(await readData(answer, muteView)).toMatchObject({
      matchers,
      state: "active",
      reason: "maintenance",
      startsAt: "2026-11-21T12:00:00.000Z",
      endsAt: "2026-11-21T14:00:00.000Z",
      createdBy: "api",
    });
  });

  test("say what they would have held, alone and when they are made", async () => {
    const { api, addAlert, operations } = await createWebFixture();
    await addAlert({ facts: { token: "USDC" } });
    await addAlert({ facts: { token: "DAI" } });
    const preview = { matched: 1, looked: 2, complete: true, since: "2026-11-20T12:00:00.000Z" };
    const asked = await api("/api/mutes/preview", sendJson({ match: { token: "USDC" } }));
    expect([asked.status, await asked.json()]).toEqual([200, { data: preview }]);
    expect(await operations.listMutes()).toEqual([]);
    const made = await api("/api/mutes", sendJson({ match: "token=USDC", ...maintenance }));
    expect(await made.json()).toMatchObject({ data: { state: "active", preview } });
    const wrong = await api("/api/mutes/preview", sendJson({ match: "tokn=USDC" }));
    expect(wrong.status).toBe(400);
    expect(await wrong.text()).toContain("did you mean token?");
    operations.previewMute = () => Promise.reject(new Error("damaged"));
    const blind = await api("/api/mutes", sendJson({ match: "token=DAI", ...maintenance }));
    expect(blind.status).toBe(201);
    expect(await blind.json()).toMatchObject({ data: { preview: null } });
  });

  test("keep their groups, and hold what these match", async () => {
    const { api, addAlert } = await createWebFixture();
    for (const token of ["USDC", "USDT", "DAI"]) await addAlert({ facts: { token } });
    const match = { any: ["token~US*", { token: "WETH" }], not: { token: { glob: "*T" } } };
    const made = await readData(await api("/api/mutes", sendJson({ match, ...maintenance })), newMuteView);
    expect(made.preview).toMatchObject({ matched: 1, looked: 3 });
    const [listed] = await readData(await api("/api/mutes"), z.array(muteView));
    expect(listed?.matchers).toEqual([
      {
        any: [
          [{ field: "token", condition: { glob: ["US*"] } }],
          [{ field: "token", condition: { equals: ["WETH"] } }],
        ],
      },
      { not: [{ field: "token", condition: { glob: ["*T"] } }] },
    ]);
  });

  test("may start later and end at an instant", async () => {
    const { api, clock } = await createWebFixture();
    const written = {
      match: "severity=info",
      from: "2026-11-22T09:00:00+01:00",
      until: "2026-11-22T10:00:00Z",
      reason: "upgrade",
    };
    const answer = await api("/api/mutes", sendJson(written));
    expect(await readData(answer, muteView)).toMatchObject({ state: "coming", startsAt: "2026-11-22T08:00:00.000Z" });
    await clock.advance(23 * 3_600_000);
    const listed = await readData(await api("/api/mutes?ended=true"), z.array(muteView));
    expect(listed.map(({ state }) => state)).toEqual(["ended"]);
    expect(await (await api("/api/mutes")).json()).toEqual({ data: [] });
  });

  test.each<[string, unknown, string]>([
    ["no matcher", { ...maintenance }, "either match or all"],
    ["a matcher and all", { all: true, match: "severity=info", ...maintenance }, "either match or all"],
    ["not all", { all: false, ...maintenance }, "all must be true"],
    ["an empty map", { match: {}, ...maintenance }, "write at least one field"],
    ["an empty list", { match: [], ...maintenance }, "match must name at least one condition"],
    ["an unknown field", { match: { severty: "info" }, ...maintenance }, "severity"],
    ["no operator", { match: "info", ...maintenance }, "is not a condition"],
    ["no end", { match: "severity=info", reason: "x" }, "one of for, until and untilOver"],
    [
      "two ends",
      { match: "severity=info", until: "2026-11-22T10:00:00Z", ...maintenance },
      "one of for, until and untilOver",
    ],
    ["a number without a unit", { match: "severity=info", for: "2", reason: "x" }, "is not a duration"],
    ["no time at all", { match: "severity=info", for: "0s", reason: "x" }, "is not a duration"],
    [
      "an end without its zone",
      { match: "severity=info", until: "2026-11-22T10:00:00", reason: "x" },
      "until must be a time",
    ],
    ["an end that is past", { match: "severity=info", until: "2026-11-20T10:00:00Z", reason: "x" }, "must end after"],
    ["no reason", { match: "severity=info", for: "2h" }, "reason must say"],
    ["an empty reason", { match: "severity=info", for: "2h", reason: " " }, "reason must say"],
    ["an unknown key", { match: "severity=info", duration: "2h", reason: "x" }, "duration is not known here"],
  ])("with %s are refused and explained", async (_what, body, message) => {
    const { api, operations } = await createWebFixture();
    const answer = await api("/api/mutes", sendJson(body));
    expect(answer.status).toBe(400);
    const { message: given, hint = "" } = await readError(answer);
    expect(`${given} ${hint}`).toContain(message);
    expect(await operations.listMutes()).toEqual([]);
  });

  test("end when asked to, once", async () => {
    const { api } = await createWebFixture();
    const made = await api("/api/mutes", sendJson({ match: "severity=info", ...maintenance }));
    const { id } = await readData(made, muteView);
    const end = () => api(`/api/mutes/${id}`, { method: "DELETE" });
    expect((await end()).status).toBe(204);
    const again = await end();
    expect(again.status).toBe(404);
    expect((await readError(again)).hint).toContain("List them");
  });
});

describe("the rest", () => {
  test("destinations come with their health and counts", async () => {
    const fixture = await createWebFixture();
    await fillScene(fixture);
    const destinations = await readData(await fixture.api("/api/destinations"), z.array(destinationView));
    expect(destinations[1]).toMatchObject({ name: "treasury", health: "dead", counts: { sent: 1, failed: 1 } });
  });

  test("the document holds every route of the API, with answers that are named", async () => {
    const { api, web } = await createWebFixture();
    const document = z
      .object({
        openapi: z.literal("3.1.0"),
        paths: z.record(z.string(), z.record(z.string(), z.object({ summary: z.string() }))),
        components: z.object({
          schemas: z.record(z.string(), z.unknown()),
          securitySchemes: z.object({ adminToken: z.object({ scheme: z.literal("bearer") }) }),
        }),
      })
      .parse(await (await api("/api/openapi.json")).json());
    const documented = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
    );
    const answering = web.routes.filter((route) => / \/api\/(?!openapi)/.test(route));
    expect(documented.sort()).toEqual(answering.sort());
    expect(Object.keys(document.components.schemas)).toContain("AlertDetail");
  });

  test("an address that does not exist is answered as JSON", async () => {
    const answer = await (await createWebFixture()).api("/api/nothing");
    expect(answer.status).toBe(404);
    expect((await readError(answer)).code).toBe("not_found");
  });

  test("a failure inside is logged in full and answered in few words", async () => {
    const logged: unknown[] = [];
    const log = { debug() {}, info() {}, warn() {}, error: (...event: unknown[]) => logged.push(event) };
    const { api, operations } = await createWebFixture({ log });
    operations.destinations = async () => {
      throw new Error("row 7 of table x");
    };
    const answer = await api("/api/destinations");
    expect(answer.status).toBe(500);
    const error = await readError(answer);
    expect(error.code).toBe("internal");
    expect(JSON.stringify(error)).not.toContain("row 7");
    expect(JSON.stringify(logged)).toContain("row 7");
  });

  test("a store that cannot answer is 503 with the time to wait", async () => {
    const { api, operations } = await createWebFixture();
    operations.destinations = async () => {
      throw new AppError("store_unavailable", "The disk is full.", { retryAfterMs: 30_000 });
    };
    const answer = await api("/api/destinations");
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("30");
  });

  test("a relay that is being stopped changes nothing any more, says so, and still shows its log", async () => {
    const fixture = await createWebFixture();
    const { id } = await fixture.addAlert();
    const browser = await fixture.logIn();
    const before = await fixture.store.getAlert(id);
    fixture.web.close();
    const changes = {
      resend: await fixture.api(`/api/alerts/${id}/resend`, sendJson({})),
      mute: await fixture.api("/api/mutes", sendJson({ match: ["token=USDC"], for: "2h", reason: "x" })),
      "end of a mute": await fixture.api(`/api/mutes/${id}`, { method: "DELETE" }),
    };
    for (const [name, answer] of Object.entries(changes)) {
      expect([name, answer.status, answer.headers.get("retry-after")]).toEqual([name, 503, "2"]);
      expect(await readError(answer)).toMatchObject({
        code: "relay_stopping",
        message: "Tocsin is being stopped, so nothing was changed.",
      });
    }
    const form = await browser.post(`/alerts/${id}/resend`);
    expect(form.status).toBe(503);
    expect(await form.text()).toContain("Tocsin is being stopped, so nothing was changed.");
    expect(await fixture.store.getAlert(id)).toEqual(before);
    expect((await list(fixture)).data).toHaveLength(1);
    expect((await browser.get("/")).status).toBe(200);
  });

  test("a body beyond reason is refused", async () => {
    const { api } = await createWebFixture();
    const answer = await api("/api/mutes", sendJson({ reason: "x".repeat(70_000) }));
    expect(answer.status).toBe(413);
  });
});

describe("POST /api/release", () => {
  async function prepare() {
    const fixture = await createWebFixture();
    const held = { state: "held" as const, dueAt: fixture.clock.now() + 3_600_000 };
    const { id } = await fixture.addAlert({ deliveries: [held, { ...held, destination: "treasury" }] });
    const dueAts = async () =>
      (await fixture.store.getAlert(id))?.deliveries.map(({ dueAt }) => (dueAt ?? 0) - fixture.clock.now());
    return { ...fixture, id, dueAts };
  }

  test("without a body sends now all that quiet hours hold, and says how much, once", async () => {
    const { api, dueAts } = await prepare();
    const answer = await api("/api/release", { method: "POST" });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      data: [
        { destination: "ops", released: 1 },
        { destination: "treasury", released: 1 },
      ],
    });
    expect(await dueAts()).toEqual([0, 0]);
    expect(await (await api("/api/release", { method: "POST" })).json()).toEqual({ data: [] });
  });

  test("releases all of it, however much it is", async () => {
    const { api, addAlert, clock } = await createWebFixture();
    const held = { state: "held" as const, dueAt: clock.now() + 3_600_000 };
    await addAlert({ deliveries: Array.from({ length: 401 }, (_, n) => ({ ...held, recipient: `-${n}` })) });
    const answer = await api("/api/release", { method: "POST" });
    expect(await answer.json()).toEqual({ data: [{ destination: "ops", released: 401 }] });
  });

  test("names a destination and alerts", async () => {
    const { api, id, dueAts } = await prepare();
    await api("/api/release", sendJson({ destination: "treasury", alerts: [id] }));
    expect(await dueAts()).toEqual([3_600_000, 0]);
  });

  test.each<[string, RequestInit, number]>([
    ["an unknown destination", sendJson({ destination: "nowhere" }), 404],
    ["an unknown alert", sendJson({ alerts: ["01a1fb74-3be6-7000-aab0-a0517905e242"] }), 404],
    ["no alert at all", sendJson({ alerts: [] }), 400],
    ["a misspelt field", sendJson({ destinaton: "treasury" }), 400],
    ["a body without its type", { method: "POST", body: '{"destination":"treasury"}' }, 400],
  ])("%s releases nothing", async (_what, init, status) => {
    const { api, dueAts } = await prepare();
    expect((await api("/api/release", init)).status).toBe(status);
    expect(await dueAts()).toEqual([3_600_000, 3_600_000]);
  });
});

describe("GET /api/status", () => {
  const readStatus = async (answer: Response) => {
    expect(answer.status).toBe(200);
    return readData(answer, z.strictObject(statusView.shape));
  };

  test("gives relay, alerts, queue, destinations, disk and account, to token and session alike", async () => {
    const fixture = await createWebFixture();
    await fixture.addAlert();
    await fixture.addAlert({ unrouted: true });
    await attempt(fixture.store, "ops", fixture.clock.now(), {
      outcome: "rejected",
      next: { state: "failed", reason: "refused" },
    });
    const now = new Date(fixture.clock.now()).toISOString();
    const status = await readStatus(await fixture.api("/api/status"));
    expect(status).toMatchObject({
      relay: { ready: true, reasons: [], stopping: false, startedAt: now },
      alerts: { total: 2, kept: 2, oldestReceivedAt: now, lastReceivedAt: now },
      retention: { maxAgeMs: 90 * 86_400_000 },
      queue: { unrouted: 1, oldestUnroutedAt: now, queued: 0, failed: 1, held: 0 },
      destinations: [{ name: "ops", health: "ok", counts: { failed: 1 } }, { name: "treasury" }],
      disk: { full: false },
      account: { serviceConfigured: false },
    });
    expect(status.disk.databaseBytes).toBeGreaterThan(0);
    expect(status.disk.freeBytes).toBeGreaterThan(0);
    const browser = await fixture.logIn();
    const disk = { ...status.disk, freeBytes: expect.any(Number) };
    expect(await readStatus(await browser.get("/api/status"))).toEqual({ ...status, disk });
  });

  test("is empty, not absent, before the first alert", async () => {
    const { api } = await createWebFixture();
    const { alerts, queue } = await readStatus(await api("/api/status"));
    expect(alerts).toEqual({ total: 0, kept: 0 });
    expect(queue).toEqual({ unrouted: 0, queued: 0, waiting: 0, sending: 0, held: 0, failed: 0, expired: 0 });
  });

  test("answers while the relay is not ready, and says why", async () => {
    const { api, operations } = await createWebFixture();
    operations.readiness = async () => ({ ready: false, reasons: ["the store does not commit"] });
    expect((await readStatus(await api("/api/status"))).relay).toMatchObject({
      ready: false,
      reasons: ["the store does not commit"],
    });
  });
});
