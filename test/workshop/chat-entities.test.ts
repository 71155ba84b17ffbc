import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readFormattedText } from "../../workshop/chat/formatted-text.ts";
import { readParameters } from "../../workshop/chat/request-parameters.ts";

async function read(values: Record<string, unknown>) {
  const body = Buffer.from(JSON.stringify(values));
  return readFormattedText(await readParameters(new URLSearchParams(), "application/json", body));
}

describe("entities", () => {
  const bold = (offset: number, length: number) => [{ type: "bold", offset, length }];

  it.each([
    [bold(1, 1), "entity begins in a middle of a UTF-16 symbol at byte offset 4"],
    [bold(0, 1), "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 4"],
    [bold(2, 9), "entity beginning at UTF-16 offset 2 ends after the end of the text at UTF-16 offset 11"],
    [bold(9, 1), "entity begins after the end of the text at UTF-16 offset 9"],
    [bold(-1, 1), "receive an entity with incorrect offset -1"],
    [bold(0, -1), "receive an entity with incorrect length -1"],
    [
      [{ type: "text_link", offset: 2, length: 1, url: "http://localhost/" }],
      "entity URL 'http://localhost/' is invalid: Wrong HTTP URL",
    ],
  ])("%j of a flame and two letters are refused", async (entities, why) => {
    await expect(read({ text: "🔥ab", entities })).rejects.toMatchObject({ message: `Bad Request: ${why}` });
  });

  it("accept any whole span, and nothing that cuts a character", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text.trim() !== ""),
        fc.nat(40),
        fc.integer({ min: 1, max: 40 }),
        async (text, offset, length) => {
          const whole = offset + length <= text.length && isWhole(text, offset) && isWhole(text, offset + length);
          const reading = read({ text, entities: bold(offset, length) });
          if (whole) expect(await reading).toMatchObject({ text, entities: bold(offset, length) });
          else await expect(reading).rejects.toThrow("Bad Request: entity");
        },
      ),
    );
  });
});

function isWhole(text: string, offset: number): boolean {
  return Buffer.from(text.slice(0, offset)).toString() === text.slice(0, offset);
}

describe("text", () => {
  it("is kept character for character", async () => {
    const text = "  <b>&amp; *x* \u202e\u0000 \ud83d\udd25\n\n\t";
    expect(await read({ text })).toEqual({ text, entities: [] });
  });

  it.each([
    ["", "message text is empty"],
    [" \n\t", "text must be non-empty"],
    ["x".repeat(4097), "message is too long"],
    ["x".repeat(32_769), "text is too long"],
    ["\ud83d", "strings must be encoded in UTF-8"],
  ])("is refused at its limits", async (text, why) => {
    await expect(read({ text })).rejects.toMatchObject({ message: `Bad Request: ${why}` });
  });
});
