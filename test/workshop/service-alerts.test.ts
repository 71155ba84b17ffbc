import { afterAll, afterEach, describe, expect, test } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { ServiceSandboxOptions } from "../../workshop/service/service.ts";
import { type Receiver, type SandboxFixture, startReceiver, startSandbox } from "./service-fixture.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  expect(warnings.splice(0)).toEqual([]);
});

/** What Node would print on a user's terminal about a signal that has more listeners than usual. */
const warnings: Error[] = [];
const keepWarning = (warning: Error) => {
  if (warning.name === "MaxListenersExceededWarning") warnings.push(warning);
};
process.on("warning", keepWarning);
afterAll(() => void process.off("warning", keepWarning));

async function start(options: Partial<ServiceSandboxOptions> = {}): Promise<SandboxFixture> {
  const fixture = await startSandbox(options);
  open.push(fixture.sandbox);
  return fixture;
}

/** A sandbox that sends to a receiver. */
async function startSending(
  options: Partial<ServiceSandboxOptions> = {},
  answer?: Parameters<typeof startReceiver>[0],
): Promise<SandboxFixture & { receiver: Receiver; sent(): Record<string, unknown>[] }> {
  const fixture = await start(options);
  const receiver = await startReceiver(answer);
  await fixture.setOutputs({ webhookUrl: receiver.url });
  return { ...fixture, receiver, sent: () => receiver.received.map(({ body }) => JSON.parse(body)) };
}

test("alerts of the market fires when a condition begins to hold and resolves when it ends", async () => {
  const fixture = await start();
  const { sandbox, advance } = fixture;
  const receiver = await startReceiver();
  sandbox.accounts.createAccount({ accountName: "Quiet", key: "key-of-quiet" });
  const account = sandbox.describe().accounts[1];
  const metricKey = await anyMetricKey(fixture);
  sandbox.accounts.subscribe({
    accountId: account?.id,
    metricKey,
    condition: { kind: "change_percent", percent: 40, windowMs: 60_000 },
    severity: "critical",
  });
  await fixture.setOutputs({ webhookUrl: `${receiver.url}/hook` }, "key-of-quiet");

  advance(1000);
  sandbox.moveMetric(metricKey, 50, 20_000);
  advance(1000);
  advance(30_000);
  advance(60_000);
  await sandbox.settled();

  const sent = receiver.received.map(({ body }) => JSON.parse(body));
  expect(sent.map(({ status }) => status)).toEqual(["firing", "resolved"]);
  expect(sent[0]).toMatchObject({ metricKey, severity: "critical", condition: "change_percent" });
  expect(sent[0].value).toBeGreaterThan(sent[0].previousValue * 1.4);
  expect(new Set(sent.map(({ eventId }) => eventId)).size).toBe(2);
});

