import { afterAll, afterEach, describe, expect, test } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { notificationShapes } from "../../workshop/service/options.ts";
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
const nobody = { webhookUrl: "http://127.0.0.1:9/" };

describe("alerts of the market", () => {
  test("fires when a condition begins to hold and resolves when it ends", async () => {
    const fixture = await start();
    const { sandbox, advance } = fixture;
    const receiver = await startReceiver();
    await sandbox.createAccount({ accountName: "Quiet", key: "key-of-quiet" });
    const account = sandbox.describe().accounts[1];
    const metricKey = await anyMetricKey(fixture);
    await sandbox.subscribe({
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

  test("turns some of its own conditions within an hour, both ways", async () => {
    const fixture = await startSending();
    for (let second = 0; second < 3600; second += 10) fixture.advance(10_000);
    await fixture.pass();
    expect(new Set(fixture.sent().map(({ status }) => status))).toEqual(new Set(["firing", "resolved"]));
  });

  test("speed makes conditions turn more often in the same time", async () => {
    const count = async (speed: number) => {
      const fixture = await start({ speed });
      await fixture.setOutputs(nobody);
      for (let turn = 0; turn < 1200; turn += 1) fixture.advance(250);
      await fixture.sandbox.settled();
      return fixture.sandbox.listNotifications({ limit: 1000 }).length;
    };
    expect(await count(20)).toBeGreaterThan(3 * (await count(1)));
  });
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
    const firing = sandbox.storm(40);
    const resolved = Array.from({ length: 40 }, () => sandbox.fire({ status: "resolved" }));
    for (const { condition, status, value, threshold, previousValue } of [...firing, ...resolved]) {
      const holds = (of: number) => (condition === "above" ? of > threshold : of < threshold);
      expect([holds(value), holds(previousValue)]).toEqual([status === "firing", status === "resolved"]);
    }
    expect(new Set(firing.map(({ condition }) => condition))).toEqual(new Set(["above", "below"]));
  });

  test("repeats and resolves a manual alert under the condition that it fired with", async () => {
    const { sandbox } = await start();
    const first = sandbox.fire({});
    const { metricKey, condition, threshold } = first;
    const again = sandbox.fire({ metricKey });
    const over = sandbox.fire({ metricKey, status: "resolved" });
    expect([again, over]).toMatchObject([
      { condition, threshold, status: "firing" },
      { condition, threshold, status: "resolved" },
    ]);
    const isAbove = condition === "above";
    expect([first, again, over].map(({ value }) => value > threshold)).toEqual([isAbove, isAbove, !isAbove]);
    // A value that contradicts the condition is what was asked for, and begins another.
    const other = sandbox.fire({ metricKey, value: isAbove ? threshold / 2 : threshold * 2 });
    expect(other.threshold).not.toBe(threshold);
  });

  test.each(notificationShapes)("has a body with the value in the shape %s", async (shape) => {
    const { sandbox, pass, receiver } = await startSending({ shape });
    sandbox.fire({ value: 123.25 });
    await pass();
    expect(receiver.received).toHaveLength(1);
    expect(receiver.received[0]?.body).toContain("123.25");
    expect(receiver.received[0]?.contentType).toMatch(
      shape === "text" ? /^text\/plain/ : shape === "form" ? /form-urlencoded/ : /^application\/json/,
    );
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

  test("gives up after the configured attempts and says so", async () => {
    const { sandbox, pass, setOutputs } = await start({ deliveryAttempts: 1 });
    await setOutputs(nobody);
    sandbox.fire();
    await pass();
    expect(sandbox.listNotifications()).toMatchObject([{ state: "failed", attempts: [{ outcome: "unanswered" }] }]);
  });

  test("a receiver that hangs does not stop the market or other accounts", async () => {
    const fixture = await start({ deliveryConcurrency: 2 });
    const { sandbox } = fixture;
    const hanging = await startReceiver(() => undefined);
    const healthy = await startReceiver();
    await fixture.setOutputs({ webhookUrl: hanging.url });
    const { id } = await sandbox.createAccount({ accountName: "Other", key: "key-of-other" });
    await fixture.setOutputs({ webhookUrl: healthy.url }, "key-of-other");
    sandbox.storm(10);
    await expect.poll(() => hanging.received.length).toBeGreaterThan(0);
    const event = sandbox.fire({ accountId: id });
    fixture.advance(1000);
    await expect.poll(() => healthy.received).toHaveLength(1);
    expect(healthy.received[0]?.body).toContain(event.id);
  });

  test("closing ends what is under way without counting it as an attempt", async () => {
    const hanging = await startReceiver(() => undefined);
    const fixture = await startSandbox();
    await fixture.setOutputs({ webhookUrl: hanging.url });
    fixture.sandbox.fire();
    await expect.poll(() => hanging.received).toHaveLength(1);
    await fixture.sandbox.close();
    expect(fixture.sandbox.listNotifications()).toMatchObject([{ state: "pending", attempts: [] }]);
  });

  test("a storm of a thousand is accounted for one by one", async () => {
    const { sandbox, pass, sent } = await startSending();
    const events = sandbox.storm(1000);
    await pass();
    expect(new Set(sent().map(({ eventId }) => eventId))).toEqual(new Set(events.map(({ id }) => id)));
    expect(sandbox.describe().notifications).toMatchObject({ pending: 0, delivered: 1000 });
  });

  test("an alert's link shows what was sent of it, also after many newer ones", async () => {
    const { sandbox, pass, call } = await startSending({ shape: "text" });
    const { link } = sandbox.fire({ value: 4321.5, severity: "critical" });
    sandbox.storm(60);
    await pass();
    const page = async (url: string) => (await call(url)).body as string;
    expect(await page(sandbox.url)).not.toContain("4321.5");
    expect(await page(link)).toMatch(/<pre>CRITICAL [^<]* 4321\.5 /);
    expect(await page(`${sandbox.url}/?event=<i>`)).toContain("Nothing is kept of it");
  });

  test("cancels what waits for an output that is disabled", async () => {
    const { sandbox, pass, setOutputs } = await start();
    await setOutputs(nobody);
    sandbox.fire();
    await pass();
    await setOutputs({ webhookUrl: null });
    await pass(2000);
    expect(sandbox.listNotifications({ state: "cancelled" })).toHaveLength(1);
  });
});

describe("the messenger output", () => {
  test("posts to the channel by the bot, obeys retry_after, and shows the token nowhere", async () => {
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
});

async function anyMetricKey({ sandbox, call }: SandboxFixture): Promise<string> {
  const { body } = await call(`${sandbox.alertingUrl}/metrics?chainId=base&page=2`);
  const [metric] = (body as { data: { key: string }[] }).data;
  return metric?.key ?? "";
}
