import { afterEach, describe, expect, it } from "vitest";
import type { Alert } from "../../src/core/alert.ts";
import type { Document, MessageForm } from "../../src/core/message.ts";
import { createChannel } from "../../src/vendors/index.ts";
import { createRendering } from "../support/rendering.ts";
import { sendContext } from "../support/send-context.ts";
import { httpVendors } from "./http-vendors.ts";

/** Whatever rendering makes must be taken by a vendor that refuses what the real one refuses, cuts or hides. */
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const receivedAt = 1_763_700_000_000;
const rendering = createRendering({ publicUrl: "https://tocsin.example.com" });
const context = { now: receivedAt + 500, purpose: "alert" as const, possibleRepeat: true };

const alertOf = (seq: number, text: string, fieldCount = 0): Alert => ({
  id: `01939d2f-0000-7000-8000-${String(seq).padStart(12, "0")}`,
  seq,
  origin: "hook",
  receivedAt,
  facts: {
    title: `Alert ${seq} <@everyone> *TVL* fell`,
    severity: "critical",
    status: "firing",
    format: "json",
    text,
    link: "https://desk.example/a?b=c&d=e",
    alertKey: `k${seq}`,
    fields: Array.from({ length: fieldCount }, (_, index) => ({ name: `field ${index}`, value: text.slice(0, 500) })),
    notes: [],
  },
});

const documents: [string, () => Document][] = [
  ["a small alert", () => rendering.composeAlert(alertOf(1, "below 5"), context)],
  ["an alert of 20,000 characters", () => rendering.composeAlert(alertOf(1, "TVL & price ".repeat(1_666)), context)],
  ["an alert of emoji", () => rendering.composeAlert(alertOf(1, "👩‍👩‍👧‍👦".repeat(1_800), 40), context)],
  ["an alert of what JSON escapes", () => rendering.composeAlert(alertOf(1, '"\\\n<>&'.repeat(3_000), 40), context)],
  [
    "a digest of 500 alerts",
    () =>
      rendering.composeDigest(
        Array.from({ length: 500 }, (_, index) => alertOf(index + 1, "below 5")),
        { now: receivedAt, reason: "burst", possibleRepeat: false },
      ),
  ],
];

describe.each(Object.entries(httpVendors))("%s takes", (_name, setUp) => {
  const cases = documents.flatMap(([what, compose]) =>
    (["rich", "plain"] as MessageForm[]).map((form) => ({ what, compose, form })),
  );
  it.each(cases)("$what, $form", async ({ compose, form }) => {
    const { destination } = await setUp();
    const channel = await createChannel(destination, { now: Date.now });
    closers.unshift(channel.close);
    for (const message of rendering.renderDocument(destination.type, compose(), { form, timeZone: "UTC" }))
      expect(await channel.send(message, sendContext())).toMatchObject({ kind: "sent" });
  });
});
