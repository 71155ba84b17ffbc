import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readFormattedText } from "../../src/sandbox/chat/formatted-text.ts";
import { readParameters } from "../../src/sandbox/chat/request-parameters.ts";

async function read(values: Record<string, unknown>) {
  const body = Buffer.from(JSON.stringify(values));
  return readFormattedText(await readParameters(new URLSearchParams(), "application/json", body));
}
const html = (text: string) => read({ text, parse_mode: "HTML" });
const markdown = (text: string) => read({ text, parse_mode: "MarkdownV2" });

describe("HTML", () => {
  it("becomes text and entities", async () => {
    expect(await html('🔥 <b>TVL <i>fell</i></b> &lt;3 &#x41; <a href="https://e.org/?a=1&amp;b=2">see</a>')).toEqual({
      text: "🔥 TVL fell <3 A see",
      entities: [
        { type: "bold", offset: 3, length: 8 },
        { type: "italic", offset: 7, length: 4 },
        { type: "text_link", offset: 17, length: 3, url: "https://e.org/?a=1&b=2" },
      ],
    });
  });

  it("shows an instant, a quotation and hidden text", async () => {
    const { entities } = await html(
      '<tg-time unix="1647531900" format="wDT">then</tg-time><blockquote expandable>q</blockquote><span class="tg-spoiler">s</span>',
    );
    expect(entities).toEqual([
      { type: "date_time", offset: 0, length: 4, unix_time: 1647531900, date_time_format: "wDT" },
      { type: "expandable_blockquote", offset: 4, length: 1 },
      { type: "spoiler", offset: 5, length: 1 },
    ]);
  });

  it.each([
    ["<x>a</x>", 'Unsupported start tag "x" at byte offset 0'],
    ["a < b", 'Unsupported start tag "" at byte offset 2'],
    ["🔥<script>1</script>", 'Unsupported start tag "script" at byte offset 4'],
    ["<b>a", 'Can\'t find end tag corresponding to start tag "b"'],
    ["<b>a</i>", 'Unmatched end tag at byte offset 4, expected "</b>", found "</i>"'],
    ["a</b>", "Unexpected end tag at byte offset 1"],
    ["<b>a</b", "Unclosed end tag at byte offset 4"],
    ["x <b", "Unclosed start tag at byte offset 2"],
    ["<a href", 'Unclosed start tag "a" at byte offset 0'],
    ["<span>a</span>", 'Tag "span" must have class "tg-spoiler" at byte offset 0'],
  ])("is refused when it is %s", async (text, why) => {
    await expect(html(text)).rejects.toMatchObject({
      errorCode: 400,
      message: `Bad Request: can't parse entities: ${why}`,
    });
  });
});

describe("MarkdownV2", () => {
  it("becomes text and entities", async () => {
    expect(await markdown("*TVL _fell_* `a.b` [see](https://e.org/\\)) 1\\.5 ||s|| ~t~ __u__")).toEqual({
      text: "TVL fell a.b see 1.5 s t u",
      entities: [
        { type: "bold", offset: 0, length: 8 },
        { type: "italic", offset: 4, length: 4 },
        { type: "code", offset: 9, length: 3 },
        { type: "text_link", offset: 13, length: 3, url: "https://e.org/)" },
        { type: "spoiler", offset: 21, length: 1 },
        { type: "strikethrough", offset: 23, length: 1 },
        { type: "underline", offset: 25, length: 1 },
      ],
    });
  });

  it("keeps blocks of code and quotations", async () => {
    expect(await markdown("```sql\nselect 1.5\n```\n>said\n>twice\nend")).toEqual({
      text: "select 1.5\n\nsaid\ntwice\nend",
      entities: [
        { type: "pre", offset: 0, length: 11, language: "sql" },
        { type: "blockquote", offset: 12, length: 10 },
      ],
    });
  });

  it.each([
    ["1.5", "Character '.' is reserved and must be escaped with the preceding '\\'"],
    ["a-b", "Character '-' is reserved and must be escaped with the preceding '\\'"],
    ["(a", "Character '(' is reserved and must be escaped with the preceding '\\'"],
    ["🔥*a", "Can't find end of Bold entity at byte offset 4"],
    ["_a", "Can't find end of Italic entity at byte offset 0"],
    ["`a", "Can't find end of Code entity at byte offset 0"],
    ["```a", "Can't find end of Pre entity at byte offset 0"],
    ["[a](b", "Can't find end of a URL at byte offset 4"],
    ["*a_b*c_", "Can't find end of Italic entity at byte offset 6"],
  ])("is refused when it is %s", async (text, why) => {
    await expect(markdown(text)).rejects.toMatchObject({ message: `Bad Request: can't parse entities: ${why}` });
  });
});

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

  it("is measured after the markup is taken away", async () => {
    expect((await html(`<b>${"x".repeat(4096)}</b>`)).text).toHaveLength(4096);
    await expect(html(`<b>${"x".repeat(4097)}</b>`)).rejects.toThrow("message is too long");
  });
});
