import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AlertFacts, Translation } from "../../src/core/alert.ts";
import { readRequest } from "../../src/intake/read/read-request.ts";
import { translateRequest } from "../../src/intake/translate.ts";

const folder = new URL("../fixtures/payloads/", import.meta.url);
const payloads = readdirSync(folder).filter((name) => /\.(json|txt)$/.test(name) && !name.endsWith(".facts.txt"));

/** The header is what senders most often get wrong, so every payload must read the same under each. */
const headers = ["application/json", "text/plain; charset=utf-8", undefined];

describe("the payloads of known senders", () => {
  it.each(payloads)("reads the facts of %s as they were reviewed", async (name) => {
    const body = readFileSync(new URL(name, folder));
    const facts = describeFacts(translateRequest(body, undefined));
    await expect(facts).toMatchFileSnapshot(new URL(`${name.replace(/\.\w+$/, "")}.facts.txt`, folder).pathname);
  });

  it.each(payloads)("reads the same from %s under any content type", (name) => {
    const body = readFileSync(new URL(name, folder));
    const readings = headers.map((header) => describeFacts(translateRequest(body, header)));
    expect(new Set(readings).size).toBe(1);
  });

  it.each(payloads)("counts the alerts of %s as it translates them", (name) => {
    const body = readFileSync(new URL(name, folder));
    for (const header of headers) {
      expect(readRequest(body, header).countAlerts()).toBe(translateRequest(body, header).length);
    }
  });
});

/** Facts as text that a person reviews: one line a fact, in a fixed order. */
function describeFacts(translations: Translation[]): string {
  return translations.map(({ facts }) => `${linesOf(facts).join("\n")}\n`).join("\n---\n\n");
}

function linesOf(facts: AlertFacts): string[] {
  const { fields, notes, text, occurredAt, title, severity, status, format, alertKey, ...rest } = facts;
  const others = Object.entries(rest).filter(([, value]) => value !== undefined);
  return [
    `title: ${title}`,
    `severity: ${severity}, status: ${status}, format: ${format}`,
    ...others.map(([name, value]) => `${name}: ${value}`),
    ...(occurredAt === undefined ? [] : [`occurredAt: ${new Date(occurredAt).toISOString()}`]),
    `alertKey: ${alertKey}`,
    ...(text === undefined ? [] : ["text:", ...text.split("\n").map((line) => `  | ${line}`)]),
    ...fields.map((field) => `- ${field.name}: ${field.value}`),
    ...notes.map((note) => `note: ${note}`),
  ];
}
