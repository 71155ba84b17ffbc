import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import type { Document, Inline, MessageForm } from "../../src/core/message.ts";
import { createTimeFormat } from "../../src/ground/time/time-format.ts";
import { vendors } from "../../src/vendors/index.ts";
import { readText, root } from "../docs/documents.ts";
import { dataOf, makeAlert } from "../rendering/sample.ts";

const types = vendors.map(({ type }) => type).join("|");

/** Comparisons with a vendor's type, in every form in which one may be written. */
const asksWhich = new RegExp(`(?:case |[!=]== )"(?:${types})"|"(?:${types})" [!=]==|\\b(?:${types}): ["[{(]`);

test("nobody outside of vendors/ asks which vendor it is", () => {
  const files = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" }).filter(
    (name) => /\.tsx?$/.test(name) && !/^(vendors|sandbox)\//.test(name),
  );
  expect(files.length).toBeGreaterThan(200);
  const asking = files.filter((name) => asksWhich.test(readText(`src/${name}`)));
  expect(asking.sort()).toEqual([
    // `tocsin chats` is about Telegram's chats alone.
    "cli/chats/find-bots.ts",
    // The account at the service sends its alerts to a webhook, here
    "cli/doctor/check-service.ts",
    // (there `webhook` is a section of `delivery:`)
    "config/shape/read-shape.ts",
    // and here.
    "watch/account-watch.ts",
  ]);
});

test("each folder of a vendor is registered", () => {
  const folders = readdirSync(`${root}src/vendors`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !["http", "layout"].includes(entry.name))
    .map(({ name }) => name);
  expect(vendors.map(({ type }) => type).sort()).toEqual(folders.sort());
});

test.each([
  ["test/conformance/channels.test.ts", ["telegram", "email"]],
  ["test/conformance/http-vendors.ts", ["telegram", "email"]],
  ["test/security/canary-world.ts", ["email"]],
])("each vendor has its place in %s, but for those that are tried elsewhere", (path, elsewhere) => {
  const text = readText(path);
  const lacking = vendors.filter(({ type }) => !elsewhere.includes(type) && !text.includes(`"${type}"`));
  expect(lacking.map(({ type }) => type)).toEqual([]);
});

test.each(vendors)("$type has the plain form that it says it has", ({ can, render }) => {
  const inlines: Inline[] = [
    { kind: "bold", text: "TVL" },
    { kind: "text", text: " fell" },
  ];
  const state = { severity: "critical", status: "firing" } as const;
  const document: Document = { subject: "TVL fell", ...state, blocks: [{ kind: "paragraph", inlines }] };
  const data = dataOf([makeAlert({ facts: { title: "TVL fell", ...state } })]);
  const messagesOf = (form: MessageForm) => render(document, createTimeFormat("UTC"), { form, timeZone: "UTC", data });
  expect(JSON.stringify(messagesOf("plain")) !== JSON.stringify(messagesOf("rich"))).toBe(can.plainForm);
});
