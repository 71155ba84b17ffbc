import type { Alert, AlertFacts, AlertStatus, Severity } from "../core/alert.ts";
import type { Inline } from "../core/document.ts";
import type { MessageContext } from "../core/message-context.ts";
import { groupDigits } from "../ground/numbers/format-number.ts";
import { cleanLine, isolate } from "../ground/text/clean.ts";
import { cut } from "../ground/text/graphemes.ts";
import { bold, markLongWords } from "./inlines.ts";

const maxSubjectUnits = 200;

/** The first line of a message and its subject: what is read on a locked phone. */
export interface Headline {
  inlines: Inline[];
  /** At most 200 UTF-16 units on one line, without the symbol. */
  subject: string;
  /** The same with all that we say of the title in brackets before it; see `Document.mailSubject`. */
  mailSubject: string;
}

/**
 * Symbol, state in a word (or that it is a test, or from Tocsin itself), title, mark of a possible repeat. The symbols
 * differ in shape as well as in colour; the word is left out where the title begins with it.
 */
export function writeHeadline(alert: Alert, context: MessageContext, status: AlertStatus): Headline {
  const title = writeTitle(alert.facts);
  const test = isTest(alert, context);
  const state = stateOf(alert, status, test);
  const isSaid = state !== undefined && startsWithWord(title, state);
  const before = state === undefined || isSaid ? "" : `${state}: `;
  // A subject comes without the symbol, and a title alone must not pass for a test.
  const mark = test ? "TEST" : isSaid ? undefined : state;
  const after = context.possibleRepeat ? " (possible repeat)" : "";
  const marks = [mark, context.possibleRepeat ? "possible repeat" : undefined].filter((one) => one !== undefined);
  const inBrackets = marks.length === 0 ? "" : `[${marks.join(" · ")}] `;
  return {
    inlines: [
      bold(`${test ? "🧪" : stateSymbol(alert.facts.severity, status)} ${before}`),
      ...markLongWords(title, bold),
      bold(after),
    ],
    subject: writeSubject(mark === undefined ? "" : `${mark}: `, title, after),
    mailSubject: writeSubject(inBrackets, title, ""),
  };
}

/** The title gives way, not what we say about it. */
export function writeSubject(before: string, title: string, after: string): string {
  const room = Math.max(20, maxSubjectUnits - before.length - after.length - 2);
  return `${before}${isolate(cut(title, room))}${after}`;
}

export function isTest(alert: Alert, context: MessageContext): boolean {
  return alert.origin === "test" || context.purpose === "test";
}

export function stateSymbol(severity: Severity, status: AlertStatus): string {
  if (status === "resolved") return "✅";
  return severitySymbols[severity];
}

const severitySymbols: Record<Severity, string> = { critical: "🚨", warning: "⚠️", info: "ℹ️", unknown: "🔔" };

/** A title without the word of its state in front ("Resolved: TVL fell"), for a line that says the state itself. */
export function titleWithoutState(title: string): string {
  const rest = cleanLine(title).replace(
    /^[^\p{L}\p{N}]{0,8}(?:resolved|recovered|ok)(?:[^\p{L}\p{N}]{1,4}| - )(?=\S)/iu,
    "",
  );
  return rest === "" ? cleanLine(title) : rest;
}

const loneNumber = /(?<![\p{L}\d_.,+-])[+-]?\d+(?:\.\d+)?(?![\p{L}\d_]|[.,]\d)/gu;

type Titled = Pick<AlertFacts, "title" | "value" | "previousValue" | "threshold">;

/** The title of an alert on a line of a digest. */
export function shortTitle(facts: Titled, maxUnits: number): string {
  return cut(writeTitle(facts), maxUnits);
}

/** As sent, but for the alert's own numbers, whose digits stand in groups: those of an id or an address never do. */
export function writeTitle({ title, value, previousValue, threshold }: Titled): string {
  const own = new Set([value, previousValue, threshold]);
  return cleanLine(title).replace(loneNumber, (number) => (own.has(number) ? groupDigits(number) : number));
}

/** A test is no alert, however severe it pretends to be, and a notice says in its title what is the matter. */
function stateOf(alert: Alert, status: AlertStatus, test: boolean): string | undefined {
  if (test) return "Test";
  return alert.origin === "notice" ? "Tocsin" : stateWord(alert.facts.severity, status);
}

/** Ordinary news needs no word, and an unknown severity is not worth one. */
function stateWord(severity: Severity, status: AlertStatus): string | undefined {
  if (status === "resolved") return "Resolved";
  if (severity === "critical") return "Critical";
  return severity === "warning" ? "Warning" : undefined;
}

function startsWithWord(title: string, word: string): boolean {
  const beginning = title.replace(/^[^\p{L}\p{N}]{1,8}/u, "").toLowerCase();
  return beginning.startsWith(word.toLowerCase()) && !/^\p{L}/u.test(beginning.slice(word.length));
}
