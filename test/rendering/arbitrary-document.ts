import fc from "fast-check";
import { severities, statuses } from "../../src/core/alert.ts";
import type { Block, Document, Inline } from "../../src/core/message.ts";

/** What senders never write and attackers do: lone surrogates, controls, long clusters, line breaks, markup. */
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.lorem({ maxCount: 30 }) },
  { weight: 3, arbitrary: fc.string({ unit: "grapheme", maxLength: 60 }) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
      .map((units) => String.fromCharCode(...units)),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 90 }).map((times) => "👩‍👩‍👧‍👦".repeat(times)) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 300 }).map((times) => `a${"\u0301".repeat(times)}`) },
  fc.integer({ min: 1, max: 200 }).map((times) => "👩\u200d".repeat(times)),
  fc.constantFrom(
    ...["\n", "\n\n\n", "   ", "\t", "\u202E", "\u2068", "\u0000", "<!channel> @everyone", "**_`|", "```"],
    ...["🇨🇭🇨🇭🇨🇭", "x".repeat(700)],
  ),
);

export const anyText = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
const longText = fc.tuple(anyText, fc.integer({ min: 1, max: 60 })).map(([text, times]) => text.repeat(times));

const links = [
  "javascript:alert(1)",
  "http://localhost:8080/alerts/1",
  "tg://user?id=1",
  "https://a.example/(x)>",
  "no url",
];
const href = fc.oneof(fc.webUrl(), fc.constantFrom(...links));

const inline: fc.Arbitrary<Inline> = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), text: anyText }),
  fc.record({ kind: fc.constantFrom("bold" as const, "italic" as const, "code" as const), text: anyText }),
  fc.record({ kind: fc.constant("link" as const), text: anyText, href }),
  fc.record({
    kind: fc.constant("time" as const),
    at: fc.oneof(fc.integer({ min: 0, max: 4e12 }), fc.constant(Number.NaN)),
  }),
);
const inlines = fc.array(inline, { maxLength: 6 });

const block: fc.Arbitrary<Block> = fc.oneof(
  fc.record({ kind: fc.constantFrom("heading" as const, "note" as const), inlines }),
  fc.record({ kind: fc.constant("paragraph" as const), inlines, quoted: fc.boolean() }),
  fc.record({
    kind: fc.constant("paragraph" as const),
    inlines: longText.map((text): Inline[] => [{ kind: "text", text }]),
    quoted: fc.constant(true),
  }),
  fc.record({
    kind: fc.constant("fields" as const),
    rows: fc.array(fc.record({ label: anyText, value: inlines }), { maxLength: 8 }),
  }),
  fc.record({ kind: fc.constant("list" as const), items: fc.array(inlines, { maxLength: 40 }) }),
  fc.record({ kind: fc.constant("code" as const), text: longText }),
);

export const anyDocument: fc.Arbitrary<Document> = fc.record({
  subject: anyText,
  severity: fc.constantFrom(...severities),
  status: fc.constantFrom(...statuses),
  blocks: fc.array(block, { maxLength: 8 }),
});
