import type { Document } from "../../core/document.ts";
import type { Message, MessageForm } from "../../core/message.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { fitDocument } from "../layout/fit.ts";
import { layOut } from "../layout/layout.ts";
import { writePlainText } from "../layout/plain-text.ts";
import { splitTelegramText } from "./split.ts";
import { type FormattedText, writeTelegramText } from "./text.ts";

/** Longer alerts are cut, and their page shows the rest: at 20 messages a minute eight parts already hold others up. */
const maxParts = 8;

export interface TelegramMessage extends Message, FormattedText {
  kind: "telegram";
}

/** One message, or the parts of a long one in reading order. The plain form has no entities. */
export function renderTelegram(document: Document, times: TimeFormat, form: MessageForm): TelegramMessage[] {
  const write = (candidate: Document): FormattedText[] => {
    const blocks = layOut(candidate, times);
    return splitTelegramText(
      form === "plain" ? { text: writePlainText(blocks), entities: [] } : writeTelegramText(blocks),
    );
  };
  const fitting = fitDocument(document, (candidate) => write(candidate).length <= maxParts);
  return write(fitting).map((part) => ({ kind: "telegram", ...part }));
}
