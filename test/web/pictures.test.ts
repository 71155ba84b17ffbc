import { expect, it } from "vitest";
import type { DrawAlertPicture } from "../../src/core/ports/alert-picture.ts";
import { Secret } from "../../src/core/secret.ts";
import { type PictureName, pictureAddress, pictureLifetimeMs } from "../../src/web/access/picture-address.ts";
import { expectWords } from "../support/expect-words.ts";
import { adminToken, createWebFixture } from "../support/web-fixture.ts";

const publicUrl = "https://tocsin.test";
const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47);
const alertId = "0199a3c1-0000-7000-8000-000000000001";

async function open(draw?: DrawAlertPicture) {
  const asked: { alertId: string; theme?: string; timeZone?: string }[] = [];
  const drawPicture: DrawAlertPicture = (id, { theme, timeZone, ...rest }) => {
    asked.push({ alertId: id, theme, timeZone });
    return draw === undefined ? Promise.resolve({ png, alt: "a picture" }) : draw(id, { theme, timeZone, ...rest });
  };
  const fetched: string[] = [];
  const notePictureFetched = (id: string, tag: string) => void fetched.push(`${id} ${tag}`);
  const fixture = await createWebFixture({ publicUrl, drawPicture, notePictureFetched });
  const name = { alertId, theme: "light" as const, timeZone: "America/Argentina/Buenos_Aires" };
  const addressOf = (changes: Partial<PictureName> = {}, token = adminToken) =>
    pictureAddress(publicUrl, new Secret(token), fixture.clock.now(), { ...name, ...changes });
  const get = (address: string, init?: RequestInit) => fixture.web.fetch(new Request(address, init));
  return { ...fixture, asked, fetched, addressOf, get };
}

/** All that a stranger learns. */
async function wordsOf(answer: Response): Promise<string> {
  const headers = [...answer.headers].map(([name, value]) => `${name}: ${value}`);
  return [answer.status, ...headers, await answer.text()].join("\n");
}

it("the address of a picture shows it to whoever has it, without a login, and lets it be shown elsewhere", async () => {
  const { asked, addressOf, get } = await open();
  const answer = await get(addressOf());
  expect(answer.status).toBe(200);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "content-type": "image/png",
    "cache-control": "private, max-age=300",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",
    "content-disposition": 'inline; filename="chart.png"',
  });
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(answer.headers.get("set-cookie")).toBeNull();
  expect(new Uint8Array(await answer.arrayBuffer())).toEqual(png);
  expect(asked).toEqual([{ alertId, theme: "light", timeZone: "America/Argentina/Buenos_Aires" }]);
});

it("the address of a picture is good for a day, and says nothing of secrets", async () => {
  const { clock, addressOf, get } = await open();
  const address = addressOf();
  expectWords(address, [], { not: [adminToken, "/hooks/"] });
  await clock.jump(pictureLifetimeMs - 1);
  expect((await get(address)).status).toBe(200);
  await clock.jump(1);
  expect((await get(address)).status).toBe(404);
});

it("the address of a picture says whose message it is in, once somebody has the picture, and neither to a look ahead nor where it was changed", async () => {
  const { fetched, addressOf, get } = await open();
  const address = addressOf({ tag: "0123456789" });
  await get(address, { method: "HEAD" });
  expect(fetched).toEqual([]);
  expect((await get(address)).status).toBe(200);
  expect(fetched).toEqual([`${alertId} 0123456789`]);
  expect((await get(address.replace("0123456789", "0123456780"))).status).toBe(404);
  expect((await get(address.replace(".0123456789", ""))).status).toBe(404);
  expect((await get(addressOf())).status).toBe(200);
  expect(fetched).toHaveLength(1);
});

it("the address of a picture is a part of the public address where that has a path of its own", () => {
  const name = { alertId, theme: "dark" as const, timeZone: "UTC" };
  const address = pictureAddress("https://host.test/tocsin/", new Secret("t"), 0, name);
  expect(address).toMatch(/^https:\/\/host\.test\/tocsin\/pictures\/[\w.-]+\.dark\.[\w.-]+\.png$/);
});

