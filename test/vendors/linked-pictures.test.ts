import { afterEach, describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createNtfyChannel } from "../../src/vendors/ntfy/send.ts";
import { createSlackChannel } from "../../src/vendors/slack/send.ts";
import { fullFacts, makeAlert, makeContext, publicUrl } from "../rendering/sample.ts";
import { destinationBase } from "../support/destinations.ts";
import type { KnownChannel as Channel, KnownMessage as Message } from "../support/known-vendors.ts";
import { createRendering } from "../support/rendering.ts";
import { sendContext } from "../support/send-context.ts";
import { createTestClock } from "../support/test-clock.ts";
import { createNtfyVendor, createSlackVendor } from "../support/vendors/app-vendors.ts";
import { type HttpVendor, json, parseObject, text } from "../support/vendors/http-vendor.ts";

const picture = { url: `${publicUrl}/pictures/a.b.light.c.d.png`, alt: "Value over time: USDC" };
const rendering = createRendering({ publicUrl });
const document = rendering.composeAlert(makeAlert({ facts: fullFacts }), makeContext());
const minute = 60_000;

function messageFor(kind: "slack" | "ntfy", withPicture = true, form: "rich" | "plain" = "rich"): Message {
  const options = { form, timeZone: "UTC", picture: withPicture ? picture : undefined };
  return rendering.renderDocument(kind, document, options)[0] as Message;
}

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Scene {
  vendor: HttpVendor;
  channel: Channel;
  /** Texts that people see. */
  seen(): string[];
}

const clock = createTestClock();

async function openSlack(): Promise<Scene> {
  const vendor = await createSlackVendor();
  const url = new Secret(`${vendor.origin}${vendor.path}`);
  const destination = { ...destinationBase("desk"), type: "slack" as const, url, allowInternal: ["127.0.0.1"] };
  const channel = createSlackChannel(destination, { now: clock.now });
  closers.push(vendor.close, channel.close);
  return { vendor, channel, seen: () => vendor.seen };
}

async function openNtfy(): Promise<Scene> {
  const vendor = await createNtfyVendor();
  const { origin, topic } = vendor;
  const token = new Secret(vendor.token);
  const base = { ...destinationBase("phone"), type: "ntfy" as const, allowInternal: ["127.0.0.1"] };
  const channel = createNtfyChannel({ ...base, server: origin, topic, token }, { now: clock.now });
  closers.push(vendor.close, channel.close);
  return { vendor, channel, seen: () => vendor.shown.map(({ message }) => message) };
}

const bodiesOf = ({ vendor }: Scene) => vendor.requests.map(({ body }) => parseObject(body) ?? {});
const hasPicture = (body: Record<string, unknown>) => JSON.stringify(body).includes(picture.url);

/** What the vendor says of a message whose picture it cannot take. */
const refusals = {
  slack: text(400, "invalid_blocks"),
  ntfy: json(400, { code: 40013, http: 400, error: "invalid request: attachment URL is invalid" }),
};

describe("a message to Slack with a picture", () => {
  it("shows it behind the text, with words for whoever does not see it", async () => {
    const scene = await openSlack();
    expect(await scene.channel.send(messageFor("slack"), sendContext())).toEqual({ kind: "sent" });
    const [body = {}] = bodiesOf(scene);
    expect((body.blocks as unknown[]).at(-1)).toEqual({
      type: "image",
      image_url: picture.url,
      alt_text: picture.alt,
    });
  });

  it("says the same as without, and has none in its plain form", async () => {
    const [rich, bare, plain] = [messageFor("slack"), messageFor("slack", false), messageFor("slack", true, "plain")];
    expect({ ...rich, pictured: undefined }).toEqual({ ...bare, pictured: undefined });
    expect(plain).not.toHaveProperty("pictured");
  });
});

describe("a push by ntfy with a picture", () => {
  it("has it as an attachment that phones know as a picture, and still opens its link", async () => {
    const scene = await openNtfy();
    expect(await scene.channel.send(messageFor("ntfy"), sendContext())).toMatchObject({ kind: "sent" });
    expect(bodiesOf(scene)[0]).toMatchObject({
      attach: picture.url,
      filename: "chart.png",
      click: expect.stringContaining(publicUrl),
    });
  });

  it("keeps it when it is changed", async () => {
    const scene = await openNtfy();
    await scene.channel.edit?.("d1", messageFor("ntfy"), sendContext());
    expect(bodiesOf(scene)[0]).toMatchObject({ attach: picture.url, sequence_id: "d1" });
  });
});

