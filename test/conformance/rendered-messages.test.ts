import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Document, MessageForm } from "../../src/core/message.ts";
import { anyDocument } from "../rendering/arbitrary-document.ts";
import { makeAlert, makeContext, publicUrl, receivedAt } from "../rendering/sample.ts";
import { createRendering } from "../support/rendering.ts";
import { sendContext } from "../support/send-context.ts";
import { httpVendors, setUpHttp } from "./http-vendors.ts";

/** Whatever rendering makes must be taken by a vendor that refuses what the real one refuses, cuts or hides. */
const rendering = createRendering({ publicUrl });
const forms: MessageForm[] = ["rich", "plain"];

function alertOf(seq: number, text: string, fieldCount = 0) {
  const value = text.slice(0, 500);
  const fields = Array.from({ length: fieldCount }, (_, index) => ({ name: `field ${index}`, value }));
  const facts = { title: `Alert ${seq} <@everyone> *TVL* fell`, link: "https://desk.example/a?b=c&d=e", text, fields };
  return makeAlert({ seq, facts });
}
const compose = (...given: Parameters<typeof alertOf>) =>
  rendering.composeAlert(alertOf(...given), makeContext({ possibleRepeat: true }));
const many = Array.from({ length: 500 }, (_, index) => alertOf(index + 1, "below 5"));

const documents: [string, Document][] = [
  ["a small alert", compose(1, "below 5")],
  ["an alert of 20,000 characters", compose(1, "TVL & price ".repeat(1_666))],
  ["an alert of emoji", compose(1, "👩‍👩‍👧‍👦".repeat(1_800), 40)],
  ["an alert of what JSON escapes", compose(1, '"\\\n<>&'.repeat(3_000), 40)],
  ["an endless subject alone", { ...compose(1, ""), subject: "€".repeat(1_500), blocks: [] }],
  [
    "a digest of 500 alerts",
    rendering.composeDigest(many, { now: receivedAt, reason: "burst", possibleRepeat: false }),
  ],
];

describe.each(Object.keys(httpVendors) as (keyof typeof httpVendors)[])("%s takes", (name) => {
  async function expectTaken(document: Document, form: MessageForm): Promise<void> {
    const channel = await (await setUpHttp(name)).open();
    for (const message of rendering.renderDocument(name, document, { form, timeZone: "UTC" }))
      expect(await channel.send(message, sendContext())).toMatchObject({ kind: "sent" });
  }

  it.each(documents.flatMap(([what, document]) => forms.map((form) => ({ what, document, form }))))(
    "$what, $form",
    ({ document, form }) => expectTaken(document, form),
  );

  it("any document in any form", () =>
    fc.assert(fc.asyncProperty(anyDocument, fc.constantFrom(...forms), expectTaken), { numRuns: 20 }));
});
