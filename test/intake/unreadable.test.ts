import { expect, it } from "vitest";
import { describeUnreadable } from "../../src/intake/read/unreadable.ts";

const id = "019aa5a0-7c3e-7d2a-9b1c-0242ac120002";
const describeBody = (body: Uint8Array, alerts?: number) =>
  describeUnreadable({ id, body, reason: "reading it took longer than 1 s", alerts });

it("shows the body as it came, marked, and takes it for what may be the worst", () => {
  expect(describeBody(Buffer.from('{"title":"TVL fell"}'))).toEqual({
    title: "Unreadable alert (20 bytes)",
    text: '{"title":"TVL fell"}',
    severity: "unknown",
    status: "unknown",
    format: "unreadable",
    alertKey: `unreadable:${id}`,
    fields: [],
    notes: ["Tocsin could not read this alert (reading it took longer than 1 s); it is shown as it came"],
  });
});

it("shows the beginning of a long body, whole characters of it, and says so", () => {
  const { text = "", title, notes } = describeBody(Buffer.from("€".repeat(300_000)), 1_000);
  expect(title).toBe("Unreadable request of 1,000 alerts (900,000 bytes)");
  expect(text).toBe(`${"€".repeat(2_999)}…`);
  expect(notes).toContain("this is its beginning: the page has all of it");
});

it("shows what acts instead of being seen as pictures, and nothing of nothing", () => {
  expect(describeBody(Buffer.from([0x61, 0, 0x1b, 0xff, 0x62])).text).toBe("a␀␛�b");
  expect(describeBody(new Uint8Array())).not.toHaveProperty("text");
});
