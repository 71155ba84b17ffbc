import { describe, expect, test } from "vitest";
import { z } from "zod";
import { alertDetailView, alertView } from "../../src/contract/views/alerts.ts";
import { statusView } from "../../src/contract/views/status.ts";
import { AppError } from "../../src/core/errors.ts";
import { createWebFixture, type WebFixture } from "../support/web-fixture.ts";

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
});

describe("GET /api/alerts/:id", () => {
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
});

describe("mutes", () => {
  const maintenance = { for: "2h", reason: "maintenance" };

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
});

describe("the rest", () => {
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
  test("releases all of it, however much it is", async () => {
    const { api, addAlert, clock } = await createWebFixture();
    const held = { state: "held" as const, dueAt: clock.now() + 3_600_000 };
    await addAlert({ deliveries: Array.from({ length: 401 }, (_, n) => ({ ...held, recipient: `-${n}` })) });
    const answer = await api("/api/release", { method: "POST" });
    expect(await answer.json()).toEqual({ data: [{ destination: "ops", released: 401 }] });
  });
});

describe("GET /api/status", () => {
  const readStatus = async (answer: Response) => {
    expect(answer.status).toBe(200);
    return readData(answer, z.strictObject(statusView.shape));
  };

  test("answers while the relay is not ready, and says why", async () => {
    const { api, operations } = await createWebFixture();
    operations.readiness = async () => ({ ready: false, reasons: ["the store does not commit"] });
    expect((await readStatus(await api("/api/status"))).relay).toMatchObject({
      ready: false,
      reasons: ["the store does not commit"],
    });
  });
});
