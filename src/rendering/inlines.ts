import type { Block, Inline } from "../core/message.ts";
import type { MessageExtras } from "../core/rules.ts";
import { isolate } from "../ground/text/clean.ts";

/** Within this distance of the message the hour alone says which day is meant. */
const clockIsEnoughMs = 12 * 60 * 60 * 1000;
/** Addresses and metric keys, to be copied whole; and web addresses, which chats link by themselves. */
const webAddressOrLongWord = /https?:\/\/\S+|[A-Za-z0-9_]{32,}/g;
/** Most lines have none, and to walk through matches costs ten times as much as this look. */
const longWord = /[A-Za-z0-9_]{32}/;

export const text = (value: string): Inline => ({ kind: "text", text: value });
export const bold = (value: string): Inline => ({ kind: "bold", text: value });
export const code = (value: string): Inline => ({ kind: "code", text: value });
export const link = (value: string, href: string): Inline => ({ kind: "link", text: value, href });

export const paragraph = (inlines: Inline[]) => ({ kind: "paragraph" as const, inlines });
export const note = (inlines: Inline[]) => ({ kind: "note" as const, inlines });

/** What a route says, in the words of the one who runs Tocsin. */
export function writeExtras({ note = "", links = [] }: MessageExtras = {}): Block[] {
  const inlines = links.flatMap(({ label, url }, index) => [...(index === 0 ? [] : [text(" · ")]), link(label, url)]);
  return [note === "" ? [] : [text(note)], inlines].flatMap((inlines) =>
    inlines.length === 0 ? [] : paragraph(inlines),
  );
}

/** `now` is when the message is made: times close to it are shown without their date. */
export function time(at: number, now: number): Inline {
  return Math.abs(now - at) < clockIsEnoughMs ? { kind: "time", at, shown: "clock" } : { kind: "time", at };
}

/** A sender's line in which long words (addresses, metric keys) are set as code, and the rest as `style` says. */
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

/** The alert's page; undefined when nobody knows under which address Tocsin is reached. */
export function pageOfAlert(publicUrl: string | undefined, alertId: string): string | undefined {
  return publicUrl === undefined ? undefined : `${baseOf(publicUrl)}/alerts/${encodeURIComponent(alertId)}`;
}

/** The log of all alerts. */
export function pageOfLog(publicUrl: string | undefined): string | undefined {
  return publicUrl === undefined ? undefined : `${baseOf(publicUrl)}/`;
}

function baseOf(publicUrl: string): string {
  return publicUrl.replace(/(?<!\/)\/+$/, "");
}
