import type { Document, Message, RenderOptions } from "../../core/message.ts";
import { clip, cut } from "../../ground/text/graphemes.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { fitDocument } from "../layout/fit.ts";
import { type LaidBlock, layOut, type Run, writePlainText } from "../layout/layout.ts";

/** About five blocks: people read a channel quickly, and the page has the details. */
const maxTextUnits = 12_000;
/** Slack's limit for a section's text. The limit for rich text is undocumented and surely no smaller. */
const maxBlockUnits = 3000;
const maxBlocks = 50;
/** Bounds the body. People read no longer list. */
const maxRuns = 1000;
/** https://docs.slack.dev/reference/block-kit/blocks/image-block */
const maxAltUnits = 2000;

type SlackOptions = Pick<RenderOptions, "form" | "picture">;

export interface SlackMessage extends Message {
  kind: "slack";
  text: string;
  body: string;
  /** The body with a picture that Slack fetches. Absent: no picture. */
  pictured?: string;
}

type Element = Record<string, unknown>;
interface Section {
  element: Element;
  units: number;
}

/**
 * The blocks are rich text, where a sender's `<!channel>`, `@here`, `*` or `:emoji:` means nothing. `text` is for
 * notifications, escaped by Slack's rules.
 */
export function renderSlack(document: Document, times: TimeFormat, options: SlackOptions): SlackMessage {
  const { form, picture } = options;
  const fitting = fitDocument(document, (candidate) => fits(layOut(candidate, times)));
  const blocks = layOut(fitting, times);
  const text = writePlainText(blocks);
  const escaped = escapeForSlack(text.replaceAll(markdown, "$&\u200b"));
  const base = { text: escaped, link_names: false, unfurl_links: false, unfurl_media: false };
  if (form === "plain") return { kind: "slack", text, body: JSON.stringify(base) };
  const packed = packIntoBlocks(blocks.flatMap(sectionsOf));
  const body = JSON.stringify({ ...base, blocks: packed });
  if (picture?.url === undefined || packed.length === maxBlocks) return { kind: "slack", text, body };
  const image = { type: "image", image_url: picture.url, alt_text: cut(picture.alt, maxAltUnits) };
  return { kind: "slack", text, body, pictured: JSON.stringify({ ...base, blocks: [...packed, image] }) };
}

/**
 * Mattermost, Rocket.Chat and Zulip read `text` as Markdown. An invisible space disarms a sender's mentions, images,
 * and links behind other words. An `@` before `*` or `_` counts too: Mattermost removes dots, hyphens and underscores
 * from a word before it looks for a mention.
 */
const markdown = /@(?=[*_])|(?<![\p{L}\p{N}])@(?=[\p{L}\p{N}])|\](?=\s?[([:])/gu;

/** Slack's three control characters: https://docs.slack.dev/messaging/formatting-message-text */
export function escapeForSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function fits(blocks: LaidBlock[]): boolean {
  const runs = blocks.flatMap((block) => block.runs);
  const units = runs.reduce((sum, run) => sum + run.text.length, 0);
  return (
    units <= maxTextUnits && runs.length <= maxRuns && packIntoBlocks(blocks.flatMap(sectionsOf)).length <= maxBlocks
  );
}

function sectionsOf(block: LaidBlock): Section[] {
  return chunkRuns(block.runs).map((runs) => ({
    units: runs.reduce((sum, run) => sum + run.text.length, 0),
    element: { type: sectionType(block), elements: runs.map((run) => elementOf(run, block)) },
  }));
}

function sectionType(block: LaidBlock): string {
  if (block.quoted) return "rich_text_quote";
  return block.kind === "code" ? "rich_text_preformatted" : "rich_text_section";
}

function elementOf(run: Run, block: LaidBlock): Element {
  switch (run.style) {
    case "bold":
    case "italic":
    case "code":
      return { type: "text", text: run.text, style: { [run.style]: true } };
    case "text":
    case "pre":
      return { type: "text", text: run.text };
    case "link":
      return { type: "link", url: run.href, text: run.text };
    case "time":
      if (block.kind === "code") return { type: "text", text: run.text };
      return {
        type: "date",
        timestamp: Math.floor(run.at / 1000),
        format: run.shown === "clock" ? "{time}" : "{date_short}, {time_secs}",
        fallback: run.text,
      };
  }
}

function chunkRuns(runs: Run[]): Run[][] {
  const chunks: Run[][] = [[]];
  let room = maxBlockUnits;
  for (const run of runs) {
    let rest = run.text;
    while (rest.length > room) {
      const head = clip(rest, room);
      if (head !== "") chunks.at(-1)?.push({ ...run, text: head });
      rest = rest.slice(head.length);
      chunks.push([]);
      room = maxBlockUnits;
    }
    chunks.at(-1)?.push({ ...run, text: rest });
    room -= rest.length;
  }
  return chunks.filter((chunk) => chunk.length > 0);
}

function packIntoBlocks(sections: Section[]): Element[] {
  const packs: Section[][] = [];
  let room = 0;
  for (const section of sections) {
    if (section.units > room || packs.length === 0) {
      packs.push([]);
      room = maxBlockUnits;
    }
    packs.at(-1)?.push(section);
    room -= section.units;
  }
  return packs.map((pack) => ({ type: "rich_text", elements: pack.map((section) => section.element) }));
}
