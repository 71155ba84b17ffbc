import { describe, expect, test } from "vitest";
import { judgeOrigin, type OriginHeaders } from "../../src/web/access/guard.ts";
import { createWebFixture } from "../support/web-fixture.ts";

const publicUrl = "https://tocsin.example";

test.each<[string, OriginHeaders, string]>([
  ["the browser says so", { secFetchSite: "same-origin" }, "same"],
  ["another site", { secFetchSite: "cross-site", origin: publicUrl }, "foreign"],
  ["a sister host", { secFetchSite: "same-site" }, "foreign"],
  ["the public address, behind a proxy that ends TLS", { origin: publicUrl, host: "10.0.0.7:8080" }, "same"],
  ["the host that was addressed", { origin: "http://localhost:8080", host: "localhost:8080" }, "same"],
  ["the public host without TLS", { origin: "http://tocsin.example", host: "tocsin.example" }, "foreign"],
  ["another origin", { origin: "https://evil.example", host: "tocsin.example" }, "foreign"],
  ["another port", { origin: "https://tocsin.example:8443", host: "tocsin.example" }, "foreign"],
  ["no origin at all", { host: "tocsin.example" }, "unknown"],
  ["an origin that is kept back", { origin: "null", host: "tocsin.example" }, "unknown"],
  ["an origin that is none", { origin: "evil", host: "evil" }, "foreign"],
])("%s", (_name, headers, verdict) => {
  expect(judgeOrigin(headers, publicUrl)).toBe(verdict);
});

describe("a form of a page", () => {
  test("of another site changes nothing", async () => {
    const { logIn, addAlert, store } = await createWebFixture();
    const browser = await logIn();
    const { id } = await addAlert();
    const foreign: Record<string, string>[] = [
      { origin: "https://evil.example" },
      { "sec-fetch-site": "cross-site" },
      { origin: "null", "sec-fetch-site": "cross-site" },
    ];
    for (const headers of foreign) {
      expect((await browser.post(`/alerts/${id}/resend`, {}, headers)).status).toBe(403);
    }
    expect((await store.getAlert(id))?.deliveries).toHaveLength(1);
  });

  test("needs the token of its own session", async () => {
    const { logIn, operations } = await createWebFixture();
    const [mine, yours] = [await logIn(), await logIn()];
    const theirs = /name="form_token" value="([^"]+)"/.exec(await (await yours.get("/")).text())?.[1] ?? "";
    const fields = { match: "severity=info", for: "1h", reason: "test" };
    expect((await mine.post("/mutes", { ...fields, form_token: theirs })).status).toBe(403);
    expect((await mine.post("/mutes", { ...fields, form_token: "" })).status).toBe(403);
    expect(await operations.listMutes()).toEqual([]);
    expect((await mine.post("/mutes", fields)).status).toBe(303);
  });

  test("is known by its token where the browser keeps the origin back", async () => {
    const { logIn } = await createWebFixture();
    const browser = await logIn();
    const fields = { match: "severity=info", for: "1h", reason: "test" };
    expect((await browser.post("/mutes", fields, { origin: "null" })).status).toBe(303);
  });

  test("a script of another site cannot use the API with the reader's cookie", async () => {
    const { logIn, web } = await createWebFixture();
    const { cookie } = await logIn();
    const add = (headers: Record<string, string>) =>
      web.fetch(
        new Request("http://tocsin.test/api/mutes", {
          method: "POST",
          headers: { cookie, "content-type": "application/json", ...headers },
          body: JSON.stringify({ match: "severity=info", for: "1h", reason: "test" }),
        }),
      );
    expect((await add({})).status).toBe(403);
    expect((await add({ origin: "null" })).status).toBe(403);
    expect((await add({ origin: "https://evil.example" })).status).toBe(403);
    expect((await add({ origin: "http://tocsin.test" })).status).toBe(201);
  });

  test("asking with GET or HEAD never changes anything", async () => {
    const { logIn, addAlert, store } = await createWebFixture();
    const browser = await logIn();
    const { id } = await addAlert();
    for (const method of ["GET", "HEAD"]) {
      // They ask; the forms on them do it.
      expect((await browser.get(`/alerts/${id}/resend`, { method })).status).toBe(200);
      expect((await browser.get("/resend", { method })).status).toBe(200);
      expect((await browser.get("/destinations/ops/try", { method })).status).toBe(404);
      expect((await browser.get("/logout", { method })).status).toBe(404);
    }
    expect((await browser.get("/")).status).toBe(200);
    expect((await store.getAlert(id))?.deliveries).toHaveLength(1);
  });
});
