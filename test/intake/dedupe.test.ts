import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { explicitKey } from "../../src/intake/key/explicit-key.ts";
import { readRequest } from "../../src/intake/read/read-request.ts";
import { bytesOf, translate } from "./describe-facts.ts";

const request = (value: unknown) => readRequest(bytesOf(value));
const fixture = (name: string) => readFileSync(new URL(`../fixtures/payloads/${name}`, import.meta.url));
const namesItself = (body: unknown) => translate(body)[0]?.namesItself ?? false;
const noBody = readRequest(new Uint8Array());

describe("explicitKey", () => {
  it.each(["webhook-id", "svix-id", "idempotency-key", "x-github-delivery"])("reads %s", (header) => {
    expect(explicitKey({ [header]: " msg_1 " }, noBody, [])).toBe(`${header}:msg_1`);
  });

  it("looks where a source says first, and keeps the keys of two sources apart", () => {
    const forge = { name: "forge", keyPlaces: [{ header: "x-event" }, { path: "payload.delivery.id" }] };
    const body = request({ delivery: { id: "d" }, id: "1" });
    const key = (headers: Record<string, string>) => explicitKey(headers, body, ["payload.id"], forge);
    expect(key({ "x-event": "e", "webhook-id": "w" })).toBe("forge/x-event:e");
    expect(key({ "webhook-id": "w" })).toBe("forge/payload.delivery.id:d");
    const plain = { name: "plain", keyPlaces: [] };
    expect(explicitKey({ "webhook-id": "w" }, body, ["payload.id"], plain)).toBe("plain/webhook-id:w");
    expect(explicitKey({}, body, ["payload.id"], plain)).toBe("plain/payload.id:1");
    expect(explicitKey({}, noBody, [], plain)).toBeUndefined();
  });

  it("takes the signed key before every header, which anybody could change, and a place of the body before it", () => {
    const shop = { name: "shop", keyPlaces: [{ header: "x-event" }, { path: "payload.id" }] };
    const key = (body: unknown) =>
      explicitKey({ "x-event": "e", "webhook-id": "w" }, request(body), [], shop, "webhook-id:signed");
    expect(key({ id: 7 })).toBe("shop/payload.id:7");
    expect(key({})).toBe("shop/webhook-id:signed");
  });

  it("reads a CloudEvents id together with its source", () => {
    const key = (source: string) => explicitKey({ "ce-id": "1", "ce-source": source }, noBody, []);
    expect(key("/a")).toBe('ce-id:"/a" 1');
    expect(key("/a")).not.toBe(key("/b"));
  });

  it("is absent without any of them, and for an empty one", () => {
    expect(explicitKey({}, request({ id: "1" }), [])).toBeUndefined();
    expect(explicitKey({ "webhook-id": " " }, noBody, [])).toBeUndefined();
  });

  it("keeps two kinds apart whose words are equal", () => {
    const other = explicitKey({ "idempotency-key": "1" }, noBody, []);
    expect(explicitKey({ "webhook-id": "1" }, noBody, [])).not.toBe(other);
  });

  it("hashes a key of absurd length without joining two of them", () => {
    const key = (end: string) => explicitKey({ "idempotency-key": "k".repeat(8_000) + end }, noBody, []);
    expect(key("1")).toMatch(/^idempotency-key:sha256:[0-9a-f]{64}$/);
    expect(key("1")).not.toBe(key("2"));
  });

  it("falls back to the configured paths of the payload, in their order", () => {
    const paths = ["payload.event.id", 'payload.labels["a.b"]', "payload.items[1].id"];
    const key = (payload: unknown) => explicitKey({}, request(payload), paths);
    expect(key({ event: { id: 7 }, items: [{}, { id: "i" }] })).toBe("payload.event.id:7");
    expect(key({ labels: { "a.b": "x" } })).toBe('payload.labels["a.b"]:x');
    expect(key({ event: { id: "" }, items: [{}, { id: "i" }] })).toBe("payload.items[1].id:i");
    expect(key({ event: { id: { deep: 1 } } })).toBeUndefined();
    expect(key("no json")).toBeUndefined();
    expect(explicitKey({ "webhook-id": "h" }, request({ event: { id: 7 } }), paths)).toBe("webhook-id:h");
  });

  it("reads a path in a form and in a batch's envelope", () => {
    expect(explicitKey({}, request("id=9&x=1"), ["payload.id"])).toBe("payload.id:9");
    expect(explicitKey({}, request({ run: "r", alerts: [{ a: 1 }] }), ["payload.run"])).toBe("payload.run:r");
  });

  it("does not climb a prototype", () => {
    const paths = ["payload.constructor.name", "payload.__proto__.x", "payload.toString"];
    expect(explicitKey({}, request({ a: 1 }), paths)).toBeUndefined();
  });
});

describe("namesItself", () => {
  const midnight = "2026-11-21T00:00:00Z";

  it.each([
    [{ event_id: "e1" }],
    [{ data: { timestamp: 1795219200 } }],
    [{ timestamp: midnight, title: "x" }],
    [{ alert: { triggeredAt: midnight } }],
    [{ specversion: "1.0", id: "1", source: "/a", type: "t" }],
    [{ event: { id: "e1" } }],
    [[{ timestamp: 1795219200 }, { timestamp: 1795219201 }]],
    [{ action: "labeled", issue: { updated_at: midnight }, repository: {}, sender: { login: "octocat" } }],
    [{ ref: "main", head_commit: { timestamp: midnight }, repository: {}, sender: { login: "octocat" } }],
  ])("is true of %j", (payload) => {
    expect(namesItself(payload)).toBe(true);
  });

  it.each([
    [{ id: "rule-7", value: 3 }],
    [{ alertId: "a1", ruleId: 5, subscriptionId: "s1", metric: { id: "m", key: "k" } }],
    [{ alert: { id: "a1" }, status: "firing" }],
    [{ data: { subscription: { id: "s", createdAt: midnight }, metric: { key: "k", updatedAt: 1795219200 } } }],
    [{ rule: { timestamp: 1795219200 }, value: 1 }],
    [{ action: "added", member: { login: "hubot" }, team: { id: 1 }, sender: { login: "octocat" } }],
    [{ action: "added", repository: { updated_at: midnight }, sender: { login: "octocat" } }],
    [{ issue: { updated_at: midnight }, title: "a tracker of another kind" }],
    [{ fingerprint: "f", startsAt: midnight }],
    [{ timestamp: 0 }],
    [{ date: "2026-11-21", time: "10:00" }],
    [[{ timestamp: 1795219200 }, { title: "x" }]],
    [[]],
  ])("is false of %j, which may truly happen again", (payload) => {
    expect(namesItself(payload)).toBe(false);
  });

  it("is false of what is neither JSON nor a form", () => {
    for (const body of ["", "ETH crossing 3000", '{"timestamp":1795219200,', "\u0000\u0001"]) {
      expect(namesItself(body)).toBe(false);
    }
  });

  it.each([
    ["alertmanager.json", false],
    ["market-alert.json", true],
    ["market-alert-flat.json", true],
    ["cloudwatch-sns.json", true],
    ["cloudevents.json", true],
    ["slack-blocks.json", false],
  ])("of %s is %s", (name, expected) => {
    expect(namesItself(fixture(name))).toBe(expected);
  });
});
