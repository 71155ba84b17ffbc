import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createAppriseChannel } from "../../src/vendors/apprise/send.ts";
import type { AppriseDestination } from "../../src/vendors/apprise/vendor.ts";
import { destinationBase } from "../support/destinations.ts";
import type { KnownChannel as Channel, KnownMessage as Message } from "../support/known-vendors.ts";
import { sendContext } from "../support/send-context.ts";
import { type AppriseVendor, createAppriseVendor } from "../support/vendors/apprise-vendor.ts";
import { echo, text } from "../support/vendors/http-vendor.ts";

let vendor: AppriseVendor;
beforeEach(async () => {
  vendor = await createAppriseVendor();
});

function open(change: Partial<AppriseDestination>): Channel {
  const base = { ...destinationBase("all"), type: "apprise" as const, allowInternal: ["127.0.0.1"] };
  const channel = createAppriseChannel({ ...base, server: vendor.origin, urls: [], ...change }, { now: Date.now });
  onTestFinished(() => channel.close());
  return channel;
}

const message: Message = { kind: "apprise", title: "TVL fell", text: "below 5", type: "failure" };
const urls = [
  new Secret("slack://canaryTokenA/canaryTokenB/canaryTokenC"),
  new Secret("mailto://desk:canaryPassword@example.com?to=ops@example.com"),
];

describe("Apprise", () => {
  it("is given the type, and the tag of a stored configuration", async () => {
    await open({ key: vendor.key, tag: "oncall" }).send(message, sendContext());
    expect(vendor.sent).toEqual([{ title: "TVL fell", body: "below 5", type: "failure", tag: "oncall" }]);
  });

  it("is given the addresses where it keeps none, and says none of them", async () => {
    const channel = open({ urls });
    expect(await channel.send(message, sendContext())).toEqual({ kind: "sent" });
    expect(vendor.sent[0]?.urls).toBe(urls.map((url) => url.reveal()).join(" "));
    vendor.behave({ kind: "answer", answer: echo(400) });
    expect(JSON.stringify(await channel.send(message, sendContext()))).not.toMatch(/canary/);
  });

  it("counts a 204 as nobody notified", async () => {
    expect(await open({ key: "no-such-key" }).send(message, sendContext())).toMatchObject({
      kind: "rejected",
      scope: "destination",
      detail: expect.stringContaining("nobody was notified"),
    });
  });

  it("is reached below a path of its server", async () => {
    await open({ server: `${vendor.origin}/apprise/`, key: vendor.key }).send(message, sendContext());
    expect(vendor.requests[0]?.path).toBe(`/apprise/notify/${vendor.key}`);
  });

  it("is up when it only lacks what an alert does not need", async () => {
    vendor.behave({ kind: "answer", answer: () => text(417, "ATTACH_PERMISSION_ISSUE") });
    const outcome = await open({ key: vendor.key }).probe("all", AbortSignal.timeout(240_000));
    expect(outcome).toMatchObject({ kind: "sent", note: expect.stringContaining("ATTACH_PERMISSION_ISSUE") });
    expect(vendor.sent).toEqual([]);
  });
});
