import { expect, it } from "vitest";
import { keepHeaders } from "../../src/intake/door/request-parts.ts";

const kept = (...pairs: [string, string][]) => JSON.parse(keepHeaders(pairs.flat())) as [string, string][];

it("keeps headers in their order and as often as they came", () => {
  const pairs: [string, string][] = [
    ["X-Sender", "desk"],
    ["x-trace", "1"],
    ["X-Trace", "2"],
    ["X-Latin", "\u00ff\u00fe"],
  ];
  expect(kept(...pairs)).toEqual(pairs);
});

it.each([
  ..."Authorization Proxy-Authorization X-Auth X-Auth-User Cookie X-API-Key Api_Key apikey X-Access-Key".split(" "),
  ..."X-Functions-Key Ocp-Apim-Subscription-Key X-Amz-Security-Token X-Gitlab-Token X-Secret X-Passwd".split(" "),
  ..."X-Session-Id X-JWT X-Routing-Key X-Credentials X-Vault-Token".split(" "),
])("masks the value of %s", (name) => {
  expect(kept([name, "canary"])).toEqual([[name, "***"]]);
});

it.each(["Idempotency-Key", "X-Event-Key", "X-Author", "Webhook-Id", "X-Hub-Signature-256", "X-GitHub-Delivery"])(
  "shows the value of %s, which opens nothing",
  (name) => {
    expect(kept([name, "value"])).toEqual([[name, "value"]]);
  },
);

it.each([
  ["X-Original-URI", "/hooks/canary?source=a", "/hooks/***?source=a"],
  ["Referer", "https://alerts.example/hooks/canary", "https://alerts.example/hooks/***"],
  ["X-Forwarded-Uri", "/hooks/canary/", "/hooks/***/"],
  ["X-Next", "a=%2Fhooks%2Fcanary%2F&b=/hooks/canary", "a=%2Fhooks%2F***%2F&b=/hooks/***"],
  ["Forwarded", 'path="/hooks/canary";proto=https', 'path="/hooks/***";proto=https'],
])("hides the hook's secret that a proxy repeats in %s", (name, value, shown) => {
  expect(kept([name, value])).toEqual([[name, shown]]);
});