it("the address of a picture that is wrong in whatever way gets one answer, byte for byte, and draws nothing", async () => {
  const { asked, addressOf, get } = await open();
  const address = addressOf();
  const [id = "", expiry = "", theme = "", zone = "", signature = ""] = address
    .slice(`${publicUrl}/pictures/`.length)
    .split(".");
  const otherId = id.replace(/.$/, (last) => (last === "1" ? "2" : "1"));
  const withParts = (...parts: string[]) => `${publicUrl}/pictures/${parts.join(".")}.png`;
  const wrong = [
    `${publicUrl}/pictures/x`,
    `${publicUrl}/pictures/${"x".repeat(5_000)}`,
    `${publicUrl}/pictures/%00`,
    withParts(id, expiry, theme, zone),
    withParts(id, expiry, theme, zone, ""),
    withParts(id, expiry, theme, zone, "A".repeat(43)),
    withParts(id, expiry, theme, zone, `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`),
    withParts(id, expiry, theme, zone, signature, signature),
    withParts(otherId, expiry, theme, zone, signature),
    withParts(id, `${expiry}0`, theme, zone, signature),
    withParts(id, expiry, "dark", zone, signature),
    withParts(id, expiry, theme, Buffer.from("UTC").toString("base64url"), signature),
    address.replace(/\.png$/, ".jpg"),
    addressOf({}, "another-admin-token-of-some-length"),
  ];
  expect(await wordsOf(await get(address))).toMatch(/^200\n/);
  const refused = await wordsOf(await get(`${publicUrl}/pictures/y`));
  expect(refused).toMatch(/^404\n/);
  for (const one of wrong) expect(await wordsOf(await get(one)), one).toBe(refused);
  expect(asked).toHaveLength(1);
});

it("the address of a picture of an alert without a picture gets that answer as well", async () => {
  const results = ["unknown_alert", "no_values", "no_renderer"] as const;
  for (const none of results) {
    const { addressOf, get } = await open(async () => ({ none }));
    expect(await wordsOf(await get(addressOf()))).toBe(await wordsOf(await get(`${publicUrl}/pictures/y`)));
  }
});

it("the address of a picture asks to come again when the picture cannot be drawn now", async () => {
  const { addressOf, get } = await open(async () => ({ none: "busy" }));
  const answer = await get(addressOf());
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "10"]);
  expect(answer.headers.get("cache-control")).toBe("no-store");
});

it("the address of a picture is none where no public address is known", async () => {
  const { web, clock } = await createWebFixture({ publicUrl });
  const name = { alertId, theme: "light" as const, timeZone: "UTC" };
  const address = pictureAddress(publicUrl, new Secret(adminToken), clock.now(), name);
  expect((await web.fetch(new Request(address))).status).toBe(404);
});

it("the address of a picture answers a HEAD, and no POST", async () => {
  const { addressOf, get } = await open();
  expect((await get(addressOf(), { method: "HEAD" })).status).toBe(200);
  expect((await get(addressOf(), { method: "POST" })).status).toBe(404);
});

it("the address of a picture is no way to make the relay draw without end: a limited number of different ones a minute, and one of them again", async () => {
  const { asked, clock, addressOf, get } = await open();
  const idOf = (n: number) => alertId.replace(/.{4}$/, String(1_000 + n));
  const statusOf = async (n: number) => (await get(addressOf({ alertId: idOf(n) }))).status;
  for (let n = 0; n < 60; n += 1) expect(await statusOf(n)).toBe(200);
  expect(await statusOf(60)).toBe(503);
  expect(await statusOf(0)).toBe(200);
  expect(asked).toHaveLength(61);
  for (let n = 0; n < 1_139; n += 1) await get(addressOf({ alertId: idOf(0) }));
  expect(await statusOf(0)).toBe(503);
  await clock.jump(60_000);
  expect(await statusOf(60)).toBe(200);
});
