import type { Block, Inline } from "../core/message.ts";
import type { MessageExtras } from "../core/rules.ts";
import { isolate } from "../ground/text/clean.ts";

/** Within this distance from the message the time of day is enough, without a date. */
const clockIsEnoughMs = 12 * 60 * 60 * 1000;
/** Addresses and metric keys, which readers copy whole. Chats link web addresses by themselves. */
const webAddressOrLongWord = /https?:\/\/\S+|[A-Za-z0-9_]{32,}/g;
/** Tested first: most lines have no long word, and walking through matches costs ten times as much. */
const longWord = /[A-Za-z0-9_]{32}/;

export const text = (value: string): Inline => ({ kind: "text", text: value });
export const bold = (value: string): Inline => ({ kind: "bold", text: value });
export const code = (value: string): Inline => ({ kind: "code", text: value });
export const link = (value: string, href: string): Inline => ({ kind: "link", text: value, href });

export const paragraph = (inlines: Inline[]) => ({ kind: "paragraph" as const, inlines });
export const note = (inlines: Inline[]) => ({ kind: "note" as const, inlines });

/** A route's note and links, in the operator's words. */
export function writeExtras({ note = "", links = [] }: MessageExtras = {}): Block[] {
  const inlines = links.flatMap(({ label, url }, index) => [...(index === 0 ? [] : [text(" · ")]), link(label, url)]);
  return [note === "" ? [] : [text(note)], inlines].flatMap((inlines) =>
    inlines.length === 0 ? [] : paragraph(inlines),
  );
}

/** `now` is when the message is made. Times close to it are shown without a date. */
export function time(at: number, now: number): Inline {
  return Math.abs(now - at) < clockIsEnoughMs ? { kind: "time", at, shown: "clock" } : { kind: "time", at };
}

/** A sender's line with long words (addresses, metric keys) as code, and the rest in `style`. */
export function markLongWords(line: string, style: (value: string) => Inline = text): Inline[] {
  if (line.length < 32 || !longWord.test(line)) return line === "" ? [] : [style(isolate(line))];
  const inlines: Inline[] = [];
  let done = 0;
  for (const match of line.matchAll(webAddressOrLongWord)) {
    if (match[0].includes("://")) continue;
    if (match.index > done) inlines.push(style(isolate(line.slice(done, match.index))));
    inlines.push(code(match[0]));
    done = match.index + match[0].length;
  }
  if (done < line.length) inlines.push(style(isolate(line.slice(done))));
  return inlines;
}

/** Undefined when Tocsin's own address is not configured. */
export function pageOfAlert(publicUrl: string | undefined, alertId: string): string | undefined {
  return publicUrl === undefined ? undefined : `${baseOf(publicUrl)}/alerts/${encodeURIComponent(alertId)}`;
}

export function pageOfLog(publicUrl: string | undefined): string | undefined {
  return publicUrl === undefined ? undefined : `${baseOf(publicUrl)}/`;
}

function baseOf(publicUrl: string): string {
  return publicUrl.replace(/(?<!\/)\/+$/, "");
}
