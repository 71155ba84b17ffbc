import { describe, expect, it, onTestFinished } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { NtfyMessage } from "../../src/vendors/ntfy/render.ts";
import { createNtfyChannel } from "../../src/vendors/ntfy/send.ts";
import { type NtfyDestination, ntfy } from "../../src/vendors/ntfy/vendor.ts";
import { destinationBase } from "../support/destinations.ts";
import { sendContext } from "../support/send-context.ts";
import { createNtfyVendor } from "../support/vendors/app-vendors.ts";
import { text } from "../support/vendors/http-vendor.ts";

const base = { ...destinationBase("phone"), type: "ntfy" as const, allowInternal: ["127.0.0.1"] };

async function open(change: Partial<NtfyDestination> = {}, sequences = true) {
  const vendor = await createNtfyVendor({ sequences });
  const { origin: server, topic, token } = vendor;
  const destination = { ...base, server, topic, token: new Secret(token), ...change };
  const channel = createNtfyChannel(destination, { now: Date.now });
  onTestFinished(() => channel.close());
  return { vendor, channel };
}

const message = (words: string): NtfyMessage => ({
  kind: "ntfy",
  title: "TVL fell",
  text: words,
  priority: 5,
  tags: ["rotating_light"],
  click: "https://desk.example/alerts/1",
});

describe("ntfy", () => {
  it("is shown without its topic, which is as good as a key", () => {
    const destination = { ...base, server: "https://ntfy.sh", topic: "canary-topic" };
    expect([ntfy.describe(destination), ...ntfy.shownRecipients(destination)]).toEqual([
      "a topic of ntfy.sh",
      "ntfy.sh",
    ]);
  });

  it("is given title, priority, tags and the link to click; a silent message rings no phone", async () => {
    const { vendor, channel } = await open();
    await channel.send(message("a"), sendContext());
    await channel.send(message("b"), sendContext({ deliveryId: "d2", silent: true }));
    expect(vendor.shown).toMatchObject([
      { title: "TVL fell", message: "a", priority: 5, click: "https://desk.example/alerts/1" },
      { message: "b", priority: 2 },
    ]);
    expect(JSON.parse(vendor.requests[0]?.body ?? "")).toMatchObject({ tags: ["rotating_light"] });
  });

  it("shows a repeat of one delivery in place of the first", async () => {
    const { vendor, channel } = await open();
    await channel.send(message("a"), sendContext());
    await channel.send(message("a (possible repeat)"), sendContext());
    expect(vendor.shown).toMatchObject([{ message: "a (possible repeat)" }]);
  });

  it("gives nothing to edit by on a server that knows no sequences", async () => {
    const { channel } = await open({}, false);
    expect(await channel.send(message("a"), sendContext())).toEqual({ kind: "sent" });
  });

  it.each([
    { topic: "somebody-elses" },
    { topic: "not a topic" },
    { token: new Secret("tk_wrong") },
    { token: undefined },
  ])("is found wrong when its topic or token is: %j", async (change) => {
    const { channel } = await open(change);
    expect(await channel.send(message("a"), sendContext())).toMatchObject({ kind: "rejected", scope: "destination" });
  });

  it("is not called healthy by a page of somebody else", async () => {
    const { vendor, channel } = await open();
    vendor.behave({ kind: "answer", answer: () => text(200, "<html>welcome</html>") });
    expect(await channel.probe("phone", AbortSignal.timeout(240_000))).toMatchObject({ kind: "retry" });
  });
});
