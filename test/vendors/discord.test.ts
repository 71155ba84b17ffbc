import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createDiscordChannel } from "../../src/vendors/discord/send.ts";
import { destinationBase } from "../support/destinations.ts";
import type { KnownChannel as Channel } from "../support/known-vendors.ts";
import { sendContext } from "../support/send-context.ts";
import { createDiscordVendor, type DiscordVendor } from "../support/vendors/discord-vendor.ts";

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
