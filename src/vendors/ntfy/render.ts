import type { Document } from "../../core/document.ts";
import type { Message } from "../../core/message.ts";
import { clip, cut } from "../../ground/text/graphemes.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { fitDocument } from "../layout/fit.ts";
import { layOut } from "../layout/layout.ts";
import { withoutHeading, writePlainText } from "../layout/plain-text.ts";
import { lastLink } from "./last-link.ts";

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
}

/** A push notification for ntfy; a tap opens the message's last link. */
export function renderNtfy(document: Document, times: TimeFormat): NtfyMessage {
  const write = (candidate: Document): string => writePlainText(withoutHeading(layOut(candidate, times)));
  const fits = (text: string): boolean => Buffer.byteLength(text) <= maxTextBytes;
  const fitted = write(fitDocument(document, (candidate) => fits(write(candidate))));
  // No UTF-16 unit takes more than three bytes. Only thousands of our own notes, or an endless subject alone, would get this far.
  const said = fitted === "" ? document.subject : fitted;
  const text = fits(said) ? said : clip(said, Math.floor(maxTextBytes / 3));
  return {
    kind: "ntfy",
    title: cut(document.subject, maxTitleUnits),
    text,
    priority: priorityOf(document),
    tags: [tagOf(document)],
    click: lastLink(document),
  };
}

/** 5 rings through; 4 rings loudly, as an alert without severity may be the worst one; 3 is an ordinary message. */
function priorityOf(document: Document): 3 | 4 | 5 {
  if (document.status === "resolved") return 3;
  switch (document.severity) {
    case "critical":
      return 5;
    case "warning":
    case "unknown":
      return 4;
    case "info":
      return 3;
  }
}

/** Names that ntfy shows as the symbols which other channels have in their first line. */
function tagOf(document: Document): string {
  if (document.status === "resolved") return "white_check_mark";
  switch (document.severity) {
    case "critical":
      return "rotating_light";
    case "warning":
      return "warning";
    case "info":
      return "information_source";
    case "unknown":
      return "bell";
  }
}
