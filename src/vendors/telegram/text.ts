import type { LaidBlock, Run } from "../layout/layout.ts";
import { spellOutLink } from "../layout/plain-text.ts";

/** The entity kinds that we send. Offsets and lengths count UTF-16 units, as JavaScript strings and Telegram do. */
export interface TelegramEntity {
  type: "bold" | "italic" | "code" | "pre" | "text_link" | "blockquote" | "date_time";
  offset: number;
  length: number;
  /** For `text_link`. */
  url?: string;
  /** For `date_time`: the instant in Unix seconds, and how to show it. */
  unix_time?: number;
  date_time_format?: string;
}

export interface FormattedText {
  text: string;
  /** Sorted by offset, the longer first; in range; of the kinds that may nest only as Telegram allows. */
  entities: TelegramEntity[];
}

/**
 * Text and entities side by side: with no markup in the text there is nothing that could fail to parse.
 * A quoted block holds plain text only, as a block quotation may not hold code, links or times.
 */
export function writeTelegramText(blocks: LaidBlock[]): FormattedText {
  let text = "";
  const entities: TelegramEntity[] = [];
  for (const block of blocks) {
    text += block.gap;
    const blockOffset = text.length;
    for (const run of block.runs.map(withReachableLink)) {
      const entity = block.quoted ? undefined : entityOf(run, text.length);
      if (entity !== undefined) entities.push(entity);
      text += run.text;
    }
    if (block.quoted) {
      entities.push({ type: "blockquote", offset: blockOffset, length: text.length - blockOffset });
    }
  }
  return { text, entities };
}

/** Telegram refuses a whole message for a link to a host without a dot (tdlib, `check_link`), such as `http://localhost`. */
function withReachableLink(run: Run): Run {
  if (run.style !== "link") return run;
  const { protocol, hostname } = new URL(run.href);
  const accepted = protocol === "tg:" || hostname.includes(".") || hostname.startsWith("[");
  return accepted ? run : { style: "text", text: spellOutLink(run.text, run.href) };
}

function entityOf(run: Run, offset: number): TelegramEntity | undefined {
  const place = { offset, length: run.text.length };
  switch (run.style) {
    case "text":
      return undefined;
    case "bold":
    case "italic":
    case "code":
    case "pre":
      return { type: run.style, ...place };
    case "link":
      return { type: "text_link", ...place, url: run.href };
    case "time":
      // The client puts the reader's own time in place of the text; older ones and notifications show the text.
      return {
        type: "date_time",
        ...place,
        unix_time: Math.floor(run.at / 1000),
        date_time_format: run.shown === "clock" ? "t" : "DT",
      };
  }
}
