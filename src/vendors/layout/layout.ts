import type { Severity } from "../../core/alert.ts";
import type { Block, Document, Inline } from "../../core/message.ts";
import { cleanText } from "../../ground/text/clean.ts";
import { isLinkable } from "../../ground/text/linkable.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { writeFitting } from "./fit.ts";

/** A piece of literal text in one style. */
export type Run =
  | { style: "text" | "bold" | "italic" | "code" | "pre"; text: string }
  /** `href` passes `isLinkable`. */
  | { style: "link"; text: string; href: string }
  /** `at` is after 1970 and before 2038. */
  | { style: "time"; text: string; at: number; shown?: "clock" };

/** One block as runs in reading order, the same for every vendor. */
export interface LaidBlock {
  kind: Block["kind"];
  quoted: boolean;
  /** The line breaks before the block in plain text. */
  gap: "" | "\n" | "\n\n";
  /** At least one, none empty. Line breaks within the block are in the runs. */
  runs: Run[];
}

/** Blocks in reading order, cleaned for every vendor, without empty ones. May be empty. */
export function layOut(document: Document, times: TimeFormat): LaidBlock[] {
  const laid: LaidBlock[] = [];
  for (const block of document.blocks) {
    const runs = trimEnds(runsOf(block, times));
    if (runs.length === 0) continue;
    const quoted = block.kind === "paragraph" && block.quoted === true;
    laid.push({ kind: block.kind, quoted, gap: gapAfter(laid.at(-1), block.kind, quoted), runs });
  }
  return laid;
}

function runsOf(block: Block, times: TimeFormat): Run[] {
  const lineOf = (head: string, inlines: Inline[]): Run[] => [
    { style: "text", text: head },
    ...inlines.map((inline) => runOf(inline, times, "text")),
  ];
  switch (block.kind) {
    case "heading":
    case "paragraph":
    case "note":
      return mergeRuns(block.inlines.map((inline) => runOf(inline, times, textStyles[block.kind])));
    case "fields":
      return joinLines(block.rows.map(({ label, value }) => lineOf(`${cleanText(label)}: `, value)));
    case "list":
      return joinLines(block.items.map((item) => lineOf("• ", item)));
    case "code":
      return [{ style: "pre", text: cleanText(block.text) }];
  }
}

const textStyles = { heading: "bold", paragraph: "text", note: "italic" } as const;

function runOf(inline: Inline, times: TimeFormat, textStyle: "text" | "bold" | "italic"): Run {
  switch (inline.kind) {
    case "text":
      return { style: textStyle, text: cleanText(inline.text) };
    case "bold":
    case "italic":
    case "code":
      return { style: inline.kind, text: cleanText(inline.text) };
    case "link": {
      const text = cleanText(inline.text);
      if (isLinkable(inline.href)) return { style: "link", text, href: inline.href };
      return { style: "text", text: text === inline.href ? text : `${text} (${cleanText(inline.href)})` };
    }
    case "time": {
      const text = inline.shown === "clock" ? times.clock(inline.at) : times.full(inline.at);
      if (!isCommonInstant(inline.at)) return { style: textStyle, text };
      return { style: "time", text, at: inline.at, ...(inline.shown && { shown: inline.shown }) };
    }
  }
}

/** A sender may send any number as a time. Vendors refuse a message with an instant past 32 bits of seconds. */
function isCommonInstant(at: number): boolean {
  return at > 0 && at < 2 ** 31 * 1000;
}

/** Joins neighbours of the same style. */
function mergeRuns(runs: Run[]): Run[] {
  const merged: Run[] = [];
  for (const run of runs) {
    const previous = merged.at(-1);
    const isPlainStyle = run.style === "text" || run.style === "bold" || run.style === "italic";
    if (isPlainStyle && previous?.style === run.style) previous.text += run.text;
    else merged.push({ ...run });
  }
  return merged;
}

function joinLines(lines: Run[][]): Run[] {
  const runs: Run[] = [];
  for (const line of lines) {
    if (runs.length > 0) runs.push({ style: "text", text: "\n" });
    for (const run of line) runs.push(run);
  }
  return runs;
}

/** Splits runs at line breaks, for vendors that write each row separately. */
export function linesOf(runs: Run[]): Run[][] {
  const lines: Run[][] = [[]];
  for (const run of runs) {
    if (run.style === "text" && run.text === "\n") lines.push([]);
    else lines.at(-1)?.push(run);
  }
  return lines;
}

/** Drops empty runs, and white space at both ends of the block. */
function trimEnds(runs: Run[]): Run[] {
  const kept = runs.filter((run) => run.text !== "");
  for (let first = kept[0]; first !== undefined; first = kept[0]) {
    const text = first.text.trimStart();
    if (text !== first.text) kept[0] = { ...first, text };
    if (text !== "") break;
    kept.shift();
  }
  for (let last = kept.at(-1); last !== undefined; last = kept.at(-1)) {
    const text = last.text.trimEnd();
    if (text !== last.text) kept[kept.length - 1] = { ...last, text };
    if (text !== "") break;
    kept.pop();
  }
  return kept;
}

/** Facts are close together, as are a list and the text that ends it. The sender's words and code get space. */
function gapAfter(previous: LaidBlock | undefined, kind: Block["kind"], quoted: boolean): LaidBlock["gap"] {
  if (previous === undefined) return "";
  if (quoted || kind === "code" || kind === "list") return "\n\n";
  if (previous.quoted || previous.kind === "code" || previous.kind === "fields") return "\n\n";
  return "\n";
}

/** Each line of the sender's words begins with `> `, as in mail. Default of `write`: the run's bare words. */
export function writePlainText(blocks: LaidBlock[], write = writeRun): string {
  const texts = blocks.map((block) => {
    const written = block.runs.map((run) => write(run, block)).join("");
    return block.gap + (block.quoted ? `> ${written.replaceAll("\n", "\n> ")}` : written);
  });
  return texts.join("");
}

/** Shortens the text of a document until it `fits`. @param part the part of the message. Default: all. */
export function fitPlainText(
  document: Document,
  times: TimeFormat,
  fits: (text: string) => boolean,
  part = (blocks: LaidBlock[]): LaidBlock[] => blocks,
): string {
  const write = (candidate: Document): string => writePlainText(part(layOut(candidate, times)));
  return writeFitting(document, write, fits);
}

/** For channels with a title of their own. */
export function withoutHeading(blocks: LaidBlock[]): LaidBlock[] {
  const rest = blocks[0]?.kind === "heading" ? blocks.slice(1) : blocks;
  return rest.map((block, index) => (index === 0 ? { ...block, gap: "" } : block));
}

/** Writes `Open in Tocsin: https://…`, or only the address where `words` are its beginning. */
export function spellOutLink(words: string, href: string): string {
  return href.startsWith(words.replace(/…$/, "")) ? href : `${words}: ${href}`;
}

function writeRun(run: Run, block: LaidBlock): string {
  // Plain text cannot hide an address behind words. A list of alerts is shorter without addresses, and the page has
  // them.
  if (run.style !== "link" || block.kind === "list") return run.text;
  return spellOutLink(run.text, run.href);
}

/** Decides a vendor's colours, priorities and symbols. */
export type Tone = "resolved" | Severity;

export function toneOf({ status, severity }: Document): Tone {
  return status === "resolved" ? "resolved" : severity;
}

/** Readable on light and dark backgrounds. */
export const accents: Record<Tone, string> = {
  resolved: "#2e9e5b",
  critical: "#d92d20",
  warning: "#e08600",
  info: "#2f6fdb",
  unknown: "#7a7f87",
};
