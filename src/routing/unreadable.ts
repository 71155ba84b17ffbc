import type { AlertFacts } from "../core/alert.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { countOf } from "../ground/text/count-of.ts";
import { cut } from "../ground/text/graphemes.ts";
import { toPlainText } from "../ground/text/plain-text.ts";

export interface UnreadableAlert {
  id: string;
  body: Uint8Array;
  /** Why it could not be read, for people. */
  reason: string;
  /** How many alerts of the request could not be read. Default 1. */
  alerts?: number;
}

/** Characters of the body that are shown. Any chat has room for them in one message. */
const maxShownLength = 3_000;

/** The facts of an unreadable body: its beginning and the reason. Channels treat the severity `unknown` as possibly the worst. */
export function describeUnreadable({ id, body, reason, alerts = 1 }: UnreadableAlert): AlertFacts {
  const what = alerts === 1 ? "Unreadable alert" : `Unreadable request of ${groupThousands(alerts)} alerts`;
  // No character takes more than four bytes. `stream` leaves out one that is cut at the end.
  const beginning = body.subarray(0, maxShownLength * 4);
  const text = toPlainText(new TextDecoder().decode(beginning, { stream: true }));
  const isCut = text.length > maxShownLength || beginning.length < body.length;
  return {
    ...bareFacts(id),
    title: `${what} (${countOf(body.length, "byte")})`,
    ...(text !== "" && { text: cut(text, maxShownLength) }),
    notes: [
      `Tocsin could not read this ${alerts === 1 ? "alert" : "request"} (${reason}); it is shown as received`,
      ...(isCut ? ["this is its beginning: the page has all of it"] : []),
    ],
  };
}

/** An alert of an unreadable request. The message of the alert `shownBy` shows the whole request. */
export function describeContained(id: string, reason: string, shownBy: string): AlertFacts {
  return {
    ...bareFacts(id),
    title: "Unreadable alert in a request of several",
    notes: [`Tocsin could not read the request (${reason}); the message of alert ${shownBy} shows it as received`],
  };
}

function bareFacts(id: string): Omit<AlertFacts, "title" | "notes"> {
  return {
    severity: "unknown",
    status: "unknown",
    format: "unreadable",
    alertKey: `unreadable:${id}`,
    fields: [],
  };
}
