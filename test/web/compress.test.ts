import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { takesGzip } from "../../src/web/compress.ts";
import { createWebFixture } from "../support/web-fixture.ts";

test("a page goes out as gzip to whoever takes it, each time of another length, and is the same page", async () => {
  const { get, addAlert } = await createWebFixture();
  await addAlert();
  const plain = await get("/");
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(plain.headers.get("vary")).toBe("accept-encoding");
  const text = await plain.text();
  const lengths = new Set<number>();
  for (let round = 0; round < 30; round += 1) {
    const packed = await get("/", { headers: { "accept-encoding": "br, gzip" } });
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    expect(packed.headers.get("cache-control")).toBe("no-store");
    expect(packed.headers.get("content-security-policy")).toBe(plain.headers.get("content-security-policy"));
    const bytes = new Uint8Array(await packed.arrayBuffer());
    lengths.add(bytes.length);
    expect(gunzipSync(bytes).toString()).toBe(text);
  }
  expect(lengths.size).toBeGreaterThan(5);
});

test("a page too long to be packed at once is the same page, too", async () => {
  const { read, get, addAlert } = await createWebFixture();
  const fields = Array.from({ length: 400 }, (_, number) => ({ name: `place ${number}`, value: "far ".repeat(400) }));
  const { id } = await addAlert({ facts: { fields } });
  const plain = await read(`/alerts/${id}`);
  expect(plain.length).toBeGreaterThan(256 * 1024);
  const packed = await get(`/alerts/${id}`, { headers: { "accept-encoding": "gzip" } });
  const bytes = new Uint8Array(await packed.arrayBuffer());
  expect(gunzipSync(bytes).toString()).toBe(plain);
  expect(packed.headers.get("content-type")).toBe("text/html; charset=UTF-8");
});

test("what is no page is left as it is, and an error page is packed with its status", async () => {
  const { get, api } = await createWebFixture();
  const headers = { "accept-encoding": "gzip" };
  expect((await api("/api/status", { headers })).headers.get("content-encoding")).toBeNull();
  const missing = await get("/nowhere", { headers });
  expect([missing.status, missing.headers.get("content-encoding")]).toEqual([404, "gzip"]);
  const moved = await (await createWebFixture()).ask("/", { headers });
  expect([moved.status, moved.headers.get("content-encoding")]).toEqual([303, null]);
});

test("style and scripts are packed as well, and the same without", async () => {
  const { ask, read } = await createWebFixture();
  const page = await read("/");
  const files = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
  expect(files.length).toBeGreaterThan(3);
  for (const path of new Set(files)) {
    const get = (accepted: string) => ask(path, { headers: { "accept-encoding": accepted } });
    const [packed, plain] = [await get("gzip"), await get("identity")];
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    expect(packed.headers.get("vary")).toBe("accept-encoding");
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(gunzipSync(new Uint8Array(await packed.arrayBuffer())).toString()).toBe(await plain.text());
  }
});

test.each<[string | undefined, boolean]>([
  ["gzip, deflate, br", true],
  ["br;q=1.0, gzip;q=0.8", true],
  ["gzip;q=0", false],
  ["gzip;q=0.0", false],
  ["identity", false],
  ["x-gzip", false],
  [undefined, false],
])("of %s it takes gzip: %s", (accepted, expected) => {
  expect(takesGzip(accepted)).toBe(expected);
});
