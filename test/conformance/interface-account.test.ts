import { afterAll, beforeAll, expect, test } from "vitest";
import { startReceiver } from "../workshop/service-fixture.ts";
import { at, type InterfaceFixture, key, startInterface, textOf } from "./interface-fixture.ts";

/** Sections 1, 5, 6 and 9 of the interface, and the account's endpoints 4.6, 4.7, 4.11, 4.12. */

let api: InterfaceFixture;
beforeAll(async () => {
  api = await startInterface();
  await api.sandbox.createAccount({ accountName: "Other", key: "key-of-other", userNames: ["Eve"] });
});
afterAll(() => api.sandbox.close());

test("S1 successful responses wrap their content in data", async () => {
  const { alertingUrl, pricingUrl } = api.sandbox;
  const metric = at(await api.alerting.listMetrics({ chainId: "eth", page: 1 }), 2);
  const urls = [
    `${alertingUrl}/account`,
    `${alertingUrl}/metrics?chainId=eth&page=1`,
    `${alertingUrl}/metrics/records/range?key=${textOf(metric, "key")}`,
    `${alertingUrl}/tokens?chainId=eth`,
    `${alertingUrl}/users`,
    `${alertingUrl}/subscriptions`,
    `${pricingUrl}/v1/pools/state?chainId=eth&address=${textOf(metric, "poolAddress")}`,
    `${pricingUrl}/v1/assets/ticker?symbol=ETH/USD`,
    `${pricingUrl}/v1/equities/symbols`,
    `${pricingUrl}/v1/equities/price?symbols=AAPL`,
  ];
  for (const url of urls) {
    const { status, body } = await api.call(url);
    expect([url, status]).toEqual([url, 200]);
    expect(body, url).toHaveProperty("data");
  }
});

test("S2 pricing endpoints carry the version in their path", async () => {
  expect(await api.status(`${api.sandbox.pricingUrl}/v1/equities/symbols`)).toBe(200);
  expect(await api.status(`${api.sandbox.pricingUrl}/equities/symbols`)).toBe(404);
});

test("S3 pricing answers 401 to a missing key", async () => {
  for (const path of ["assets/ticker?symbol=ETH/USD", "pools/state", "equities/symbols", "equities/price"]) {
    expect(await api.status(`${api.sandbox.pricingUrl}/v1/${path}`, { headers: {} })).toBe(401);
  }
});

test("S4 pricing answers 403 to an invalid key", async () => {
  const { pricing } = api.withKey("no-such-key");
  await expect(pricing.readTicker("ETH/USD")).rejects.toMatchObject({ code: "upstream_forbidden" });
});

test("S5 alerting takes the key itself as the value of Authorization", async () => {
  const url = `${api.sandbox.alertingUrl}/account`;
  expect(await api.status(url, { headers: { authorization: key } })).toBe(200);
  expect(await api.status(url, { headers: { authorization: `Bearer ${key}` } })).toBe(401);
  expect(await api.status(url, { headers: { "x-api-key": key } })).toBe(401);
});

test("S6 reading the account verifies the key", async () => {
  const { alerting } = api.withKey("no-such-key");
  await expect(alerting.readAccount()).rejects.toMatchObject({ code: "upstream_unauthorized" });
});

test("S7 a key no longer works after its expiry", async () => {
  const expiring = await startInterface();
  const { account } = await expiring.alerting.readAccount();
  const expiresAt = account.apiKeyExpiresAt ?? 0;
  expiring.advance(expiresAt - expiring.now() - 1);
  await expiring.alerting.readAccount();
  await expiring.pricing.listEquitySymbols();
  expiring.advance(1);
  await expect(expiring.alerting.readAccount()).rejects.toMatchObject({ code: "upstream_unauthorized" });
  await expect(expiring.pricing.listEquitySymbols()).rejects.toMatchObject({ code: "upstream_forbidden" });
  await expiring.sandbox.close();
});

