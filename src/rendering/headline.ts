import type { Alert, AlertStatus, Severity } from "../core/alert.ts";
import { type FactLine, writeFactLine } from "../core/fact-line.ts";
import type { MessageContext } from "../core/message-context.ts";
import { type NameOf, sayWhatHappened } from "../core/subject-name.ts";
import { cutTitle, writeTitle } from "../core/title.ts";
import { isolate } from "../ground/text/clean.ts";
import { bold, markLongWords } from "./inlines.ts";

const maxSubjectUnits = 200;

/**
 * The first line of a message, what a locked phone shows, some 110 characters of it; and its subject, at most 200 UTF-16 units on
 * one line. The symbol; that it is a test, over or from Tocsin itself; what has happened; the mark of a possible repeat. A subject has the
 * severity in a word instead of the symbol, unless the title begins with that word.
 */
export function writeHeadline(alert: Alert, context: MessageContext, status: AlertStatus, facts: FactLine | undefined) {
  const title = context.extras?.title ?? sayWhatHappened(alert, facts, status);
  const steady = context.extras?.title ?? facts?.steady ?? writeTitle(alert.facts);
  const test = isTest(alert, context);
  const state = stateOf(alert, status, test);
  const isSaid = state !== undefined && startsWithWord(title, state);
  const isSeverity = !test && alert.origin !== "notice" && status !== "resolved";
  const before = state === undefined || isSaid || isSeverity ? "" : `${state}: `;
  // A title alone must not pass for a test.
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
    /** The headline with all that we say of the title in brackets before it; see `Document.mailSubject`. */
    mailSubject: writeSubject(inBrackets, steady, ""),
  };
}

/** What the facts of an alert say in few words. Undefined: too little, or it is a test or from Tocsin itself. */
export function factLineOf(alert: Alert, context: MessageContext, nameOf?: NameOf): FactLine | undefined {
  if (alert.origin !== "hook" || isTest(alert, context)) return undefined;
  return writeFactLine(alert.facts, nameOf && ((subject) => nameOf(subject, context.now)));
}

/** The title gives way, not what we say about it. */
export function writeSubject(before: string, title: string, after: string): string {
  const room = Math.max(20, maxSubjectUnits - before.length - after.length - 2);
  return `${before}${isolate(cutTitle(title, room))}${after}`;
}

export function isTest(alert: Alert, context: MessageContext): boolean {
  return alert.origin === "test" || context.purpose === "test";
}

export function stateSymbol(severity: Severity, status: AlertStatus): string {
  if (status === "resolved") return "✅";
  return severitySymbols[severity];
}

const severitySymbols: Record<Severity, string> = { critical: "🚨", warning: "⚠️", info: "ℹ️", unknown: "🔔" };

/**
 * A test is no alert, however severe it pretends to be, and a notice says in its title what is the matter. Ordinary news needs no word,
 * and an unknown severity is not worth one.
 */
function stateOf(alert: Alert, status: AlertStatus, test: boolean): string | undefined {
  const { severity } = alert.facts;
  if (test) return "Test";
  if (alert.origin === "notice") return "Tocsin";
  if (status === "resolved") return "Resolved";
  if (severity === "critical") return "Critical";
  return severity === "warning" ? "Warning" : undefined;
}

function startsWithWord(title: string, word: string): boolean {
  const beginning = title.replace(/^[^\p{L}\p{N}]{1,8}/u, "").toLowerCase();
  return beginning.startsWith(word.toLowerCase()) && !/^\p{L}/u.test(beginning.slice(word.length));
}
