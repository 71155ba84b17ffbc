import type { Document, MessageForm } from "../../core/message.ts";
import { clip } from "../../ground/text/graphemes.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { fitDocument } from "../layout/fit.ts";
import {
  accents,
  fitPlainText,
  type LaidBlock,
  layOut,
  type Run,
  toneOf,
  withoutHeading,
  writePlainText,
} from "../layout/layout.ts";

/** Limits of https://docs.discord.com/developers/resources/message : content 2000, embed description 4096. */
const maxContentUnits = 2000;
const maxDescriptionUnits = 4096;

export type DiscordMessage = ReturnType<typeof renderDiscord>;

/** `content` is the heading, which notifications show. The embed has the rest. The text pings nobody. */
export function renderDiscord(document: Document, times: TimeFormat, form: MessageForm) {
  const kind = "discord" as const;
  if (form === "plain") {
    const text = fitPlainText(document, times, (fitted) => escapeMarkdown(fitted).length <= maxContentUnits);
    return { kind, text, body: toBody({ content: clip(escapeMarkdown(text), maxContentUnits) }) };
  }
  const fitting = fitDocument(
    document,
    (candidate) => writeRest(layOut(candidate, times)).length <= maxDescriptionUnits,
  );
  const blocks = layOut(fitting, times);
  const heading = blocks[0]?.kind === "heading" ? blocks[0].runs.map(writeRun).join("") : "";
  // `fitDocument` never cuts our own notes. Only thousands of them reach this cut.
  const description = clip(writeRest(blocks), maxDescriptionUnits);
  const content =
    heading.length <= maxContentUnits && heading !== ""
      ? heading
      : clip(escapeMarkdown(document.subject), maxContentUnits);
  const embeds =
    description === "" ? [] : [{ description, color: Number.parseInt(accents[toneOf(document)].slice(1), 16) }];
  return { kind, text: writePlainText(blocks), body: toBody({ content, embeds }) };
}

function toBody(message: Record<string, unknown>): string {
  return JSON.stringify({ ...message, allowed_mentions: { parse: [] } });
}

function writeRest(blocks: LaidBlock[]): string {
  return writePlainText(withoutHeading(blocks), writeRun);
}

function writeRun(run: Run): string {
  switch (run.style) {
    case "text":
      return escapeMarkdown(run.text);
    case "bold":
      return wrap(run.text, "**");
    case "italic":
      return wrap(run.text, "*");
    case "code":
      return writeCode(run.text);
    case "pre":
      return `\`\`\`\n${run.text.replaceAll("```", "`\u200b``")}\n\`\`\``;
    case "link":
      return writeLink(run.text, run.href);
    case "time":
      return `<t:${Math.floor(run.at / 1000)}:${run.shown === "clock" ? "t" : "f"}>`;
  }
}

/** Discord reads no emphasis that begins or ends with a blank. */
function wrap(text: string, mark: string): string {
  const inner = text.trim();
  if (inner === "") return text;
  const start = text.indexOf(inner);
  return text.slice(0, start) + mark + escapeMarkdown(inner) + mark + text.slice(start + inner.length);
}

function writeCode(text: string): string {
  return text.includes("`") ? `\`\` ${text.replaceAll("``", "`\u200b`")} \`\`` : `\`${text}\``;
}

/** Discord warns of a link whose words are another address, and shows the link's source. */
function writeLink(text: string, href: string): string {
  const address = new URL(href).href.replaceAll("(", "%28").replaceAll(")", "%29").replaceAll(">", "%3E");
  return text.includes("://") ? `<${address}>` : `[${escapeMarkdown(text)}](<${address}>)`;
}

/** Puts a backslash before Discord's markdown. */
function escapeMarkdown(text: string): string {
  return text
    .replace(/[\\*_~`|<>[\]@]/g, "\\$&")
    .replace(/:(?=\w+:|\/\/)/g, "\\:")
    .replace(/^([ \t]*)(#|-|\+)/gm, "$1\\$2")
    .replace(/^([ \t]*\d+)\./gm, "$1\\.");
}
