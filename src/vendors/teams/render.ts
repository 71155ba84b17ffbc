import type { Document, MessageForm } from "../../core/message.ts";
import { clip } from "../../ground/text/graphemes.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { fitDocument } from "../layout/fit.ts";
import { type LaidBlock, layOut, linesOf, type Run, type Tone, toneOf, writePlainText } from "../layout/layout.ts";

/** Teams allows 28 KB (https://learn.microsoft.com/connectors/teams). The workflow adds a line. */
const maxBytes = 24 * 1024;

export type TeamsMessage = ReturnType<typeof renderTeams>;

type Element = Record<string, unknown>;

/**
 * A `RichTextBlock` reads no markdown (https://learn.microsoft.com/adaptive-cards/authoring-cards/text-features). A
 * `TextBlock` or `FactSet` does, and phones and desktops disagree on its escaping
 * (https://github.com/microsoft/AdaptiveCards/issues/5590). A single link at the end becomes a button.
 */
export function renderTeams(document: Document, times: TimeFormat, form: MessageForm) {
  const compose = (candidate: Document) => {
    const blocks = layOut(candidate, times);
    const text = writePlainText(blocks);
    const card = form === "plain" ? plain(text) : rich(blocks);
    return { kind: "teams" as const, text, body: toBody(document, card) };
  };
  const rich = (blocks: LaidBlock[]): Element => {
    const last = blocks.length > 1 && blocks.at(-1)?.runs.length === 1 ? blocks.at(-1)?.runs[0] : undefined;
    if (last?.style !== "link") return { body: blocks.map((block) => elementOf(block, document)) };
    return {
      body: blocks.slice(0, -1).map((block) => elementOf(block, document)),
      actions: [{ ...openUrl(last.href), title: literal(last.text) }],
    };
  };
  const fitting = compose(fitDocument(document, (candidate) => fits(compose(candidate))));
  if (fits(fitting)) return fitting;
  // `fitDocument` never cuts our own notes. Only thousands of them reach this cut. A unit takes at most eight bytes.
  const text = clip(fitting.text, Math.floor(maxBytes / 12));
  return { kind: "teams" as const, text, body: toBody(document, plain(text)) };
}

/** `summary` is for notifications, `fallbackText` for a client that cannot show the card. */
function toBody({ subject }: Document, card: Element): string {
  const content = {
    type: "AdaptiveCard",
    version: "1.2",
    msteams: { width: "Full" },
    fallbackText: literal(subject),
    ...card,
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return JSON.stringify({ type: "message", summary: literal(subject), attachments: [attachment] });
}

/**
 * Teams loses a card that is too long, after its 202. It counts the card as JSON text within JSON: 24,453 bytes became
 * 28,897 (https://github.com/MicrosoftDocs/msteams-docs/issues/11274). Non-ASCII characters count as `\u….`, in case
 * Teams escapes them.
 */
function fits({ body }: { body: string }): boolean {
  if (body.length > maxBytes) return false;
  return JSON.stringify(body).replace(/[^ -~]/g, "\\u0000").length <= maxBytes;
}

function plain(text: string): Element {
  return { body: [richText([{ type: "TextRun", text: literal(text) }])] };
}

function elementOf(block: LaidBlock, document: Document): Element {
  // Phones drop a line break at the end of a run: https://github.com/microsoft/AdaptiveCards/issues/4914
  const lines = linesOf(block.runs)
    .filter((runs) => runs.length > 0)
    .map((runs) => richText(runs.map((run, at) => textRun(run, at, block, document))));
  const spacing = block.gap === "\n\n" ? {} : { spacing: "Small" };
  const [only] = lines;
  if (lines.length === 1 && !block.quoted) return { ...only, ...spacing };
  const items = lines.map((line, at) => (at === 0 ? line : { ...line, spacing: "None" }));
  return { type: "Container", ...spacing, ...(block.quoted && { style: "emphasis" }), items };
}

function richText(inlines: Element[]): Element {
  return { type: "RichTextBlock", inlines };
}

function textRun(run: Run, at: number, block: LaidBlock, document: Document): Element {
  return {
    type: "TextRun",
    text: literal(run.text),
    ...(block.kind === "heading" && { size: "Medium", weight: "Bolder", color: colours[toneOf(document)] }),
    ...(block.kind === "fields" && at === 0 && { weight: "Bolder" }),
    ...styleOf(run),
  };
}

function styleOf(run: Run): Element {
  switch (run.style) {
    case "text":
    case "time":
      return {};
    case "bold":
      return { weight: "Bolder" };
    case "italic":
      return { italic: true, isSubtle: true };
    case "code":
    case "pre":
      return { fontType: "Monospace" };
    case "link":
      return { selectAction: openUrl(run.href) };
  }
}

function openUrl(url: string): Element {
  return { type: "Action.OpenUrl", url };
}

/** Teams replaces `{{DATE(…)}}` and `{{TIME(…)}}` in any text of a card. An invisible space prevents this. */
function literal(text: string): string {
  return text.replace(/\{\{(?=(?:DATE|TIME)\()/gi, "{\u200b{");
}

const colours: Record<Tone, string> = {
  resolved: "Good",
  critical: "Attention",
  warning: "Warning",
  info: "Default",
  unknown: "Default",
};
