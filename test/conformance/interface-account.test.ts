import { afterAll, beforeAll, expect, test } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { startReceiver } from "../workshop/service-fixture.ts";
import { at, type InterfaceFixture, key, startInterface, textOf } from "./interface-fixture.ts";

/** Sections 1, 5, 6 and 9 of the interface, and the account's endpoints 4.6, 4.7, 4.11, 4.12. */

let api: InterfaceFixture;
beforeAll(async () => {
  api = await startInterface();
  api.sandbox.accounts.createAccount({ accountName: "Other", key: "key-of-other", userNames: ["Eve"] });
});
afterAll(() => api.sandbox.close());

const readAccount = async ({ alerting } = api) => (await alerting.readAccount()).account;
const outputs = async () => (await readAccount()).alertOutputs;
const set = async (changes: Parameters<typeof api.alerting.setAlertOutputs>[0]) =>
  (await api.alerting.setAlertOutputs(changes)).alertOutputs;
const webhook = (name: string) => `http://127.0.0.1:9/${name}`;

test("S1 successful responses wrap their content in data", async () => {
  const { alertingUrl, pricingUrl } = api.sandbox;
  const metric = at(await api.alerting.listMetrics({ chainId: "eth", page: 1 }), 2);
  const range = `metrics/records/range?key=${textOf(metric, "key")}`;
  const state = `pools/state?chainId=eth&address=${textOf(metric, "poolAddress")}`;
  const urls = [
    ...["account", "metrics?chainId=eth&page=1", range, "tokens?chainId=eth"].map((path) => `${alertingUrl}/${path}`),
    ...["users", "subscriptions"].map((path) => `${alertingUrl}/${path}`),
    ...[state, "assets/ticker?symbol=ETH/USD", "equities/symbols"].map((path) => `${pricingUrl}/v1/${path}`),
    `${pricingUrl}/v1/equities/price?symbols=AAPL`,
  ];
  for (const url of urls)
    expect(await api.call(url), url).toMatchObject({ status: 200, body: { data: expect.anything() } });
});

test("S2 pricing endpoints carry the version in their path", async () => {
  const status = (path: string) => api.status(`${api.sandbox.pricingUrl}/${path}`);
  expect([await status("v1/equities/symbols"), await status("equities/symbols")]).toEqual([200, 404]);
});

test("S3 pricing answers 401 to a missing key", async () => {
  for (const path of ["assets/ticker?symbol=ETH/USD", "pools/state", "equities/symbols", "equities/price"])
    expect(await api.status(`${api.sandbox.pricingUrl}/v1/${path}`, { headers: {} })).toBe(401);
});

test.each<[string, string, ((api: ReturnType<InterfaceFixture["withKey"]>) => Promise<unknown>)[]]>([
  ["S4 pricing answers 403 to an invalid key", "forbidden", [({ pricing }) => pricing.readTicker("ETH/USD")]],
  ["S6 reading the account verifies the key", "unauthorized", [({ alerting }) => alerting.readAccount()]],
  [
    "S10 equities endpoints authenticate as the other pricing endpoints do",
    "forbidden",
    [({ pricing }) => pricing.listEquitySymbols(), ({ pricing }) => pricing.readEquityPrices(["AAPL"])],
  ],
])("%s", async (_statement, why, calls) => {
  for (const call of calls)
    await expect(call(api.withKey("no-such-key"))).rejects.toMatchObject({ code: `upstream_${why}` });
});

test("S5 alerting takes the key itself as the value of Authorization", async () => {
  const given = [{ authorization: key }, { authorization: `Bearer ${key}` }, { "x-api-key": key }];
  const status = (headers: Record<string, string>) => api.status(`${api.sandbox.alertingUrl}/account`, { headers });
  expect(await Promise.all(given.map(status as never))).toEqual([200, 401, 401]);
});

test("S7 a key no longer works after its expiry", async () => {
  const expiring = await startInterface();
  const { apiKeyExpiresAt = 0 } = await readAccount(expiring);
  const [account, symbols] = [expiring.alerting.readAccount, expiring.pricing.listEquitySymbols];
  expiring.advance(apiKeyExpiresAt - expiring.now() - 1);
  await Promise.all([account(), symbols()]);
  expiring.advance(1);
  await expect(account()).rejects.toMatchObject({ code: "upstream_unauthorized" });
  await expect(symbols()).rejects.toMatchObject({ code: "upstream_forbidden" });
  await expiring.sandbox.close();
});

test("S8 outputs belong to the account that owns the key", async () => {
  const other = api.withKey("key-of-other").alerting;
  await other.setAlertOutputs({ webhookUrl: webhook("other") });
  expect((await outputs()).webhookUrl).toBeNull();
  await other.setAlertOutputs({ webhookUrl: null });
});

test("S9 users belong to the account that owns the key", async () => {
  const foreign = await api.withKey("key-of-other").alerting.listUsers();
  expect(foreign.map((user) => textOf(user, "name"))).toEqual(["Eve"]);
  expect((await api.alerting.listUsers()).map((user) => textOf(user, "name"))).not.toContain("Eve");
  expect(await api.alerting.listUsers({ ids: [textOf(at(foreign, 0), "id")] })).toEqual([]);
});

