import { expect, it, onTestFinished } from "vitest";
import { createJourneyWorld, waitForState } from "../support/journey-world.ts";
import { waitUntil } from "../support/relay-process.ts";
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

it("stands as dead since it was refused, over a restart, until a message gets through", async () => {
  let status = 410;
  const receiver = await createHttpVendor(() => ({ status }));
  onTestFinished(() => receiver.close());
  const world = await createJourneyWorld({
    yaml: `
destinations:
  desk: { type: webhook, url: "${receiver.origin}", allowInternal: ["127.0.0.1"] }
`,
  });
  interface Shown {
    verdict: string;
    health: string;
    since?: string;
    nextTryAt?: string;
  }
  const noOthers = { TELEGRAM_CHAT_IDS: "", EMAIL_TO: "" };
  const first = await world.start(noOthers);
  const [id = ""] = (await first.post('{"title":"First"}')).ids;
  const read = async (relay: typeof first) => (await relay.getJson<{ data: Shown[] }>("/api/destinations")).data[0];
  const before = await waitUntil(
    () => read(first),
    (desk) => desk?.health === "dead",
    { what: "a dead destination" },
  );
  await first.stop();

  const relay = await world.start(noOthers);
  // The start asks whether the address takes connections. It does, as a server that refuses messages does, and the alert is the try.
  await expect.poll(() => receiver.requests.length).toBeGreaterThan(1);
  const after = await waitUntil(
    () => read(relay),
    (desk) => desk?.nextTryAt !== undefined,
    { what: "the refusal of the message that was the try" },
  );
  expect(after).toMatchObject({ verdict: "failing", health: "dead", since: before?.since });
  await relay.stop();

  status = 204;
  const mended = await world.start(noOthers);
  await waitForState(mended, id, "sent");
  await waitUntil(
    () => read(mended),
    (desk) => desk?.verdict === "proven" && desk.health === "ok",
    { what: "a proven destination" },
  );
});
