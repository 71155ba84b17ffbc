import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { translateRequest } from "../../src/intake/translate.ts";
import { describeFacts } from "./describe-facts.ts";

const folder = new URL("../fixtures/payloads/", import.meta.url);
const payloads = readdirSync(folder).filter((name) => /\.(json|txt)$/.test(name) && !name.endsWith(".facts.txt"));

/** The header is what senders most often get wrong, so every payload must read the same under each. */
const types = ["application/json", "text/plain; charset=utf-8", "application/x-www-form-urlencoded"];
const headers = [...types, "application/octet-stream", "nonsense", undefined];

const factsOf = (body: Buffer, header?: string) =>
  translateRequest(body, header)
    .map(({ facts }) => describeFacts(facts))
    .join("\n---\n\n");

describe("the payloads of known senders", () => {
  it.each(payloads)("reads the facts of %s as they were reviewed", async (name) => {
    const body = readFileSync(new URL(name, folder));
    const facts = factsOf(body);
    await expect(facts).toMatchFileSnapshot(new URL(`${name.replace(/\.\w+$/, "")}.facts.txt`, folder).pathname);
  });

  it.each(payloads)("reads the same from %s under any content type", (name) => {
    const body = readFileSync(new URL(name, folder));
    const readings = headers.map((header) => factsOf(body, header));
    expect(new Set(readings).size).toBe(1);
  });
});
