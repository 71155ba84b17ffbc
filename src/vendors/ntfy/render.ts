import type { Document, Message, MessagePicture } from "../../core/message.ts";
import { clip, cut } from "../../ground/text/graphemes.ts";
import { isLinkable } from "../../ground/text/linkable.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { fitPlainText, type Tone, toneOf, withoutHeading } from "../layout/layout.ts";

const maxTitleUnits = 250;
/** ntfy turns a longer message into an attachment, which a locked phone does not show. */
const maxTextBytes = 4096;

export interface NtfyMessage extends Message {
  kind: "ntfy";
  title: string;
  text: string;
  priority: 1 | 2 | 3 | 4 | 5;
  tags: string[];
  click?: string;
  /** The address of a picture that phones fetch. */
  attach?: string;
}

export function renderNtfy(document: Document, times: TimeFormat, picture?: MessagePicture): NtfyMessage {
  const fits = (text: string): boolean => Buffer.byteLength(text) <= maxTextBytes;
  const click = lastLink(document);
  // A tap opens the message's last link, so the text leaves out its address.
  const last = document.blocks.at(-1);
  const isLinkAlone = click !== undefined && last?.kind === "paragraph" && last.inlines.length === 1;
  const shown = isLinkAlone ? { ...document, blocks: document.blocks.slice(0, -1) } : document;
  const fitted = fitPlainText(shown, times, fits, withoutHeading);
  // A UTF-16 unit takes at most three bytes. Only thousands of our own notes or an endless subject need this cut.
  const said = fitted === "" ? document.subject : fitted;
  const text = fits(said) ? said : clip(said, Math.floor(maxTextBytes / 3));
  return {
    kind: "ntfy",
    title: cut(document.subject, maxTitleUnits),
    text,
    priority: priorities[toneOf(document)],
    tags: [tags[toneOf(document)]],
    click,
    ...(picture?.url === undefined ? {} : { attach: picture.url }),
  };
}

/** 5 rings in silent mode too, 4 rings loudly, 3 is an ordinary message. No severity may hide the worst alert. */
const priorities: Record<Tone, 3 | 4 | 5> = { resolved: 3, critical: 5, warning: 4, info: 3, unknown: 4 };

/** ntfy shows these names as the symbols that other channels have in their first line. */
const tags: Record<Tone, string> = {
  resolved: "white_check_mark",
  critical: "rotating_light",
  warning: "warning",
  info: "information_source",
  unknown: "bell",
};

/** Undefined when the last block has no link. */
function lastLink(document: Document): string | undefined {
  const block = document.blocks.at(-1);
  if (block?.kind !== "paragraph" && block?.kind !== "note") return undefined;
  const link = block.inlines.findLast((inline) => inline.kind === "link");
  return link?.kind === "link" && isLinkable(link.href) ? link.href : undefined;
}
