import { expect, it, onTestFinished } from "vitest";
import { createJourneyWorld, waitForState } from "../support/journey-world.ts";
import { createHttpVendor } from "../support/vendors/http-vendor.ts";
import { createWebhookVendor } from "../support/vendors/webhook-vendor.ts";

/** With numbers whose digits no double holds. */
const bodyOf = (index: number) =>
  `{"title":"Alert ${index}","value":1.10,"wei":1${index}00000000000000000001,"name":"é"}`;

it("posts to a webhook four at a time, each signed and with the facts and the payload of its alert", async () => {
  const slow = await createWebhookVendor();
  const quick = await createHttpVendor(() => ({ status: 204 }));
  onTestFinished(async () => void (await Promise.all([slow.close(), quick.close()])));
  const world = await createJourneyWorld({
    yaml: `
destinations:
  slow: { type: webhook, url: "${slow.origin}${slow.path}", secret: "\${SIGNING}", allowInternal: ["127.0.0.1"] }
  quick: { type: webhook, url: "${quick.origin}", allowInternal: ["127.0.0.1"] }
routes:
  - { name: last, match: { title: Last }, to: [quick] }
  - { name: everything, to: [slow] }
`,
  });
  const relay = await world.start({ TELEGRAM_CHAT_IDS: "", EMAIL_TO: "", SIGNING: slow.secret });
  slow.behave({ kind: "hold" });
  const ids: string[] = [];
  for (let index = 0; index < 6; index += 1) ids.push(...(await relay.post(bodyOf(index))).ids);
  await relay.post('{"title":"Last"}');

  await expect.poll(() => quick.requests.length).toBe(1);
  await expect.poll(() => slow.requests.length).toBeGreaterThanOrEqual(4);
  for (let answered = 1; answered <= 6; answered += 1) {
    const mostUnderWay = Math.min(4, 6 - answered + 1);
    await expect.poll(() => slow.held.length).toBeGreaterThanOrEqual(mostUnderWay);
    expect(slow.held).toHaveLength(mostUnderWay);
    slow.held.shift()?.();
  }

  for (const id of ids) await waitForState(relay, id, "sent");
  const received = slow.seen.map(({ id, body }) => ({ id, body, data: JSON.parse(body).data }));
  const arrived = new Map(received.map((message) => [message.data.alerts[0].id, message]));
  expect([...arrived.keys()].sort()).toEqual([...ids].sort());
  for (const [index, id] of ids.entries()) {
    const { id: webhookId, body, data } = arrived.get(id) ?? {};
    expect(data).toMatchObject({
      deliveryId: webhookId,
      repeat: false,
      subject: `Alert ${index}`,
      alerts: [{ id, facts: { title: `Alert ${index}`, value: "1.10", format: "json" } }],
    });
    expect(body).toContain(`"payload":${bodyOf(index)}`);
  }
});
