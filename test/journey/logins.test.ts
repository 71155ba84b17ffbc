import { expect, it } from "vitest";
import { loginLink } from "../../src/contract/login-link.ts";
import { Secret } from "../../src/core/secret.ts";
import { adminToken, startRelayProcess } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const post = (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(url, { method: "POST", redirect: "manual", headers, body: new URLSearchParams(fields) });

const cookieOf = (answer: Response): string => answer.headers.get("set-cookie")?.split(";", 1)[0] ?? "";

it("takes no login link twice and no ended session again after a SIGKILL, and names the client behind a proxy for a wrong token", async () => {
  const dataDir = makeTempFolder();
  const first = await startRelayProcess(dataDir, {});
  const code = new URL(loginLink(first.url, new Secret(adminToken), Date.now())).searchParams.get("code") ?? "";
  const logIns = await Promise.all([1, 2, 3, 4].map(() => post(`${first.url}/login`, { code })));
  expect(logIns.map(({ status }) => status).sort()).toEqual([303, 403, 403, 403]);
  const ended = cookieOf(logIns.find(({ status }) => status === 303) as Response);
  const lasting = cookieOf(await post(`${first.url}/login`, { token: adminToken }));
  const page = await (await fetch(`${first.url}/mutes`, { headers: { cookie: ended } })).text();
  const formToken = /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? "";
  const logOut = await post(`${first.url}/logout`, { form_token: formToken }, { cookie: ended });
  expect(logOut.headers.get("location")).toBe("/login");
  await first.kill();

  const second = await startRelayProcess(dataDir, {});
  expect((await post(`${second.url}/login`, { code })).status).toBe(403);
  const statusOf = async (cookie: string) =>
    (await fetch(second.url, { redirect: "manual", headers: { cookie } })).status;
  expect(await statusOf(ended)).toBe(303);
  expect(await statusOf(lasting)).toBe(200);

  const made = { "x-forwarded-for": "6.6.6.6, 198.51.100.7", "fly-client-ip": "6.6.6.6" };
  expect((await post(`${second.url}/login`, { token: "wrong" }, made)).status).toBe(403);
  await expect.poll(second.log).toMatch(/"address":"198\.51\.100\.7","event":"login\.refused"/);
});
