import { describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { NtfyMessage } from "../../src/vendors/ntfy/render.ts";
import { ntfy } from "../../src/vendors/ntfy/vendor.ts";
import { setUpHttp } from "../conformance/http-vendors.ts";
import { destinationBase } from "../support/destinations.ts";
import { sendContext } from "../support/send-context.ts";
import { createNtfyVendor } from "../support/vendors/app-vendors.ts";
import { text } from "../support/vendors/http-vendor.ts";

async function openNtfy(change: object = {}) {
  const { vendor, open } = await setUpHttp("ntfy");
  return { vendor, channel: await open(change) };
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
    const address = { server: "https://ntfy.sh", topic: "canary-topic", allowInternal: [] };
    const destination = { ...destinationBase("phone"), type: "ntfy" as const, ...address };
    expect([ntfy.describe(destination), ...ntfy.shownRecipients(destination)]).toEqual([
      "a topic of ntfy.sh",
      "ntfy.sh",
    ]);
  });

  it("is given title, priority, tags and the link to click; a silent message rings no phone", async () => {
    const { vendor, channel } = await openNtfy();
    await channel.send(message("a"), sendContext());
    await channel.send(message("b"), sendContext({ deliveryId: "d2", silent: true }));
    expect(vendor.shown).toMatchObject([
      { title: "TVL fell", message: "a", priority: 5, click: "https://desk.example/alerts/1" },
      { message: "b", priority: 2 },
    ]);
    expect(JSON.parse(vendor.requests[0]?.body ?? "")).toMatchObject({ tags: ["rotating_light"] });
  });

  it("shows a repeat of one delivery in place of the first", async () => {
    const { vendor, channel } = await openNtfy();
    await channel.send(message("a"), sendContext());
    await channel.send(message("a (possible repeat)"), sendContext());
    expect(vendor.shown).toMatchObject([{ message: "a (possible repeat)" }]);
  });

  it("gives nothing to edit by on a server that knows no sequences", async () => {
    const { origin: server } = await createNtfyVendor({ sequences: false });
    const { channel } = await openNtfy({ server });
    expect(await channel.send(message("a"), sendContext())).toEqual({ kind: "sent" });
  });

  it.each([
    { topic: "somebody-elses" },
    { topic: "not a topic" },
    { token: new Secret("tk_wrong") },
    { token: undefined },
  ])("is found wrong when its topic or token is: %j", async (change) => {
    const { channel } = await openNtfy(change);
    expect(await channel.send(message("a"), sendContext())).toMatchObject({ kind: "rejected", scope: "destination" });
  });

  it("is not called healthy by a page of somebody else", async () => {
    const { vendor, channel } = await openNtfy();
    vendor.behave({ kind: "answer", answer: () => text(200, "<html>welcome</html>") });
    expect(await channel.probe("phone", AbortSignal.timeout(240_000))).toMatchObject({ kind: "retry" });
  });
});
