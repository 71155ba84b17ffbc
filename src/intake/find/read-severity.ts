import type { Severity } from "../../core/alert.ts";
import { mapWords, wordOf } from "../../ground/text/plain-text.ts";

/** In doubt the more urgent meaning is taken: a warning read as critical costs a glance, the opposite costs money. */
const meanings: Readonly<Record<Exclude<Severity, "unknown">, string>> = {
  critical: `critical crit c fatal emergency emerg panic disaster alert severe major high highest urgent error
    err failure failed danger blocker page p0 p1 p2 sev0 sev1 sev2 s0 s1 s2 red down`,
  warning: `warning warn w medium moderate average minor elevated important degraded p3 sev3 s3 orange yellow amber`,
  info: `info information informational i low lowest notice normal debug trace verbose none good success ok p4 p5 sev4
    sev5 s4 s5 green blue`,
};

const severityOfWord = mapWords(meanings);

const ofPriority = /priority|urgency|importance|impact/;

export interface ReadSeverity {
  severity: Severity;
  /** Set when the meaning is a guess. */
  note?: string;
}

/** A sender's own words, as configured. */
export type SeverityWords = ReadonlyMap<string, Severity>;

/** Undefined: the word is no severity. @param name the normalised name of the value's place, e.g. `severity` or `priority` */
export function readSeverity(text: string, name: string, words?: SeverityWords): ReadSeverity | undefined {
  const word = wordOf(text);
  const meant = words?.get(word);
  if (meant !== undefined) return { severity: meant };
  if (/^\d{1,2}(\.0)?$/.test(word)) return readNumber(Number(word), name);
  // "normal" is the default of a priority. An error may have it too.
  if (word === "normal" && ofPriority.test(name)) return undefined;
  const plain = word.replace(/[^\p{L}\p{N}]+/gu, "");
  const severity = severityOfWord.get(plain) ?? severityOfWord.get(word.split(/[^\p{L}\p{N}]+/u)[0] ?? "");
  return severity === undefined ? undefined : { severity };
}

/**
 * Three scales share the small numbers. A `priority` is P1 to P5. A `level` of 10 and more is a logger's (40 warns, 50
 * is an error). Anything else is syslog's (RFC 5424: 0 to 3 emergency to error, 4 warning, 5 to 7 less).
 */
function readNumber(number: number, name: string): ReadSeverity | undefined {
  const read = (isCritical: boolean, isWarning: boolean, scale: string): ReadSeverity => {
    const severity = isCritical ? "critical" : isWarning ? "warning" : "info";
    return { severity, note: `${name} ${number} was read as ${severity} (${scale})` };
  };
  if (ofPriority.test(name))
    return number > 5 ? undefined : read(number <= 2, number <= 3, "1 and 2 critical, 3 warning, 4 and 5 info");
  if (number < 10)
    return number > 7 ? undefined : read(number <= 3, number <= 4, "0 to 3 critical, 4 warning, 5 to 7 info");
  if (!/level/.test(name) || number > 60) return undefined;
  return read(number >= 50, number >= 40, "a logger's 50 and more critical, 40 warning, less info");
}
