import { describe, expect, it } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { PayloadReader } from "../../src/delivery/lane/payloads.ts";
import type { LoadedDelivery } from "../../src/delivery/plan/plan-claim.ts";
import { readPayloads } from "../../src/intake/read-payloads.ts";
import { ntfyTo, startFixture, webhookTo } from "./engine-fixture.ts";
import { flood } from "./outcomes.ts";

const receiver = webhookTo("receiver");

/** Bodies as they would be sent. */
async function relay(bodies: string[]): Promise<string[]> {
  const { clock, receiver: channel, play } = await startFixture([receiver]);
  channel.script.push(flood(5_000));
  for (const body of bodies) {
    await play([{}, { body }], 0);
  }
  await clock.advance(20_000);
  return channel.texts.slice(1);
}

describe("an outgoing webhook", () => {
  it("passes the payload on as it came, every number digit for digit", async () => {
    const payload = '{"amount":123456789012345678901,"price":1.10,"tiny":6.02e-23,"pool":{"__proto__":"inert"}}';
    const [body] = await relay([payload]);
    expect(body).toContain(`"payload":${payload}`);
  });

  it("carries what was read when the alert came, without reading its body again", async () => {
    const fixture = await startFixture([receiver]);
    await fixture.clock.advance(1_000);
    fixture.failing.add("findRequests");
    const body = Buffer.from("as it came");
    const request = { receivedAt: fixture.clock.now(), headers: "[]", body, ids: [fixture.newId()] };
    const draft = fixture.draftOf({});
    await fixture.engine.acceptRequest({ ...request, origin: "hook", dedupeWindowMs: 1 }, [draft], [{ price: "1.10" }]);
    await fixture.clock.settle();
    expect(fixture.receiver.texts[0]).toContain('"payload":{"price":"1.10"}');
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

  it("passes on each its own, when many are claimed at once and one is too large to be fetched with the others", async () => {
    const fixture = await startFixture([webhookTo("receiver", { digestOver: 1_000 })]);
    const large = 60;
    fixture.hears = false;
    for (let index = 0; index < 100; index += 1) {
      const filling = "x".repeat(index === large || index === large + 1 ? 3_000_000 : 10);
      await fixture.accept({}, { body: `{"index":${index},"filling":"${filling}"}` });
    }
    fixture.hears = true;
    fixture.engine.wake(["receiver"]);
    await fixture.clock.advance(10_000);
    const carried = fixture.receiver.texts.map((text) => JSON.parse(text).data.alerts[0].payload.index);
    expect(carried.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index));
  });

  it("does not read again what could not be read when it was routed", async () => {
    const fixture = await startFixture([receiver]);
    fixture.failing.add("findRequests");
    await fixture.play({ format: "unreadable", text: "as it came" }, 1_000);
    expect(JSON.parse(fixture.receiver.texts[0] ?? "").data.alerts[0].facts.text).toBe("as it came");
  });

  it("reads none for a channel that carries none", async () => {
    const fixture = await startFixture([ntfyTo("hook")]);
    await fixture.play({}, 0);
    expect(fixture.hook.calls).toHaveLength(1);
    expect(fixture.storeCalls.get("findRequests")).toBeUndefined();
  });
});

describe("a run", () => {
  it("goes on without the payload of a body that cannot be read any more", async () => {
    const failed: unknown[] = [];
    const requests = [1, 2].map((seq) => ({ body: Buffer.from(`{"n":${seq}}`), alerts: [{ seq, item: 0 }] }));
    const payloads = new PayloadReader({
      store: { findRequests: async () => requests },
      readPayloads(body, contentType) {
        if (body === requests[0]?.body) throw new Error("no memory");
        return readPayloads(body, contentType);
      },
      log: { ...silentLog, error: (event, fields) => failed.push([event, fields?.error]) },
    });
    const messages = [1, 2].map((alertSeq) => [{ alertSeq, facts: { format: "json" } } as LoadedDelivery]);
    expect(await payloads.fillEach(messages)).toEqual([false, true]);
    expect(messages.map(([one]) => one?.payload)).toEqual([undefined, { n: expect.objectContaining({ text: "2" }) }]);
    expect(failed).toEqual([["payload.unreadable", "Error: no memory"]]);
  });
});
