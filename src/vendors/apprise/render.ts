import type { Document } from "../../core/document.ts";
import type { Message } from "../../core/message.ts";
import { cut } from "../../ground/text/graphemes.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { fitDocument } from "../layout/fit.ts";
import { layOut } from "../layout/layout.ts";
import { withoutHeading, writePlainText } from "../layout/plain-text.ts";

const maxTitleUnits = 250;
/** Apprise cuts or splits for each of its services by itself; this bounds what it has to do. */
const maxTextUnits = 16_000;

export interface AppriseMessage extends Message {
  kind: "apprise";
  title: string;
  text: string;
  type: "info" | "success" | "warning" | "failure";
}

/** A message for whatever stands behind Apprise: plain text, and the kind by which its services colour it. */
export function renderApprise(document: Document, times: TimeFormat): AppriseMessage {
  const write = (candidate: Document): string => writePlainText(withoutHeading(layOut(candidate, times)));
  const text = write(fitDocument(document, (candidate) => write(candidate).length <= maxTextUnits));
  return {
    kind: "apprise",
    title: cut(document.subject, maxTitleUnits),
    text: text === "" ? document.subject : text,
    type: typeOf(document),
  };
}

function typeOf(document: Document): "info" | "success" | "warning" | "failure" {
  if (document.status === "resolved") return "success";
  switch (document.severity) {
    case "critical":
      return "failure";
    case "warning":
      return "warning";
    case "info":
    case "unknown":
      return "info";
  }
}