test("S8 outputs belong to the account that owns the key", async () => {
  const other = api.withKey("key-of-other").alerting;
  await other.setAlertOutputs({ webhookUrl: "http://127.0.0.1:9/other" });
  expect((await api.alerting.readAccount()).account.alertOutputs.webhookUrl).toBeNull();
  await other.setAlertOutputs({ webhookUrl: null });
});

test("S9 users belong to the account that owns the key", async () => {
  const names = async (client = api.alerting) => (await client.listUsers()).map((user) => textOf(user, "name"));
  expect(await names(api.withKey("key-of-other").alerting)).toEqual(["Eve"]);
  expect(await names()).not.toContain("Eve");
  const foreign = at(await api.withKey("key-of-other").alerting.listUsers(), 0);
  expect(await api.alerting.listUsers({ ids: [textOf(foreign, "id")] })).toEqual([]);
});

test("S10 equities endpoints authenticate as the other pricing endpoints do", async () => {
  const { pricing } = api.withKey("no-such-key");
  await expect(pricing.listEquitySymbols()).rejects.toMatchObject({ code: "upstream_forbidden" });
  await expect(pricing.readEquityPrices(["AAPL"])).rejects.toMatchObject({ code: "upstream_forbidden" });
});

test("S11 the account response says authorized and has the account's fields", async () => {
  const { message, account } = await api.alerting.readAccount();
  expect(message).toBe("authorized");
  const apiKeyHash = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect(account).toMatchObject({ id: expect.any(String), accountName: "Sandbox", apiKeyHash });
  expect(JSON.stringify(account)).not.toContain(key);
});

test("S12 the key's expiry is a Unix timestamp carried as a string", async () => {
  const { account } = await api.alerting.readAccount();
  expect(account.apiKeyExpirationTimestamp).toEqual(expect.stringMatching(/^\d+$/));
  expect(account.apiKeyExpiresAt).toBe(api.now() + 90 * 24 * 3_600_000);
});

test("S13 creation and last update are ISO 8601, and an update moves the latter", async () => {
  const before = (await api.alerting.readAccount()).account;
  api.advance(5000);
  await api.alerting.setAlertOutputs({ messengerChannelId: null });
  const after = (await api.alerting.readAccount()).account;
  expect(after.createdAt).toBe("2025-11-21T12:00:00.000Z");
  expect(Date.parse(String(after.updatedAt))).toBeGreaterThan(Date.parse(String(before.updatedAt)));
});

test("S14 by default no output is configured", async () => {
  const fresh = await startInterface();
  const { account } = await fresh.alerting.readAccount();
  await fresh.sandbox.close();
  expect(account.alertOutputs).toEqual({ webhookUrl: null, messengerChannelId: null });
});

test("S15 setting an output answers with the new configuration and a confirmation", async () => {
  const webhookUrl = "http://127.0.0.1:9/hooks/a";
  const alertOutputs = { webhookUrl, messengerChannelId: "-1001" };
  const answer = await api.alerting.setAlertOutputs(alertOutputs);
  expect(answer).toMatchObject({ alertOutputs, message: expect.stringContaining("updated"), confirmedBy: "answer" });
  expect((await api.alerting.readAccount()).account.alertOutputs).toEqual(answer.alertOutputs);
});

test("S16 a messenger channel's id must start with -", async () => {
  const [url, headers] = [`${api.sandbox.alertingUrl}/account`, { authorization: key }];
  const put = (body: object) => api.status(url, { method: "PUT", headers, body: JSON.stringify(body) });
  await api.alerting.setAlertOutputs({ messengerChannelId: "-1002" });
  expect(await put({ messengerChannelId: "1001" })).toBe(400);
  expect(await put({ messengerChannelId: -1001 })).toBe(400);
  expect((await api.alerting.readAccount()).account.alertOutputs.messengerChannelId).toBe("-1002");
});

