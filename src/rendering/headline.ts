import type { Alert, AlertStatus, Severity } from "../core/alert.ts";
import { type FactLine, writeFactLine } from "../core/fact-line.ts";
import type { MessageContext } from "../core/message-context.ts";
import { type NameOf, sayWhatHappened } from "../core/subject-name.ts";
import { cutTitle, writeTitle } from "../core/title.ts";
import { isolate } from "../ground/text/clean.ts";
import { bold, markLongWords } from "./inlines.ts";

const maxSubjectUnits = 200;

/**
 * A locked phone shows some 110 characters. The subject, of at most 200 UTF-16 units, has the severity as a word
 * instead of the symbol, unless the title begins with that word.
 */
export function writeHeadline(alert: Alert, context: MessageContext, status: AlertStatus, facts: FactLine | undefined) {
  const title = context.extras?.title ?? sayWhatHappened(alert, facts, status);
  const steady = context.extras?.title ?? facts?.steady ?? writeTitle(alert.facts);
  const test = isTest(alert, context);
  const state = stateOf(alert, status, test);
  const isSaid = state !== undefined && startsWithWord(title, state);
  const isSeverity = !test && alert.origin !== "notice" && status !== "resolved";
  const before = state === undefined || isSaid || isSeverity ? "" : `${state}: `;
  // A title alone must not look like a test.
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
    /** The headline with all our additions in brackets before the title, see `Document.mailSubject`. */
    mailSubject: writeSubject(inBrackets, steady, ""),
  };
}

/** Undefined: too few facts, or a test, or an alert from Tocsin itself. */
export function factLineOf(alert: Alert, context: MessageContext, nameOf?: NameOf): FactLine | undefined {
  if (alert.origin !== "hook" || isTest(alert, context)) return undefined;
  return writeFactLine(alert.facts, nameOf && ((subject) => nameOf(subject, context.now)));
}

/** If the subject is too long, the title is cut and not our words about it. */
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

/** A test is no alert, whatever its severity, and a notice's title says everything. Info and unknown get no word. */
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
