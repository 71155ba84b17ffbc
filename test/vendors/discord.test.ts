import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createDiscordChannel } from "../../src/vendors/discord/send.ts";
import { destinationBase } from "../support/destinations.ts";
import type { KnownChannel as Channel } from "../support/known-vendors.ts";
import { pngOf } from "../support/png.ts";
import { sendContext } from "../support/send-context.ts";
import { createDiscordVendor, type DiscordVendor } from "../support/vendors/app-vendors.ts";

let vendor: DiscordVendor;
let channel: Channel;

const open = (query = "") =>
  createDiscordChannel(
    {
      ...destinationBase("ops"),
      type: "discord",
      url: new Secret(vendor.origin + vendor.path + query),
      allowInternal: ["127.0.0.1"],
    },
    { now: Date.now },
  );
const message = (body: object) => ({ kind: "discord" as const, text: "", body: JSON.stringify(body) });

beforeEach(async () => {
  vendor = await createDiscordVendor();
  channel = open();
});

afterEach(async () => {
  await channel.close();
  await vendor.close();
});

describe("a picture for a message on Discord", () => {
  const picture = { png: pngOf(800, 400), alt: "TVL of USDC" };
  const firing = message({ content: "**TVL 24 M**", embeds: [{ description: "below 25 M", color: 1 }] });

  async function send(sent = firing): Promise<string> {
    const outcome = await channel.send(sent, sendContext());
    if (outcome.kind !== "sent" || outcome.ref === undefined) throw new Error("not sent");
    return outcome.ref;
  }

  it("joins its embed, with its line, and the text stays as it was", async () => {
    const ref = await send();
    const line = "24 h −3.2 %";
    expect(await channel.illustrate?.(ref, firing, { ...picture, line }, sendContext())).toEqual({ kind: "sent", ref });
    expect(vendor.messages).toMatchObject([
      {
        content: "**TVL 24 M**",
        embeds: [
          {
            description: "below 25 M",
            color: 1,
            image: { url: "attachment://chart.png" },
            footer: { text: line },
          },
        ],
        attachments: [{ filename: "chart.png", description: "TVL of USDC", size: picture.png.length }],
      },
    ]);
  });

  it("stands by itself under a text without an embed", async () => {
    const plain = message({ content: "TVL 24 M" });
    await channel.illustrate?.(await send(plain), plain, picture, sendContext());
    expect(vendor.messages).toMatchObject([
      { content: "TVL 24 M", embeds: [], attachments: [{ filename: "chart.png" }] },
    ]);
  });

  it("stays when the message is edited", async () => {
    const ref = await send();
    await channel.illustrate?.(ref, firing, picture, sendContext());
    await channel.edit?.(ref, message({ content: "over", embeds: [{ description: "after 8 min" }] }), sendContext());
    expect(vendor.messages).toMatchObject([
      {
        content: "over",
        embeds: [{ description: "after 8 min", image: { url: "attachment://chart.png" } }],
        attachments: [{ filename: "chart.png" }],
      },
    ]);
    await channel.close();
    channel = open();
    await channel.edit?.(ref, message({ content: "again" }), sendContext());
    expect(vendor.messages).toMatchObject([{ content: "again", embeds: [], attachments: [{ filename: "chart.png" }] }]);
  });

  it("keeps the thread of the webhook's address", async () => {
    await channel.close();
    channel = open("?thread_id=42");
    await channel.illustrate?.(await send(), firing, picture, sendContext());
    expect(new URL(vendor.requests[1]?.path ?? "", vendor.origin).searchParams.get("thread_id")).toBe("42");
  });

  it("says why it was refused: the message is gone, it is no picture, too many calls", async () => {
    expect(await channel.illustrate?.("12345", firing, picture, sendContext())).toMatchObject({
      kind: "rejected",
      scope: "message",
      reason: "edit_target_gone",
    });
    const rubbish = { ...picture, png: new TextEncoder().encode("no picture") };
    const ref = await send();
    expect(await channel.illustrate?.(ref, firing, rubbish, sendContext())).toMatchObject({
      kind: "rejected",
      scope: "message",
    });
    vendor.behave({
      kind: "answer",
      answer: () => ({ status: 429, body: JSON.stringify({ retry_after: 2.5 }) }),
    });
    expect(await channel.illustrate?.(ref, firing, picture, sendContext())).toMatchObject({
      kind: "retry",
      waitMs: 2_500,
    });
    expect(vendor.messages).toMatchObject([{ content: "**TVL 24 M**", attachments: [] }]);
  });
});

describe("a Discord webhook", () => {
  it("is called at a pinned version, where waits are counted in seconds", async () => {
    await channel.send(message({ content: "a" }), sendContext());
    expect(vendor.requests[0]?.path).toMatch(/^\/api\/v10\/webhooks\/.*\?wait=true$/);
  });

  it("keeps the thread of its address, in edits too", async () => {
    await channel.close();
    channel = open("?thread_id=42");
    const sent = await channel.send(message({ content: "a" }), sendContext());
    if (sent.kind !== "sent" || sent.ref === undefined) throw new Error("not sent");
    await channel.edit?.(sent.ref, message({ content: "b" }), sendContext());
    expect(vendor.requests.map(({ path }) => new URL(path, vendor.origin).searchParams.get("thread_id"))).toEqual([
      "42",
      "42",
    ]);
  });

  it("makes no sound when told so, and keeps other flags", async () => {
    await channel.send(message({ content: "a", flags: 4 }), sendContext({ silent: true }));
    await channel.send(message({ content: "b" }), sendContext());
    expect(vendor.messages.map(({ flags }) => flags)).toEqual([4096 | 4, 0]);
  });

  it("replaces the whole message by an edit, also when text becomes embeds or embeds become text", async () => {
    const sent = await channel.send(message({ embeds: [{ title: "firing" }] }), sendContext());
    if (sent.kind !== "sent" || sent.ref === undefined) throw new Error("not sent");
    await channel.edit?.(sent.ref, message({ content: "resolved" }), sendContext());
    expect(vendor.messages).toMatchObject([{ content: "resolved", embeds: [] }]);
    await channel.edit?.(sent.ref, message({ embeds: [{ title: "again" }] }), sendContext());
    expect(vendor.messages).toMatchObject([{ content: "", embeds: [{ title: "again" }] }]);
  });

  it("reports that the message to edit is gone, and not the destination", async () => {
    expect(await channel.edit?.("12345", message({ content: "b" }), sendContext())).toMatchObject({
      kind: "rejected",
      scope: "message",
      reason: "edit_target_gone",
    });
  });

  it("is probed by reading it, and found gone", async () => {
    expect(await channel.probe("ops", AbortSignal.timeout(240_000))).toMatchObject({ kind: "sent" });
    expect(vendor.requests[0]?.method).toBe("GET");
    await channel.close();
    channel = createDiscordChannel(
      {
        ...destinationBase("ops"),
        type: "discord",
        url: new Secret(`${vendor.origin}/api/webhooks/1/deleted`),
        allowInternal: ["127.0.0.1"],
      },
      { now: Date.now },
    );
    expect(await channel.probe("ops", AbortSignal.timeout(240_000))).toMatchObject({
      kind: "rejected",
      scope: "destination",
      reason: "gone",
    });
  });

  it("is not gone because a server that imitates Discord does not know the question", async () => {
    vendor.behave({ kind: "answer", answer: () => ({ status: 404, body: "not found" }) });
    expect(await channel.probe("ops", AbortSignal.timeout(240_000))).toMatchObject({
      kind: "rejected",
      scope: "message",
    });
  });
});
