import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Document, Inline } from "../../src/core/message.ts";
import type { FormattedText, TelegramEntity } from "../../src/vendors/telegram/render.ts";
import { cutText, splitTelegramText } from "../../src/vendors/telegram/render.ts";
import { readText } from "../../workshop/chat/text.ts";
import type { KnownMessage as Message } from "../support/known-vendors.ts";
import { createRendering } from "../support/rendering.ts";
import { anyDocument, anyText } from "./arbitrary-document.ts";

const rendering = createRendering({ publicUrl: "https://tocsin.example.com" });
type TelegramMessage = Extract<Message, { kind: "telegram" }>;

function render(document: Document, form: "rich" | "plain" = "rich"): TelegramMessage[] {
  return rendering.renderDocument("telegram", document, { form, timeZone: "UTC" }).map((message) => {
    if (message.kind !== "telegram") throw new Error(message.kind);
    return message;
  });
}

function paragraphOf(...inlines: Inline[]): Document {
  return { subject: "s", severity: "info", status: "firing", blocks: [{ kind: "paragraph", inlines }] };
}

/** What the stand-in of the Bot API refuses, and what the API would change by itself and so move the entities. */
function faultsOf({ text, entities }: TelegramMessage): string[] {
  const faults: string[] = [];
  try {
    readText({ text, entities });
  } catch (error) {
    faults.push(String(error));
  }
  if (text.trim() !== text) faults.push("white space at an end");
  if (/[\r\u2028-\u202E]|\u030A|\u0333|\u033F/.test(text)) faults.push("a character that Telegram removes");
  if (entities.length > 100) faults.push(`${entities.length} entities`);
  for (const [index, { type, offset, length }] of entities.entries()) {
    const next = entities[index + 1];
    if (length <= 0) faults.push(`nothing is ${type}`);
    if (next !== undefined && next.offset < offset + length) faults.push("entities overlap");
  }
  return faults;
}

/** Each visible character with the formats that lie on it. */
function formatsByCharacter(parts: FormattedText[]): string {
  return parts
    .flatMap((part) => {
      const names = Array.from({ length: part.text.length }, () => "");
      for (const entity of part.entities) {
        for (let at = entity.offset; at < entity.offset + entity.length; at += 1) names[at] += ` ${entity.type}`;
      }
      return names.flatMap((name, at) => (/\s/.test(part.text[at] ?? "") ? [] : [`${part.text[at]}${name}`]));
    })
    .join("\n");
}

function withoutMarkers(parts: FormattedText[]): FormattedText[] {
  return parts.map(({ text, entities }, index) => {
    const marker = `[${index + 1}/${parts.length}]`;
    if (parts.length === 1) return { text, entities };
    if (index === 0) {
      expect(text.endsWith(`\n${marker}`)).toBe(true);
      return { text: text.slice(0, -marker.length - 1), entities };
    }
    const before = `${marker}\n`;
    expect(text.startsWith(before)).toBe(true);
    const moved = entities.map((entity) => ({ ...entity, offset: entity.offset - before.length }));
    return { text: text.slice(before.length), entities: moved };
  });
}

const anyFormatted: fc.Arbitrary<FormattedText> = fc
  .tuple(fc.array(anyText, { minLength: 1, maxLength: 30 }), fc.integer({ min: 1, max: 12 }))
  .map(([texts, times]) => {
    let text = "";
    const entities: TelegramEntity[] = [];
    for (const [index, piece] of Array.from({ length: times }, () => texts)
      .flat()
      .entries()) {
      const clean = piece.replace(/\p{Cs}/gu, "\uFFFD");
      const type = (["bold", "code", "italic", "blockquote"] as const)[index % 4] ?? "bold";
      if (index % 3 > 0 && clean.trim() !== "" && entities.length < 90) {
        entities.push({ type, offset: text.length, length: clean.length });
      }
      text += clean;
    }
    return { text: `!${text}!`, entities: entities.map((entity) => ({ ...entity, offset: entity.offset + 1 })) };
  });

