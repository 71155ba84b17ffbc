import { afterEach, describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createNtfyChannel } from "../../src/vendors/ntfy/send.ts";
import { type NtfyDestination, ntfy } from "../../src/vendors/ntfy/vendor.ts";
import { destinationBase } from "../support/destinations.ts";
import type { KnownChannel as Channel, KnownMessage as Message } from "../support/known-vendors.ts";
import { sendContext } from "../support/send-context.ts";
import { createNtfyVendor, type NtfyVendor } from "../support/vendors/app-vendors.ts";
import { text } from "../support/vendors/http-vendor.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function open(options?: {
  sequences?: boolean;
  change?: Partial<NtfyDestination>;
}): Promise<{ vendor: NtfyVendor; channel: Channel }> {
  const vendor = await createNtfyVendor({ sequences: options?.sequences ?? true });
  const channel = createNtfyChannel(
    {
      ...destinationBase("phone"),
      type: "ntfy",
      server: vendor.origin,
      topic: vendor.topic,
      token: new Secret(vendor.token),
      allowInternal: ["127.0.0.1"],
      ...options?.change,
    },
    { now: Date.now },
  );
  closers.push(vendor.close, channel.close);
  return { vendor, channel };
}

const message = (words: string): Message => ({
  kind: "ntfy",
  title: "TVL fell",
  text: words,
  priority: 5,
  tags: ["rotating_light"],
  click: "https://desk.example/alerts/1",
});

describe("ntfy", () => {
  it("is shown without its topic, which is as good as a key", () => {
    const destination: NtfyDestination = {
      ...destinationBase("phone"),
      type: "ntfy",
      server: "https://ntfy.sh",
      topic: "canary-topic",
      allowInternal: [],
    };
    expect([ntfy.describe(destination), ...ntfy.shownRecipients(destination)]).toEqual([
      "a topic of ntfy.sh",
      "ntfy.sh",
    ]);
  });

  it("is given title, priority, tags and the link to click", async () => {
    const { vendor, channel } = await open();
    await channel.send(message("a"), sendContext());
    expect(vendor.shown).toMatchObject([
      { title: "TVL fell", message: "a", priority: 5, click: "https://desk.example/alerts/1" },
    ]);
    expect(JSON.parse(vendor.requests[0]?.body ?? "")).toMatchObject({ tags: ["rotating_light"] });
  });

  it("rings no phone for a silent message", async () => {
    const { vendor, channel } = await open();
    await channel.send(message("a"), sendContext({ silent: true }));
    expect(vendor.shown).toMatchObject([{ priority: 2 }]);
  });

  it("shows a repeat of one delivery in place of the first", async () => {
    const { vendor, channel } = await open();
    await channel.send(message("a"), sendContext({ deliveryId: "d1" }));
    await channel.send(message("a (possible repeat)"), sendContext({ deliveryId: "d1" }));
    expect(vendor.shown).toMatchObject([{ message: "a (possible repeat)" }]);
  });

  it("gives nothing to edit by on a server that knows no sequences", async () => {
    const { channel } = await open({ sequences: false });
    expect(await channel.send(message("a"), sendContext())).toEqual({ kind: "sent" });
  });

  it("is found wrong when its topic, token or server is", async () => {
    const destination = { kind: "rejected", scope: "destination" };
    for (const change of [
      { topic: "somebody-elses" },
      { topic: "not a topic" },
      { token: new Secret("tk_wrong") },
      { token: undefined },
    ]) {
      const { channel } = await open({ change });
      expect(await channel.send(message("a"), sendContext())).toMatchObject(destination);
    }
  });

  it("is not called healthy by a page of somebody else", async () => {
    const { vendor, channel } = await open();
    vendor.behave({ kind: "answer", answer: () => text(200, "<html>welcome</html>") });
    expect(await channel.probe("phone", AbortSignal.timeout(240_000))).toMatchObject({ kind: "retry" });
  });
});