describe.each([
  { kind: "slack" as const, open: openSlack },
  { kind: "ntfy" as const, open: openNtfy },
])("a text for $kind", ({ kind, open }) => {
  async function openRefusing(): Promise<Scene> {
    const scene = await open();
    let isFirst = true;
    scene.vendor.behave({
      kind: "answer",
      answer: ({ body }) => {
        if (isFirst) expect(hasPicture(parseObject(body) ?? {})).toBe(true);
        isFirst = false;
        scene.vendor.behave({ kind: "normal" });
        return refusals[kind];
      },
    });
    return scene;
  }

  it("is sent at once without the picture with which it was refused, as the same delivery", async () => {
    const scene = await openRefusing();
    const outcome = await scene.channel.send(messageFor(kind), sendContext());
    expect(outcome).toMatchObject({
      kind: "sent",
      note: expect.stringMatching(
        /^Sent without its picture, with which it was refused: 127\.0\.0\.1:\d+ answered 400/,
      ),
    });
    expect(bodiesOf(scene).map(hasPicture)).toEqual([true, false]);
    expect(scene.seen()).toHaveLength(1);
  });

  it("has no picture for half an hour after that, and then one again", async () => {
    const scene = await openRefusing();
    await scene.channel.send(messageFor(kind), sendContext());
    await scene.channel.send(messageFor(kind), sendContext({ deliveryId: "d2" }));
    await clock.jump(29 * minute);
    await scene.channel.send(messageFor(kind), sendContext({ deliveryId: "d3" }));
    await clock.jump(minute);
    await scene.channel.send(messageFor(kind), sendContext({ deliveryId: "d4" }));
    expect(bodiesOf(scene).map(hasPicture)).toEqual([true, false, false, false, true]);
    expect(scene.seen()).toHaveLength(4);
  });

  it("that is refused without its picture as well is refused", async () => {
    const scene = await open();
    scene.vendor.behave({ kind: "answer", answer: () => refusals[kind] });
    const outcome = await scene.channel.send(messageFor(kind), sendContext());
    expect(outcome).toMatchObject({ kind: "rejected", scope: "message" });
    expect(scene.vendor.requests).toHaveLength(2);
  });

  it("is not sent again when nobody knows whether it arrived, and its repeat has no picture", async () => {
    const scene = await open();
    scene.vendor.behave({ kind: "take_then_reset" });
    expect(await scene.channel.send(messageFor(kind), sendContext())).toMatchObject({ kind: "ambiguous" });
    expect(scene.vendor.requests).toHaveLength(1);
    scene.vendor.behave({ kind: "normal" });
    await scene.channel.send(messageFor(kind), sendContext());
    expect(bodiesOf(scene).map(hasPicture)).toEqual([true, false]);
  });

  it("that is asked to wait has its picture later", async () => {
    const scene = await open();
    scene.vendor.behave({ kind: "answer", answer: () => text(429, "rate_limited", { "retry-after": "1" }) });
    expect(await scene.channel.send(messageFor(kind), sendContext())).toMatchObject({ reason: "rate_limited" });
    scene.vendor.behave({ kind: "normal" });
    await scene.channel.send(messageFor(kind), sendContext());
    expect(bodiesOf(scene).map(hasPicture)).toEqual([true, true]);
  });

  it("is followed by none with a picture when the vendor took long over one", async () => {
    const scene = await open();
    scene.vendor.behave({ kind: "hold" });
    const sending = scene.channel.send(messageFor(kind), sendContext());
    while (scene.vendor.held.length === 0) await scene.vendor.nextRequest();
    await clock.jump(6_000);
    scene.vendor.held.splice(0)[0]?.();
    expect(await sending).toMatchObject({ kind: "sent" });
    scene.vendor.behave({ kind: "normal" });
    await scene.channel.send(messageFor(kind), sendContext({ deliveryId: "d2" }));
    expect(bodiesOf(scene).map(hasPicture)).toEqual([true, false]);
    expect(scene.seen()).toHaveLength(2);
  });

  it("of a storm is there each time, when every picture is refused", async () => {
    const scene = await open();
    const refuse = ({ body }: { body: string }) => {
      scene.vendor.behave({ kind: "normal" });
      return hasPicture(parseObject(body) ?? {}) ? refusals[kind] : text(500, "no picture was expected");
    };
    for (let n = 0; n < 40; n += 1) {
      // Each of them an hour behind the last, so that each has its picture.
      await clock.jump(60 * minute);
      scene.vendor.behave({ kind: "answer", answer: refuse });
      expect(await scene.channel.send(messageFor(kind), sendContext({ deliveryId: `d${n}` }))).toMatchObject({
        kind: "sent",
      });
    }
    expect(scene.seen()).toHaveLength(40);
  });
});
