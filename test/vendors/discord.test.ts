import { beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { type HttpVendorOf, setUpHttp } from "../conformance/http-vendors.ts";
import type { KnownChannel as Channel } from "../support/known-vendors.ts";
import { pngOf } from "../support/png.ts";
import { sayOutcome } from "../support/say-outcome.ts";
import { sendContext } from "../support/send-context.ts";

let vendor: HttpVendorOf<"discord">;
let open: (change?: object) => Promise<Channel>;
let channel: Channel;
beforeEach(async () => {
  ({ vendor, open } = await setUpHttp("discord"));
  channel = await open();
});

const openAt = (path: string) => open({ url: new Secret(vendor.origin + path) });
const message = (body: object) => ({ kind: "discord" as const, text: "", body: JSON.stringify(body) });

/** Sends it; the reference of the message. */
async function send(sent: ReturnType<typeof message>, change = {}): Promise<string> {
  const outcome = await channel.send(sent, sendContext(change));
  if (outcome.kind !== "sent" || outcome.ref === undefined) throw new Error("not sent");
  return outcome.ref;
}

describe("a picture for a message on Discord", () => {
  const picture = { png: pngOf(800, 400), alt: "TVL of USDC" };
  const firing = message({ content: "**TVL 24 M**", embeds: [{ description: "below 25 M", color: 1 }] });
  const image = { url: "attachment://chart.png" };

  it("joins its embed, with its line, and the text stays as it was", async () => {
    const ref = await send(firing);
    const line = "24 h −3.2 %";
    expect(await channel.illustrate?.(ref, firing, { ...picture, line }, sendContext())).toEqual({ kind: "sent", ref });
    expect(vendor.messages).toMatchObject([
      {
        content: "**TVL 24 M**",
        embeds: [{ description: "below 25 M", color: 1, image, footer: { text: line } }],
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

  it("stays when the message is edited, also by a channel that knows nothing of it", async () => {
    const ref = await send(firing);
    await channel.illustrate?.(ref, firing, picture, sendContext());
    await channel.edit?.(ref, message({ content: "over", embeds: [{ description: "after 8 min" }] }), sendContext());
    const attachments = [{ filename: "chart.png" }];
    expect(vendor.messages).toMatchObject([
      { content: "over", embeds: [{ description: "after 8 min", image }], attachments },
    ]);
    await (await open()).edit?.(ref, message({ content: "again" }), sendContext());
    expect(vendor.messages).toMatchObject([{ content: "again", embeds: [], attachments }]);
  });

  it("says why it was refused: the message is gone, it is no picture, too many calls", async () => {
    const illustrate = async (ref: string, given = picture) =>
      sayOutcome(await channel.illustrate?.(ref, firing, given, sendContext()));
    expect(await illustrate("12345")).toBe("rejected message edit_target_gone");
    const ref = await send(firing);
    const rubbish = { ...picture, png: new TextEncoder().encode("no picture") };
    expect(await illustrate(ref, rubbish)).toBe("rejected message message_refused");
    vendor.behave({ kind: "answer", answer: () => ({ status: 429, body: '{"retry_after":2.5}' }) });
    expect(await illustrate(ref)).toBe("retry rate_limited 2500 free");
    expect(vendor.messages).toMatchObject([{ content: "**TVL 24 M**", attachments: [] }]);
  });

  it("keeps the thread of the webhook's address, as edits do", async () => {
    channel = await openAt(`${vendor.path}?thread_id=42`);
    const ref = await send(firing);
    await channel.edit?.(ref, firing, sendContext());
    await channel.illustrate?.(ref, firing, picture, sendContext());
    const threads = vendor.requests.map(({ path }) => new URL(path, vendor.origin).searchParams.get("thread_id"));
    expect(threads).toEqual(["42", "42", "42"]);
  });
});

describe("a Discord webhook", () => {
  const probe = (probed = channel) => probed.probe("ops", AbortSignal.timeout(240_000));

  it("is called at a pinned version, where waits are counted in seconds", async () => {
    await send(message({ content: "a" }));
    expect(vendor.requests[0]?.path).toMatch(/^\/api\/v10\/webhooks\/.*\?wait=true$/);
  });

  it("makes no sound when told so, and keeps other flags", async () => {
    await send(message({ content: "a", flags: 4 }), { silent: true });
    await send(message({ content: "b" }));
    expect(vendor.messages.map(({ flags }) => flags)).toEqual([4096 | 4, 0]);
  });

  it("replaces the whole message by an edit, also when text becomes embeds or embeds become text", async () => {
    const ref = await send(message({ embeds: [{ title: "firing" }] }));
    await channel.edit?.(ref, message({ content: "resolved" }), sendContext());
    expect(vendor.messages).toMatchObject([{ content: "resolved", embeds: [] }]);
    await channel.edit?.(ref, message({ embeds: [{ title: "again" }] }), sendContext());
    expect(vendor.messages).toMatchObject([{ content: "", embeds: [{ title: "again" }] }]);
  });

  it("is probed by reading it, and found gone", async () => {
    expect(await probe()).toMatchObject({ kind: "sent" });
    expect(vendor.requests[0]?.method).toBe("GET");
    expect(sayOutcome(await probe(await openAt("/api/webhooks/1/deleted")))).toBe("rejected destination gone");
  });

  it("is not gone because a server that imitates Discord does not know the question", async () => {
    vendor.behave({ kind: "answer", answer: () => ({ status: 404, body: "not found" }) });
    expect(await probe()).toMatchObject({ kind: "rejected", scope: "message" });
  });
});
