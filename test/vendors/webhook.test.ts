import { createServer as createTcpServer } from "node:net";
import { createServer } from "node:tls";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { ResolveHost } from "../../src/vendors/http/open-connection.ts";
import { createSigner, createWebhookChannel } from "../../src/vendors/webhook/send.ts";
import { type WebhookDestination, webhook } from "../../src/vendors/webhook/vendor.ts";
import { destinationBase } from "../support/destinations.ts";
import type { KnownChannel as Channel } from "../support/known-vendors.ts";
import { listenOnLoopback } from "../support/loopback.ts";
import { createSelfSignedCertificate } from "../support/self-signed-certificate.ts";
import { sendContext } from "../support/send-context.ts";
import { createHttpVendor, type HttpVendor } from "../support/vendors/http-vendor.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
let vendor: HttpVendor;
let now: number;

beforeEach(async () => {
  now = Date.now();
  vendor = await createHttpVendor(() => ({ status: 204 }));
});

function open(change: Partial<WebhookDestination> = {}, options: object = {}): Channel {
  const url = `${vendor.origin}/in`;
  const base = { ...destinationBase("desk"), type: "webhook" as const, headers: {}, allowInternal: ["127.0.0.1"] };
  const given = { now: () => now, answerTimeoutMs: 240_000, ...options };
  const channel = createWebhookChannel({ ...base, url, ...change }, given);
  onTestFinished(() => channel.close());
  return channel;
}

const body = '{"data":{"price":1.10,"text":"\\u00e9 é 𝕏"}}';
const send = (channel: Channel, deliveryId = "d1") =>
  channel.send({ kind: "webhook", body }, sendContext({ deliveryId }));

describe("the signature", () => {
  it("is that of the standard's own example", () => {
    const sign = createSigner(new Secret(secret));
    expect(sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, '{"test": 2432232314}')).toBe(
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    );
  });

  it("is of the moment of each attempt, under the id of the delivery", async () => {
    const channel = open({ secret: new Secret(secret) });
    now = 1_763_700_000_999;
    await send(channel, "d7");
    now = 1_763_700_060_000;
    await send(channel, "d7");
    const sent = vendor.requests.map(({ headers }) => [headers["webhook-id"], headers["webhook-timestamp"]]);
    expect(sent).toEqual([
      ["d7", "1763700000"],
      ["d7", "1763700060"],
    ]);
    const signatures = vendor.requests.map(({ headers }) => headers["webhook-signature"]);
    expect(new Set(signatures).size).toBe(2);
  });

  it("is absent without a secret, the id is not", async () => {
    await send(open());
    expect(vendor.requests[0]?.headers).toMatchObject({ "webhook-id": "d1", "content-type": "application/json" });
    expect(vendor.requests[0]?.headers).not.toHaveProperty("webhook-signature");
  });

  it.each(["whsec_", "whsec_not base64!", "whsec_c2hvcnQ="])("is made with no such secret as %s", (bad) => {
    expect(refusalsOf({ secret: bad })).toEqual([
      "secret: is not a signing secret of Standard Webhooks (it is not shown)",
    ]);
  });
});

/** What the vendor has against these options, as the configuration will report it. */
function refusalsOf(options: { secret?: string; headers?: Record<string, string> }): string[] {
  const refusals: string[] = [];
  webhook.build(
    { url: "https://hooks.example/in", ...options },
    {
      shared: {},
      wasRefused: () => false,
      refuse: (at, { message }) => refusals.push(`${at.join(".")}: ${message}`),
    },
  );
  return refusals;
}

describe("headers of the configuration", () => {
  it("go along", async () => {
    await send(open({ headers: { "X-Api-Key": new Secret("canary-key"), Authorization: new Secret("Bearer x") } }));
    expect(vendor.requests[0]?.headers).toMatchObject({ "x-api-key": "canary-key", authorization: "Bearer x" });
  });

  it.each([
    ["X-A", "one\r\nX-Injected: two"],
    ["X-A", "one\ntwo"],
    ["X-A", "nul\u0000"],
    ["X-A", "beyond Latin-1: 𝕏"],
    ["X A", "v"],
    ["X-A\r\nX-B", "v"],
    ["Webhook-Signature", "v1,forged"],
    ["Content-Length", "12345"],
    ["Host", "other.example"],
    ["TE", "trailers"],
  ])("are refused when they would forge a request: %j: %j", (name, value) => {
    const [refusal, ...others] = refusalsOf({ headers: { [name]: value } });
    expect(refusal).not.toContain(value);
    expect(others).toEqual([]);
  });

  it("take user and password out of the address", async () => {
    const url = `${vendor.origin.replace("://", "://desk:p%40ss@")}/in`;
    await send(open({ url }));
    expect(vendor.requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from("desk:p@ss").toString("base64")}`);
  });
});

describe("an outgoing webhook", () => {
  it("is not sent to a server whose certificate nobody vouches for", async () => {
    const { cert, key } = createSelfSignedCertificate(now);
    let connections = 0;
    const server = createServer({ cert, key });
    server.on("connection", () => {
      connections += 1;
    });
    const { port } = await listenOnLoopback(server);
    const outcome = await send(open({ url: `https://localhost:${port}/in`, allowInternal: ["localhost"] }));
    expect(outcome).toMatchObject({ kind: "retry", reason: "tls_failed" });
    expect(connections).toBeGreaterThan(0);
  });

  it.each(["", "hooks.example.com/in", "ftp://hooks.example.com/", "javascript:alert(1)", "file:///etc/passwd"])(
    "refuses the address %j",
    (url) => {
      expect(() => open({ url })).toThrow(/tocsin.yaml:12: destination "desk" has no readable http or https address/);
    },
  );

  it("reads no more of an answer than it needs", async () => {
    let written = 0;
    const endless = createTcpServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
      const pour = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536, "x"))) written += 65_536;
      };
      socket.on("drain", pour);
      socket.once("data", pour);
    });
    const { port } = await listenOnLoopback(endless);
    const outcome = await send(open({ url: `http://127.0.0.1:${port}/in` }));
    expect(outcome).toEqual({ kind: "sent" });
    expect(written).toBeLessThan(20_000_000);
  });

  it("keeps its detail within 300 characters, whatever the name of the host", async () => {
    const label = "x".repeat(60);
    const resolve: ResolveHost = (_host, _options, callback) => callback(null, [{ address: "10.0.0.1", family: 4 }]);
    const url = `https://${label}.${label}.${label}.${label}.example/`;
    const outcome = await send(open({ url, allowInternal: [] }, { resolve }));
    const refused = { kind: "rejected", scope: "destination", reason: "forbidden_address" };
    expect(outcome).toEqual({ ...refused, detail: expect.stringMatching(/^.{280,300}$/) });
  });
});
