import { request } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type SandboxFixture, startSandbox } from "./service-fixture.ts";

let fixture: SandboxFixture;
beforeEach(async () => {
  fixture = await startSandbox();
});
afterEach(() => fixture.sandbox.close());

/** Over the control interface, as a script does it. */
const ask = async (path: string, body: unknown) =>
  fixture.call(`${fixture.sandbox.url}/_sandbox${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

test("the control interface refuses what a page of another site could send without asking", async () => {
  const answer = await fetch(`${fixture.sandbox.url}/_sandbox/storm`, {
    method: "POST",
    headers: { "content-type": "text/plain" },
    body: '{"count":1000}',
  });
  expect(answer.status).toBe(415);
  expect(fixture.sandbox.listNotifications()).toEqual([]);
});

test("the control interface refuses a foreign name that points to this machine", async () => {
  const port = Number(new URL(fixture.sandbox.url).port);
  const status = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      request({ host: "127.0.0.1", port, headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
  expect(await status(`evil.example:${port}`)).toBe(403);
  expect(await status("127.0.0.1.evil.example")).toBe(403);
  expect(await status(`localhost:${port}`)).toBe(200);
});

test("the control interface needs the key beyond this machine, and the page shows neither key nor notifications", async () => {
  const wide = await startSandbox({ host: "0.0.0.0" });
  const url = wide.sandbox.url.replace("0.0.0.0", "127.0.0.1");
  const without = await wide.call(`${url}/_sandbox`, { headers: {} });
  const withKey = await wide.call(`${url}/_sandbox`);
  const page = await wide.call(url, { headers: {} });
  await wide.sandbox.close();
  expect([without.status, withKey.status, page.status]).toEqual([401, 200, 200]);
  expect(page.body).not.toContain(wide.sandbox.apiKey);
});

test("the control interface shows hostile text on the page as text, under a policy that loads nothing from elsewhere", async () => {
  await fixture.setOutputs({ webhookUrl: "http://127.0.0.1:9/secret-path" });
  await ask("/fire", { condition: "<script>alert(1)</script>" });
  const page = await fixture.call(fixture.sandbox.url);
  expect(page.body).toContain("&lt;script&gt;alert(1)");
  expect(page.body).not.toContain("<script>");
  expect(page.body).not.toContain("secret-path");
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
});
