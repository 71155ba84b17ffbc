import { describe, expect, it } from "vitest";
import { destinationBase } from "../support/destinations.ts";
import type { KnownDestination as Destination } from "../support/known-vendors.ts";
import { ntfyTo, startFixture } from "./engine-fixture.ts";
import { flood } from "./outcomes.ts";

const receiver: Destination = {
  ...destinationBase("receiver"),
  type: "webhook",
  url: "http://127.0.0.1:1/alerts",
  headers: {},
  allowInternal: [],
};

/** Bodies as they would be sent. */
async function relay(bodies: string[]): Promise<string[]> {
  const fixture = await startFixture([receiver]);
  const channel = fixture.channels.receiver;
  channel?.script.push(flood(5_000));
  for (const body of bodies) {
    await fixture.accept({}, { body });
    await fixture.clock.settle();
  }
  await fixture.clock.advance(20_000);
  return (channel?.calls ?? []).slice(1).map((call) => call.text);
}

describe("an outgoing webhook", () => {
  it("passes the payload on as it came, every number digit for digit", async () => {
    const payload = '{"amount":123456789012345678901,"price":1.10,"tiny":6.02e-23,"pool":{"__proto__":"inert"}}';
    const [body] = await relay([payload]);
    expect(body).toContain(`"payload":${payload}`);
  });

  it("goes without where there is none", async () => {
    const [body] = await relay(["just words"]);
    expect(JSON.parse(body ?? "").data.alerts[0]).not.toHaveProperty("payload");
    expect(JSON.parse(body ?? "").data.alerts[0].facts.title).toBe("Alert 1");
  });

  it("carries the payloads of a digest as long as there is room, the newest first", async () => {
    const large = (index: number) => `{"index":${index},"filling":"${"x".repeat(200_000)}"}`;
    const [body] = await relay(Array.from({ length: 12 }, (_, index) => large(index)));
    const { alerts } = JSON.parse(body ?? "").data;
    expect(alerts).toHaveLength(12);
    const carried = alerts.map((alert: { payload?: { index: number } }) => alert.payload?.index);
    expect(carried).toEqual([11, 10, 9, 8, 7, ...new Array(7).fill(undefined)]);
    expect(body?.length).toBeLessThan(1_200_000);
  });

  it("does not read again what could not be read when it was routed", async () => {
    const fixture = await startFixture([receiver]);
    fixture.failing.add("findRequests");
    await fixture.accept({ format: "unreadable", text: "as it came" });
    await fixture.clock.advance(1_000);
    const [call] = fixture.channels.receiver?.calls ?? [];
    expect(JSON.parse(call?.text ?? "").data.alerts[0].facts.text).toBe("as it came");
  });

  it("does not fetch payloads for channels that carry none", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    fixture.failing.add("findRequests");
    await fixture.accept();
    await fixture.clock.settle();
    expect(fixture.channels.hook?.calls).toHaveLength(1);
  });
});
