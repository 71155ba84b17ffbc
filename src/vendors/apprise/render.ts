import type { Document } from "../../core/message.ts";
import { cut } from "../../ground/text/graphemes.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { fitPlainText, type Tone, toneOf, withoutHeading } from "../layout/layout.ts";

const maxTitleUnits = 250;
/** Bounds the work of the Apprise server, which cuts or splits texts for each of its services. */
const maxTextUnits = 16_000;

export type AppriseMessage = ReturnType<typeof renderApprise>;

export function renderApprise(document: Document, times: TimeFormat) {
  const text = fitPlainText(document, times, ({ length }) => length <= maxTextUnits, withoutHeading);
  return {
    kind: "apprise" as const,
    title: cut(document.subject, maxTitleUnits),
    text: text === "" ? document.subject : text,
    type: types[toneOf(document)],
  };
}

const types: Record<Tone, "info" | "success" | "warning" | "failure"> = {
  resolved: "success",
  critical: "failure",
  warning: "warning",
  info: "info",
  unknown: "info",
};