test("S11 the account response says authorized and has the account's fields", async () => {
  const { message, account } = await api.alerting.readAccount();
  expect(message).toBe("authorized");
  const apiKeyHash = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect(account).toMatchObject({ id: expect.any(String), accountName: "Sandbox", apiKeyHash });
  expect(JSON.stringify(account)).not.toContain(key);
});

test("S12 the key's expiry is a Unix timestamp carried as a string", async () => {
  const { apiKeyExpirationTimestamp, apiKeyExpiresAt } = await readAccount();
  expect(apiKeyExpirationTimestamp).toEqual(expect.stringMatching(/^\d+$/));
  expect(apiKeyExpiresAt).toBe(api.now() + 90 * 24 * 3_600_000);
});

test("S13 creation and last update are ISO 8601, and an update moves the latter", async () => {
  const before = await readAccount();
  api.advance(5000);
  await set({ messengerChannelId: null });
  const after = await readAccount();
  expect(after.createdAt).toBe("2025-11-21T12:00:00.000Z");
  expect(Date.parse(String(after.updatedAt))).toBeGreaterThan(Date.parse(String(before.updatedAt)));
});

test("S14 by default no output is configured", async () => {
  const fresh = await startInterface();
  expect((await readAccount(fresh)).alertOutputs).toEqual({ webhookUrl: null, messengerChannelId: null });
  await fresh.sandbox.close();
});

test("S15 setting an output answers with the new configuration and a confirmation", async () => {
  const alertOutputs = { webhookUrl: webhook("a"), messengerChannelId: "-1001" };
  const answer = await api.alerting.setAlertOutputs(alertOutputs);
  expect(answer).toMatchObject({ alertOutputs, message: expect.stringContaining("updated"), confirmedBy: "answer" });
  expect(await outputs()).toEqual(answer.alertOutputs);
});

test("S16 a messenger channel's id must start with -", async () => {
  await set({ messengerChannelId: "-1002" });
  for (const messengerChannelId of ["1001", -1001]) {
    const put = { method: "PUT", headers: { authorization: key }, body: JSON.stringify({ messengerChannelId }) };
    expect(await api.status(`${api.sandbox.alertingUrl}/account`, put)).toBe(400);
  }
  expect((await outputs()).messengerChannelId).toBe("-1002");
});

test("S17 an absent member leaves its output as it is", async () => {
  await set({ webhookUrl: webhook("b"), messengerChannelId: "-1003" });
  expect(await set({ webhookUrl: webhook("c") })).toEqual({ webhookUrl: webhook("c"), messengerChannelId: "-1003" });
});

test("S18 null disables an output", async () => {
  expect((await set({ webhookUrl: null })).webhookUrl).toBeNull();
});

test("S19 there is one configuration per account, and setting it again replaces it", async () => {
  for (const name of ["first", "second"]) await set({ webhookUrl: webhook(name) });
  expect((await outputs()).webhookUrl).toBe(webhook("second"));
});

test("S20 users are all of the account's, or those of the ids", async () => {
  const users = await api.alerting.listUsers();
  const ids = [textOf(at(users, 0), "id"), textOf(at(users, 2), "id")];
  expect((await api.alerting.listUsers({ ids })).map((user) => textOf(user, "id"))).toEqual(ids);
});

test("S21 subscriptions have a subscription and its metric, of all users or of those of the ids", async () => {
  const all = await api.alerting.listSubscriptions();
  expect(all.length).toBeGreaterThan(5);
  for (const { subscription, metric } of all)
    expect(textOf(subscription, "metricKey")).toBe(textOf(metric ?? {}, "key"));
  const userId = textOf(at(all, 0).subscription, "userId");
  const some = await api.alerting.listSubscriptions({ userIds: [userId] });
  expect(some).toEqual(all.filter(({ subscription }) => textOf(subscription, "userId") === userId));
  expect(some.length).toBeLessThan(all.length);
});

test("S22 alerts are sent to both configured outputs, and a null output is not notified", async () => {
  const receiver = await startReceiver();
  const botApi = await startReceiver((response) => void response.end('{"ok":true}'));
  const scene = await startInterface({ botToken: new Secret("1:a"), telegramApiRoot: botApi.url });
  const fire = async (changes: Parameters<typeof set>[0]) => {
    await scene.alerting.setAlertOutputs(changes);
    scene.sandbox.fire();
    await scene.sandbox.settled();
    return [receiver.received.length, botApi.received.length];
  };
  expect(await fire({ webhookUrl: null }), "no output").toEqual([0, 0]);
  expect(await fire({ webhookUrl: receiver.url, messengerChannelId: "-1001" }), "both").toEqual([1, 1]);
  expect(await fire({ messengerChannelId: null }), "the webhook only").toEqual([2, 1]);
  expect(await fire({ webhookUrl: null }), "none again").toEqual([2, 1]);
  await scene.sandbox.close();
});

test("S23 alerts follow from conditions on metrics", async () => {
  const receiver = await startReceiver();
  const scene = await startInterface();
  const metricKey = textOf(at(await scene.alerting.listSubscriptions(), 0).subscription, "metricKey");
  await scene.alerting.setAlertOutputs({ webhookUrl: receiver.url });
  scene.sandbox.moveMetric(metricKey, 60, 3_600_000);
  await scene.pass(1000);
  await scene.sandbox.close();
  expect(receiver.received.map(({ body }) => JSON.parse(body).metricKey)).toContain(metricKey);
});
