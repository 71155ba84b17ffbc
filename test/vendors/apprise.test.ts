import { beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { type HttpVendorOf, setUpHttp } from "../conformance/http-vendors.ts";
import type { KnownChannel as Channel, KnownMessage as Message } from "../support/known-vendors.ts";
import { sendContext } from "../support/send-context.ts";
import { echo, text } from "../support/vendors/http-vendor.ts";

let vendor: HttpVendorOf<"apprise">;
let open: (change?: object) => Promise<Channel>;
beforeEach(async () => {
  ({ vendor, open } = await setUpHttp("apprise"));
});

const message: Message = { kind: "apprise", title: "TVL fell", text: "below 5", type: "failure" };
const urls = [
  new Secret("slack://canaryTokenA/canaryTokenB/canaryTokenC"),
  new Secret("mailto://desk:canaryPassword@example.com?to=ops@example.com"),
];

describe("Apprise", () => {
  it("is given the type, and the tag of a stored configuration", async () => {
    const channel = await open({ tag: "oncall" });
    await channel.send(message, sendContext());
    expect(vendor.sent).toEqual([{ title: "TVL fell", body: "below 5", type: "failure", tag: "oncall" }]);
  });

  it("is given the addresses where it keeps none, and says none of them", async () => {
    const channel = await open({ key: undefined, urls });
    expect(await channel.send(message, sendContext())).toEqual({ kind: "sent" });
    expect(vendor.sent[0]?.urls).toBe(urls.map((url) => url.reveal()).join(" "));
    vendor.behave({ kind: "answer", answer: echo(400) });
    expect(JSON.stringify(await channel.send(message, sendContext()))).not.toMatch(/canary/);
  });

  it("counts a 204 as nobody notified", async () => {
    const channel = await open({ key: "no-such-key" });
    const detail = expect.stringContaining("nobody was notified");
    expect(await channel.send(message, sendContext())).toMatchObject({ scope: "destination", detail });
  });

  it("is reached below a path of its server", async () => {
    const channel = await open({ server: `${vendor.origin}/apprise/` });
    await channel.send(message, sendContext());
    expect(vendor.requests[0]?.path).toBe(`/apprise/notify/${vendor.key}`);
  });

  it("is up when it only lacks what an alert does not need", async () => {
    vendor.behave({ kind: "answer", answer: () => text(417, "ATTACH_PERMISSION_ISSUE") });
    const channel = await open();
    const outcome = await channel.probe("all", AbortSignal.timeout(240_000));
    expect(outcome).toMatchObject({ kind: "sent", note: expect.stringContaining("ATTACH_PERMISSION_ISSUE") });
    expect(vendor.sent).toEqual([]);
  });
});
