import type { Document } from "../../core/document.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { writeFitting } from "./fit.ts";
import { type LaidBlock, layOut, type Run } from "./layout.ts";

/**
 * The message as text; the sender's words are marked line by line with `> `, as in mail.
 * @param write what a run is there. Default: its words without any formatting
 */
export function writePlainText(blocks: LaidBlock[], write = writeRun): string {
  const texts = blocks.map((block) => {
    const written = block.runs.map((run) => write(run, block)).join("");
    return block.gap + (block.quoted ? `> ${written.replaceAll("\n", "\n> ")}` : written);
  });
  return texts.join("");
}

/** Shortens the text of a document until it `fits`. @param part what of the message it is. Default: all. */
export function fitPlainText(
  document: Document,
  times: TimeFormat,
  fits: (text: string) => boolean,
  part = (blocks: LaidBlock[]): LaidBlock[] => blocks,
): string {
  const write = (candidate: Document): string => writePlainText(part(layOut(candidate, times)));
  return writeFitting(document, write, fits);
}

/** The blocks after the heading, closed up: for channels with a title of their own. */
export function withoutHeading(blocks: LaidBlock[]): LaidBlock[] {
  const rest = blocks[0]?.kind === "heading" ? blocks.slice(1) : blocks;
  return rest.map((block, index) => (index === 0 ? { ...block, gap: "" } : block));
}

/** `Open in Tocsin: https://…`; the address alone where the words are only its beginning. */
export function spellOutLink(words: string, href: string): string {
  return href.startsWith(words.replace(/…$/, "")) ? href : `${words}: ${href}`;
}

function writeRun(run: Run, block: LaidBlock): string {
  // Plain text cannot hide an address behind words. A list of alerts is shorter without addresses, and the page has them.
  if (run.style !== "link" || block.kind === "list") return run.text;
  return spellOutLink(run.text, run.href);
}