test("S17 an absent member leaves its output as it is", async () => {
  await api.alerting.setAlertOutputs({ webhookUrl: "http://127.0.0.1:9/b", messengerChannelId: "-1003" });
  const { alertOutputs } = await api.alerting.setAlertOutputs({ webhookUrl: "http://127.0.0.1:9/c" });
  expect(alertOutputs).toEqual({ webhookUrl: "http://127.0.0.1:9/c", messengerChannelId: "-1003" });
});

test("S18 null disables an output", async () => {
  const { alertOutputs } = await api.alerting.setAlertOutputs({ webhookUrl: null });
  expect(alertOutputs.webhookUrl).toBeNull();
});

test("S19 there is one configuration per account, and setting it again replaces it", async () => {
  await api.alerting.setAlertOutputs({ webhookUrl: "http://127.0.0.1:9/first" });
  await api.alerting.setAlertOutputs({ webhookUrl: "http://127.0.0.1:9/second" });
  expect((await api.alerting.readAccount()).account.alertOutputs.webhookUrl).toBe("http://127.0.0.1:9/second");
});

test("S20 users are all of the account's, or those of the ids", async () => {
  const users = await api.alerting.listUsers();
  expect(users.length).toBeGreaterThan(2);
  const ids = [textOf(at(users, 0), "id"), textOf(at(users, 2), "id")];
  const some = await api.alerting.listUsers({ ids });
  expect(some.map((user) => textOf(user, "id"))).toEqual(ids);
});

test("S21 subscriptions have a subscription and its metric, of all users or of those of the ids", async () => {
  const all = await api.alerting.listSubscriptions();
  expect(all.length).toBeGreaterThan(5);
  for (const { subscription, metric } of all) {
    expect(textOf(subscription, "metricKey")).toBe(textOf(metric ?? {}, "key"));
  }
  const userId = textOf(at(all, 0).subscription, "userId");
  const some = await api.alerting.listSubscriptions({ userIds: [userId] });
  expect(some.map(({ subscription }) => subscription)).toEqual(
    all.map(({ subscription }) => subscription).filter((one) => textOf(one, "userId") === userId),
  );
  expect(some.length).toBeLessThan(all.length);
});

test("S22 alerts are sent to both configured outputs, and a null output is not notified", async () => {
  const { Secret } = await import("../../src/core/secret.ts");
  const receiver = await startReceiver();
  const botApi = await startReceiver((response) => void response.end('{"ok":true}'));
  const scene = await startInterface({ botToken: new Secret("1:a"), telegramApiRoot: botApi.url });
  const counts = () => [receiver.received.length, botApi.received.length];
  const fire = async () => {
    scene.sandbox.fire();
    await scene.sandbox.settled();
    return counts();
  };
  expect(await fire(), "no output").toEqual([0, 0]);
  await scene.alerting.setAlertOutputs({ webhookUrl: receiver.url, messengerChannelId: "-1001" });
  expect(await fire(), "both").toEqual([1, 1]);
  await scene.alerting.setAlertOutputs({ messengerChannelId: null });
  expect(await fire(), "the webhook only").toEqual([2, 1]);
  await scene.alerting.setAlertOutputs({ webhookUrl: null });
  expect(await fire(), "none again").toEqual([2, 1]);
  await scene.sandbox.close();
});

test("S23 alerts follow from conditions on metrics", async () => {
  const receiver = await startReceiver();
  const scene = await startInterface();
  const entry = at(await scene.alerting.listSubscriptions(), 0);
  const metricKey = textOf(entry.subscription, "metricKey");
  await scene.alerting.setAlertOutputs({ webhookUrl: receiver.url });
  scene.sandbox.moveMetric(metricKey, 60, 3_600_000);
  scene.advance(1000);
  await scene.sandbox.settled();
  await scene.sandbox.close();
  const keys = receiver.received.map(({ body }) => JSON.parse(body).metricKey);
  expect(keys).toContain(metricKey);
});
