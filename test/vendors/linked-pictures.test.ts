import { describe, expect, it, onTestFinished } from "vitest";
import { createNtfyChannel } from "../../src/vendors/ntfy/send.ts";
import { createSlackChannel } from "../../src/vendors/slack/send.ts";
import { httpVendors } from "../conformance/http-vendors.ts";
import { fullFacts, makeAlert, makeContext, publicUrl } from "../rendering/sample.ts";
import type { KnownChannel as Channel, KnownMessage as Message } from "../support/known-vendors.ts";
import { createRendering } from "../support/rendering.ts";
import { sayOutcome } from "../support/say-outcome.ts";
import { sendContext } from "../support/send-context.ts";
import { createTestClock } from "../support/test-clock.ts";
import { type HttpVendor, json, parseObject, text } from "../support/vendors/http-vendor.ts";

const picture = { url: `${publicUrl}/pictures/a.b.light.c.d.png`, alt: "Value over time: USDC" };
const rendering = createRendering({ publicUrl });
const document = rendering.composeAlert(makeAlert({ facts: fullFacts }), makeContext());
const minute = 60_000;
type Kind = "slack" | "ntfy";

function messageFor(kind: Kind, withPicture = true, form: "rich" | "plain" = "rich"): Message {
  const options = { form, timeZone: "UTC", picture: withPicture ? picture : undefined };
  return rendering.renderDocument(kind, document, options)[0] as Message;
}

const clock = createTestClock();
const open = {
  async slack() {
    const { vendor, destination } = await httpVendors.slack();
    return sceneOf("slack", vendor, createSlackChannel(destination, { now: clock.now }), () => vendor.seen.length);
  },
  async ntfy() {
    const { vendor, destination } = await httpVendors.ntfy();
    return sceneOf("ntfy", vendor, createNtfyChannel(destination, { now: clock.now }), () => vendor.shown.length);
  },
};

function sceneOf(kind: Kind, vendor: HttpVendor, channel: Channel, seen: () => number) {
  onTestFinished(() => channel.close());
  const bodies = () => vendor.requests.map(({ body }) => parseObject(body) ?? {});
  return {
    vendor,
    channel,
    bodies,
    /** How many texts people see. */
    seen,
    /** Of each call, whether it had the picture. */
    pictured: () => bodies().map(hasPicture),
    send: (deliveryId = "d1") => channel.send(messageFor(kind), sendContext({ deliveryId })),
    /** Refuses the next call for its picture. */
    refuse: () =>
      vendor.behave({
        kind: "answer",
        answer: () => {
          vendor.behave({ kind: "normal" });
          return refusals[kind];
        },
      }),
  };
}

const hasPicture = (body: Record<string, unknown>) => JSON.stringify(body).includes(picture.url);

/** What the vendor says of a message whose picture it cannot take. */
const refusals = {
  slack: text(400, "invalid_blocks"),
  ntfy: json(400, { code: 40013, http: 400, error: "invalid request: attachment URL is invalid" }),
};

it("a message to Slack shows its picture behind the text, with words for whoever does not see it", async () => {
  const { send, bodies } = await open.slack();
  expect(await send()).toEqual({ kind: "sent" });
  const blocks = bodies()[0]?.blocks as unknown[];
  expect(blocks.at(-1)).toEqual({ type: "image", image_url: picture.url, alt_text: picture.alt });
});

it("says the same as without, and has none in its plain form", () => {
  const [rich, bare, plain] = [messageFor("slack"), messageFor("slack", false), messageFor("slack", true, "plain")];
  expect({ ...rich, pictured: undefined }).toEqual({ ...bare, pictured: undefined });
  expect(plain).not.toHaveProperty("pictured");
});

it("a push by ntfy has it as an attachment that phones know as a picture, also when it is changed", async () => {
  const { send, channel, bodies } = await open.ntfy();
  expect(await send()).toMatchObject({ kind: "sent" });
  const attached = { attach: picture.url, filename: "chart.png", click: expect.stringContaining(publicUrl) };
  await channel.edit?.("d1", messageFor("ntfy"), sendContext());
  expect(bodies()).toMatchObject([attached, { attach: picture.url, sequence_id: "d1" }]);
});

describe.each(["slack", "ntfy"] as const)("a text for %s", (kind) => {
  it("is sent at once without the picture with which it was refused, as the same delivery", async () => {
    const { send, refuse, pictured, seen } = await open[kind]();
    refuse();
    const note = /^Sent without its picture, with which it was refused: 127\.0\.0\.1:\d+ answered 400/;
    expect(await send()).toMatchObject({ kind: "sent", note: expect.stringMatching(note) });
    expect(pictured()).toEqual([true, false]);
    expect(seen()).toBe(1);
  });

  it("has no picture for half an hour after that, and then one again", async () => {
    const { send, refuse, pictured, seen } = await open[kind]();
    refuse();
    await send();
    await send("d2");
    await clock.jump(29 * minute);
    await send("d3");
    await clock.jump(minute);
    await send("d4");
    expect(pictured()).toEqual([true, false, false, false, true]);
    expect(seen()).toBe(4);
  });

  it("that is refused without its picture as well is refused", async () => {
    const { vendor, send, pictured } = await open[kind]();
    vendor.behave({ kind: "answer", answer: () => refusals[kind] });
    expect(await send()).toMatchObject({ kind: "rejected", scope: "message" });
    expect(pictured()).toEqual([true, false]);
  });

  it("is not sent again when nobody knows whether it arrived, and its repeat has no picture", async () => {
    const { vendor, send, pictured } = await open[kind]();
    vendor.behave({ kind: "take_then_reset" });
    expect(await send()).toMatchObject({ kind: "ambiguous" });
    expect(pictured()).toEqual([true]);
    vendor.behave({ kind: "normal" });
    await send();
    expect(pictured()).toEqual([true, false]);
  });

  it("that is asked to wait has its picture later", async () => {
    const { vendor, send, pictured } = await open[kind]();
    vendor.behave({ kind: "answer", answer: () => text(429, "rate_limited", { "retry-after": "1" }) });
    expect(sayOutcome(await send())).toMatch(/^retry rate_limited/);
    vendor.behave({ kind: "normal" });
    await send();
    expect(pictured()).toEqual([true, true]);
  });

  it("is followed by none with a picture when the vendor took long over one", async () => {
    const { vendor, send, pictured, seen } = await open[kind]();
    vendor.behave({ kind: "hold" });
    const sending = send();
    while (vendor.held.length === 0) await vendor.nextRequest();
    await clock.jump(6_000);
    vendor.held.splice(0)[0]?.();
    expect(await sending).toMatchObject({ kind: "sent" });
    vendor.behave({ kind: "normal" });
    await send("d2");
    expect(pictured()).toEqual([true, false]);
    expect(seen()).toBe(2);
  });
});
