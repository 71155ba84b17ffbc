import { describe, expect, it, onTestFinished } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { type HeartbeatService, type HeartbeatSettings, openHeartbeat } from "../../src/vendors/heartbeat.ts";
import { createHttpVendor, type HttpVendor, json, text } from "../support/vendors/http-vendor.ts";

const signal = AbortSignal.timeout(240_000);
const path = "/ping/canary-7f3a9b1c";

async function open(service: HeartbeatService, changes: Partial<HeartbeatSettings> & { at?: string } = {}) {
  const server = await createHttpVendor(() => text(200, "OK"));
  const { at = path, ...rest } = changes;
  const settings: HeartbeatSettings = {
    url: new Secret(server.origin + at),
    service,
    method: "GET",
    everyMs: 60_000,
    allowInternal: ["127.0.0.1"],
    ...rest,
  };
  const line = await openHeartbeat(settings, { now: Date.now });
  onTestFinished(() => line.close());
  return { server, line };
}

const asked = ({ requests }: HttpVendor) => requests.map(({ method, path }) => `${method} ${path}`);

describe("a sign of life", () => {
  it.each<[HeartbeatService, string, string, string]>([
    ["healthchecks", path, path, `${path}/fail`],
    ["better-stack", "/api/v1/heartbeat/canary1", "/api/v1/heartbeat/canary1", "/api/v1/heartbeat/canary1/fail"],
    [
      "uptime-kuma",
      "/api/push/canary1?status=up&msg=OK&ping=",
      "/api/push/canary1?status=up&msg=OK&ping=",
      "/api/push/canary1?status=down&msg=Tocsin+is+not+ready.+Its+page+and+its+log+say+why.&ping=",
    ],
    [
      "cronitor",
      "/p/canarykey/tocsin",
      "/p/canarykey/tocsin?state=complete",
      "/p/canarykey/tocsin?state=fail&message=Tocsin+is+not+ready.+Its+page+and+its+log+say+why.",
    ],
  ])("and a failure have the form that %s takes", async (service, at, alive, failing) => {
    const { server, line } = await open(service, { at });
    expect([await line.send("alive", signal), await line.send("failing", signal)]).toEqual([undefined, undefined]);
    expect(asked(server)).toEqual([`GET ${alive}`, `GET ${failing}`]);
    expect(line.knowsFailure).toBe(true);
  });

  it("is posted where that is asked for, and says with a failure where to look, and no more", async () => {
    const { server, line } = await open("healthchecks", { method: "POST" });
    await line.send("alive", signal);
    await line.send("failing", signal);
    expect(server.requests.map(({ method, body }) => [method, body])).toEqual([
      ["POST", ""],
      ["POST", "Tocsin is not ready. Its page and its log say why."],
    ]);
  });

  it.each([
    ["the service does not know it", text(404, `no check at ${path}`), /answered 404/],
    ["Healthchecks does not know it", text(200, "OK (not found)"), /OK \(not found\)/],
    ["Uptime Kuma does not know it", json(200, { ok: false, msg: "Monitor not found" }), /"ok":false/],
    ["it is sent elsewhere", { status: 301, headers: { location: "https://x.example/" }, body: "" }, /redirect/],
    ["the service is ill", text(500, `<p>${path}</p>`), /answered 500/],
  ])("is not taken when %s, and no secret is in the reason", async (_what, answer, why) => {
    const { server, line } = await open("healthchecks");
    server.behave({ kind: "answer", answer: () => answer });
    const reason = await line.send("alive", signal);
    expect(reason).toMatch(why);
    expect(reason).not.toContain("canary");
  });

  it("is not sent into the network inside unless that is allowed", async () => {
    const { server, line } = await open("healthchecks", { allowInternal: [] });
    expect(await line.send("alive", signal)).toMatch(/loopback.*allowInternal/);
    expect(server.requests).toEqual([]);
  });

  it("ends with the relay, though the service does not answer", async () => {
    const { server, line } = await open("healthchecks");
    server.behave({ kind: "take_then_hang" });
    const stop = new AbortController();
    const arrived = server.nextRequest();
    const sending = line.send("alive", stop.signal);
    await arrived;
    stop.abort();
    expect(await sending).toMatch(/stopped/);
  });
});