describe("Telegram messages", () => {
  it("are never refused by the Bot API, whatever the document holds", () => {
    fc.assert(
      fc.property(anyDocument, fc.constantFrom("rich" as const, "plain" as const), (document, form) => {
        const parts = render(document, form);
        expect(parts.length).toBeGreaterThan(0);
        expect(parts.flatMap(faultsOf)).toEqual([]);
        if (form === "plain") expect(parts.flatMap((part) => part.entities)).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  it("are cut into ranges that make up the whole text again", () => {
    fc.assert(
      fc.property(anyFormatted, fc.integer({ min: 20, max: 4096 }), (formatted, maxUnits) => {
        const ranges = cutText(formatted, maxUnits);
        expect(ranges.map(({ start, end }) => formatted.text.slice(start, end)).join("")).toBe(formatted.text);
        for (const { start, end } of ranges) {
          expect(end - start).toBeGreaterThan(0);
          expect(end - start).toBeLessThanOrEqual(maxUnits);
          expect(formatted.text.slice(start, end)).not.toMatch(/\p{Cs}/u);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("keep every visible character and its formats when they are split", () => {
    fc.assert(
      fc.property(anyFormatted, (formatted) => {
        const parts = splitTelegramText(formatted);
        expect(formatsByCharacter(withoutMarkers(parts))).toBe(formatsByCharacter([formatted]));
      }),
      { numRuns: 60 },
    );
  });

  it("are cut at line ends where there are any, and number their parts", () => {
    const line = `${"word ".repeat(19)}end.\n`;
    const parts = splitTelegramText({ text: line.repeat(100).trim(), entities: [] });
    expect(parts).toHaveLength(3);
    expect(parts[0]?.text).toMatch(/end\.\n\[1\/3\]$/);
    expect(parts[1]?.text).toMatch(/^\[2\/3\]\nword/);
    expect(parts[2]?.text).toMatch(/^\[3\/3\]\nword/);
  });

  it("keep an emoji family, a flag and an address whole at a cut", () => {
    const family = "👩‍👩‍👧‍👦";
    for (let lead = 4070; lead < 4096; lead += 1) {
      const [first] = splitTelegramText({ text: "x".repeat(lead) + family.repeat(4), entities: [] });
      const body = first?.text.replace(/\n\[1\/2\]$/, "").slice(lead) ?? "";
      expect(body.length % family.length).toBe(0);
    }
    const address = `0x${"a".repeat(40)}`;
    const text = `${"x".repeat(4061)}${address}${"y".repeat(50)}`;
    const parts = splitTelegramText({ text, entities: [{ type: "code", offset: 4061, length: 42 }] });
    expect(parts[0]?.entities).toEqual([]);
    expect(parts[1]?.text).toContain(address);
    expect(parts[1]?.entities).toEqual([{ type: "code", offset: 6, length: 42 }]);
  });

  it("link only to addresses that Telegram accepts, and write the others out", () => {
    const [message] = render(
      paragraphOf(
        { kind: "link", text: "page", href: "http://localhost:8080/alerts/1" },
        { kind: "text", text: " " },
        { kind: "link", text: "click", href: "javascript:alert(1)" },
        { kind: "text", text: " " },
        { kind: "link", text: "good", href: "https://tocsin.example.com/" },
      ),
    );
    expect(message?.text).toBe("page: http://localhost:8080/alerts/1 click (javascript:alert(1)) good");
    expect(message?.entities).toEqual([
      { type: "text_link", offset: 65, length: 4, url: "https://tocsin.example.com/" },
    ]);
  });

  it("cover a time that is complete in the text with the reader's own", () => {
    const [message] = render(paragraphOf({ kind: "text", text: "At " }, { kind: "time", at: 1_795_226_525_000 }));
    expect(message?.text).toBe("At 21 Nov 2026, 02:02:05 UTC");
    expect(message?.entities).toEqual([
      { type: "date_time", offset: 3, length: 25, unix_time: 1_795_226_525, date_time_format: "DT" },
    ]);
  });

  it("drop formatting beyond a hundred entities, links last, and no text", () => {
    const inlines = Array.from({ length: 90 }, (_, index): Inline[] => [
      { kind: "italic", text: `i${index}` },
      { kind: "link", text: ` l${index} `, href: "https://example.com/" },
    ]).flat();
    const [message] = render(paragraphOf(...inlines));
    expect(message?.entities).toHaveLength(100);
    expect(message?.entities.filter((entity) => entity.type === "text_link")).toHaveLength(90);
    expect(message?.text).toContain("i89 l89");
  });

  it("say the subject when a document holds nothing else", () => {
    expect(render({ ...paragraphOf(), subject: "Only a subject" })[0]?.text).toBe("Only a subject");
    expect(render({ ...paragraphOf({ kind: "text", text: "\u200B \n" }), subject: "" })[0]?.text).toBe(
      "(message without text)",
    );
  });
});