describe("notifications", () => {
  test("sends an event once when it is accepted", async () => {
    const fixture = await startSending();
    const wanted = { severity: "critical", value: 7, threshold: 5, condition: "above" } as const;
    const event = fixture.sandbox.fire(wanted);
    await fixture.pass();
    await fixture.pass(3_600_000);
    const timestamp = "2025-11-21T12:00:00.000Z";
    const link = `${fixture.sandbox.url}/?event=${event.id}`;
    expect(fixture.sent().filter(({ eventId }) => eventId === event.id)).toEqual([
      expect.objectContaining({ ...wanted, status: "firing", timestamp, link }),
    ]);
  });

  test("says of a manual alert what turned: the value crossed the threshold, and back", async () => {
    const { sandbox } = await start();
    const firing = sandbox.alarm.storm(40);
    const resolved = Array.from({ length: 40 }, () => sandbox.fire({ status: "resolved" }));
    for (const { condition, status, value, threshold, previousValue } of [...firing, ...resolved]) {
      const holds = (of: number) => (condition === "above" ? of > threshold : of < threshold);
      expect([holds(value), holds(previousValue)]).toEqual([status === "firing", status === "resolved"]);
    }
    expect(new Set(firing.map(({ condition }) => condition))).toEqual(new Set(["above", "below"]));
  });

  test("repeats with growing pauses until the receiver takes it, and logs each attempt", async () => {
    const { sandbox, pass, receiver } = await startSending({}, (response, count) => {
      response.writeHead(count < 3 ? 503 : 202).end();
    });
    sandbox.fire({ value: 1 });
    await pass();
    await pass(500);
    expect(receiver.received, "before the pause is over").toHaveLength(1);
    await pass(1000);
    await pass(2000);
    expect(receiver.received, "the second pause is longer").toHaveLength(2);
    await pass(10_000);
    const [notification] = sandbox.listNotifications({ state: "delivered" });
    expect(notification?.attempts.map(({ status, outcome }) => [status, outcome])).toEqual([
      [503, "refused"],
      [503, "refused"],
      [202, "accepted"],
    ]);
  });

  test("waits as long as the receiver's Retry-After asks", async () => {
    const { sandbox, pass, receiver } = await startSending({}, (response, count) => {
      response.writeHead(count === 1 ? 503 : 200, { "retry-after": "40" }).end();
    });
    sandbox.fire();
    await pass();
    const repeats = () => receiver.received.filter(({ body }) => body === receiver.received[0]?.body).length;
    await pass(39_000);
    expect(repeats()).toBe(1);
    await pass(1000);
    expect(repeats()).toBe(2);
  });

  test("a receiver that hangs does not stop the market or other accounts", async () => {
    const fixture = await start({ deliveryConcurrency: 2 });
    const { sandbox } = fixture;
    const hanging = await startReceiver(() => undefined);
    const healthy = await startReceiver();
    await fixture.setOutputs({ webhookUrl: hanging.url });
    const { id } = sandbox.accounts.createAccount({ accountName: "Other", key: "key-of-other" });
    await fixture.setOutputs({ webhookUrl: healthy.url }, "key-of-other");
    sandbox.alarm.storm(10);
    await expect.poll(() => hanging.received.length).toBeGreaterThan(0);
    const event = sandbox.fire({ accountId: id });
    fixture.advance(1000);
    await expect.poll(() => healthy.received).toHaveLength(1);
    expect(healthy.received[0]?.body).toContain(event.id);
  });
});

test("the messenger output posts to the channel by the bot, obeys retry_after, and shows the token nowhere", async () => {
  const description = "Too Many Requests: retry after 30";
  const botApi = await startReceiver((response, count) => {
    const refused = { ok: false, description, parameters: { retry_after: 30 } };
    response.writeHead(count === 1 ? 429 : 200);
    response.end(JSON.stringify(count === 1 ? refused : { ok: true, result: { message_id: 1 } }));
  });
  const token = "123456:canary-of-the-token";
  const fixture = await start({ botToken: new Secret(token), telegramApiRoot: botApi.url });
  await fixture.setOutputs({ messengerChannelId: "-1001234" });
  const event = fixture.sandbox.fire({ value: 9 });
  await fixture.pass();
  await fixture.pass(29_000);
  expect(botApi.received.filter(({ body }) => body === botApi.received[0]?.body)).toHaveLength(1);
  await fixture.pass(2000);

  expect(botApi.received[0]?.path).toBe(`/bot${token}/sendMessage`);
  expect(JSON.parse(botApi.received[0]?.body ?? "")).toMatchObject({ chat_id: "-1001234" });
  const notifications = fixture.sandbox.listNotifications({ limit: 1000 });
  const notification = notifications.find(({ eventIds }) => eventIds.includes(event.id));
  expect(notification).toMatchObject({ state: "delivered", output: "messenger" });
  const shown: string[] = [];
  for (const path of ["/", "/_sandbox", "/_sandbox/deliveries"])
    shown.push(JSON.stringify((await fixture.call(fixture.sandbox.url + path)).body));
  expect(shown.join()).not.toContain("canary");
});

async function anyMetricKey({ sandbox, call }: SandboxFixture): Promise<string> {
  const { body } = await call(`${sandbox.alertingUrl}/metrics?chainId=base&page=2`);
  const [metric] = (body as { data: { key: string }[] }).data;
  return metric?.key ?? "";
}
