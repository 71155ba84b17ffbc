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

/** A push notification for ntfy. A tap opens the message's last link. */
export function renderNtfy(document: Document, times: TimeFormat, picture?: MessagePicture): NtfyMessage {
  const fits = (text: string): boolean => Buffer.byteLength(text) <= maxTextBytes;
  const click = lastLink(document);
  // A tap opens the link, so its address is not in the text.
  const last = document.blocks.at(-1);
  const isLinkAlone = click !== undefined && last?.kind === "paragraph" && last.inlines.length === 1;
  const shown = isLinkAlone ? { ...document, blocks: document.blocks.slice(0, -1) } : document;
  const fitted = fitPlainText(shown, times, fits, withoutHeading);
  // No UTF-16 unit takes more than three bytes. Only thousands of our own notes or an endless subject get this far.
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

/** 5 rings in silent mode too. 4 rings loudly, as an alert without severity may be the worst one. 3 is an ordinary message. */
const priorities: Record<Tone, 3 | 4 | 5> = { resolved: 3, critical: 5, warning: 4, info: 3, unknown: 4 };

/** ntfy shows these names as the symbols that other channels have in their first line. */
const tags: Record<Tone, string> = {
  resolved: "white_check_mark",
  critical: "rotating_light",
  warning: "warning",
  info: "information_source",
  unknown: "bell",
};

/** The last link of a message, which leads to more. Undefined when the last block has none. */
function lastLink(document: Document): string | undefined {
  const block = document.blocks.at(-1);
  if (block?.kind !== "paragraph" && block?.kind !== "note") return undefined;
  const link = block.inlines.findLast((inline) => inline.kind === "link");
  return link?.kind === "link" && isLinkable(link.href) ? link.href : undefined;
}
