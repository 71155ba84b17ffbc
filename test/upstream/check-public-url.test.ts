import { expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { checkPublicUrl } from "../../src/upstream/check-public-url.ts";
import { findRelayAt, findSpoiling } from "../../src/upstream/prove-address.ts";
import { openLoneDoor } from "../support/lone-door.ts";
import { compress, drop, limit, type Spoil, startSpoilingProxy, writeInLatin } from "../support/spoiling-proxy.ts";

const secret = new Secret("public-url-secret-kS93jdLwm2PzQe81");

async function check(url: string, maxBodyBytes = 1024 * 1024) {
  const findings = [];
  for await (const finding of checkPublicUrl(
    { url, secret },
    { now: Date.now(), maxBodyBytes, signal: new AbortController().signal },
  ))
    findings.push(finding);
  return findings;
}

it("the public address takes an alert whole, and the look at it is neither an alert nor a refusal", async () => {
  const { door, url } = await openLoneDoor(secret);
  const findings = await check(url);
  expect(findings.map(({ verdict }) => verdict)).toEqual(["ok", "ok", "ok", "ok"]);
  expect(findings.at(-1)?.detail).toBe("an alert of 65,536 bytes arrives whole");
  expect(Object.values(door.counters).filter((count) => count !== 0)).toEqual([]);
  expect(door.refusals().every(({ total }) => total === 0)).toBe(true);
});

it.each<[string, Spoil, RegExp]>([
  ["drops", drop, /^an alert arrives without its body: 65,536 bytes sent, 0 arrived$/],
  ["compresses", compress, /^an alert arrives compressed \(gzip\): 65,536 bytes sent, \d[\d,]* arrived$/],
  ["re-encodes", writeInLatin, /^an alert arrives with another body: 65,536 bytes sent, \d[\d,]* arrived$/],
  ["limits", limit, /^an alert of 65,536 bytes is refused there: it is too large \(413\)$/],
  ["answers", () => 200, /^an alert, sent by POST: something else answers there with 200$/],
  ["redirects", () => 308, /^an alert, sent by POST: it is redirected \(308\), and senders of webhooks do not follow$/],
  ["forbids", () => 403, /^an alert, sent by POST: something in front of the relay lets nobody through \(403\)$/],
])("the public address is a problem where a proxy %s what is posted", async (_name, spoil, words) => {
  const { url } = await openLoneDoor(secret);
  const last = (await check(await startSpoilingProxy(url, spoil))).at(-1);
  expect(last).toMatchObject({ verdict: "problem", detail: expect.stringMatching(words) });
  expect(last?.mend).toMatch(/^let the proxy |^set PUBLIC_URL|^let \/hooks/);
});

it("the public address is asked no more than the relay takes, and a small limit of the relay is named and no fault", async () => {
  const { url } = await openLoneDoor(secret, { maxBodyBytes: 1024 });
  expect((await check(url, 1024)).at(-1)).toEqual({
    check: "public URL",
    verdict: "warning",
    detail: "an alert of 1,024 bytes arrives whole, and the relay refuses larger ones",
    mend: "raise intake.maxBodyBytes: some services send 65,536 bytes",
  });
  expect(await findSpoiling(`${url}/hooks/${secret.reveal()}`, secret, 1024)).toBeUndefined();
});

it("the public address is a problem where the relay there has another limit than the one configured here", async () => {
  const { url } = await openLoneDoor(secret, { maxBodyBytes: 1024 });
  expect((await check(url)).at(-1)).toMatchObject({
    detail: "an alert of 65,536 bytes is refused there: it is too large (413)",
    mend: "raise intake.maxBodyBytes of the relay",
  });
});

it("finds that large alerts alone are refused, and says nothing where all questions are", async () => {
  const { url } = await openLoneDoor(secret);
  const path = `hooks/${secret.reveal()}`;
  const mebibyte = 1024 * 1024;
  const large = await startSpoilingProxy(url, (body) => (body.byteLength > 1024 ? 403 : body));
  expect(await findSpoiling(`${large}/${path}`, secret, mebibyte)).toBe("of 65,536 bytes is answered 403 there");
  const all = await startSpoilingProxy(url, () => 403);
  expect(await findSpoiling(`${all}/${path}`, secret, mebibyte)).toBeUndefined();
  expect(await findSpoiling(`${url}/${path}`, secret, mebibyte)).toBeUndefined();
});

it("a relay at an address is found under each form of the address that leads to it, and the secret is sent to none", async () => {
  const { url, door } = await openLoneDoor(secret, { relayId: "relay-1" });
  const { port } = new URL(url);
  const path = `hooks/${secret.reveal()}`;
  const find = (address: string) => findRelayAt(address, [new Secret("another-secret"), secret]);
  for (const form of [`${url}/${path}`, `${url}/${path}/`, `${url}/${path}?x=1`, `HTTP://LOCALHOST:${port}/${path}`])
    expect(await find(form)).toBe("relay-1");
  expect(await find(await startSpoilingProxy(url, (body) => body).then((proxy) => `${proxy}/${path}`))).toBe("relay-1");
  expect(Object.values(door.counters).filter((count) => count !== 0)).toEqual([]);
});

it("a relay at an address is not found where another program, another secret or nothing is", async () => {
  const { url } = await openLoneDoor(new Secret("another-secret-Vb72kdPwq0XnRt64"));
  const path = `hooks/${secret.reveal()}`;
  for (const address of [`${url}/${path}`, `${url}/hooks/unknown`, "http://127.0.0.1:9/hooks/x", `ftp://x/${path}`, ""])
    expect(await findRelayAt(address, [secret])).toBeUndefined();
  expect(await findRelayAt(`http://127.0.0.1:9/${path}`, [secret])).toBeUndefined();
  expect(await findRelayAt(`${await startSpoilingProxy(url, () => 200)}/${path}`, [secret])).toBeUndefined();
});
