import { type Alert, resolvedAfterMs } from "../core/alert.ts";
import type { FactLine } from "../core/fact-line.ts";
import type { Block, Document, Inline } from "../core/message.ts";
import type { MessageContext } from "../core/message-context.ts";
import { type BareSubject, wordsOfSender } from "../core/subject-name.ts";
import { shortTitle, titleWithoutState, writeTitle } from "../core/title.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { cut } from "../ground/text/graphemes.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { writeAlertRows } from "./alert-rows.ts";
import { writeSubject } from "./headline.ts";
import { bold, markLongWords, note, paragraph, text, time } from "./inlines.ts";
import { numberBeside, writeAmount, writeValueLine } from "./value-line.ts";

const maxTitleUnits = 120;
const maxValueUnits = 40;
const maxWordsUnits = 280;
/** Rows for place and time. The page has the other facts of a resolution. */
const shownRows = new Set(["Token", "Pool", "Chain", "When", "Received"]);

/** Nobody has to act on a resolution. A message that a person asked for, and an unreadable body, are shown whole. */
export function isBriefResolution(alert: Alert, context: MessageContext): boolean {
  const { status, format } = alert.facts;
  return (
    status === "resolved" &&
    alert.origin === "hook" &&
    (context.purpose === "alert" || context.purpose === "fallback") &&
    context.resolvedBy === undefined &&
    format !== "broken-json" &&
    format !== "binary"
  );
}

/** One line where it answers the first message, else enough to be understood alone. `ending`: the last line. */
export function composeResolution(
  alert: Alert,
  context: MessageContext,
  { facts: line, notes, ending }: { facts: FactLine | undefined; notes: Block[]; ending: Block },
): Document {
  const { facts } = alert;
  const over = `Over${writeLength(alert, context)}`;
  const ofRoute = context.extras?.title && titleWithoutState(context.extras.title);
  const sent = shortTitle({ ...facts, title: titleWithoutState(facts.title) }, maxTitleUnits);
  const title = ofRoute || line?.over || sent;
  const value = context.isAnswer && (title === ofRoute || title === sent) ? writeShortValue(alert, title) : "";
  const repeat = context.possibleRepeat ? " (possible repeat)" : "";
  const heading: Inline[] = [
    bold(`✅ ${over}: `),
    ...markLongWords(title, bold),
    ...(value === "" ? [] : [text(` · ${value}`)]),
    ...(repeat === "" ? [] : [bold(repeat)]),
  ];
  const inBrackets = context.possibleRepeat ? `[${over} · possible repeat] ` : `[${over}] `;
  return {
    subject: writeSubject(`${over}: `, title, repeat),
    mailSubject: writeSubject(inBrackets, ofRoute || line?.steady || writeTitle(facts), ""),
    severity: facts.severity,
    status: "resolved",
    blocks: [
      { kind: "heading", inlines: heading },
      ...(context.isAnswer ? [] : [paragraph(writeValueLine(facts, title))]),
      ...writeFiresAgain(context),
      ...(context.isAnswer ? notes : [...writeDetails(alert, context, title, line?.learned), ...notes, ending]),
    ],
  };
}

/** `after 8 min`. A length below one second is "at once". */
export function lengthWords(lastedMs: number): string {
  return lastedMs < 1000 ? "at once" : `after ${formatDuration(lastedMs)}`;
}

function writeLength(alert: Alert, { history }: MessageContext): string {
  if (history === undefined) return "";
  const lastedMs = resolvedAfterMs(alert, history.firstAt);
  // Negative when the clock was set back meanwhile.
  return lastedMs < 0 ? "" : ` ${lengthWords(lastedMs)}`;
}

function writeShortValue({ facts }: Alert, title: string): string {
  if (facts.value === undefined) return "";
  const isSaid = [cleanLine(facts.value), numberBeside(facts.value, facts)].some((value) => title.includes(value));
  return isSaid ? "" : writeAmount(facts, maxValueUnits);
}

function writeFiresAgain({ firesAgainAt, now }: MessageContext): Block[] {
  if (firesAgainAt === undefined) return [];
  return [note([text("It fires again since "), time(firesAgainAt, now)])];
}

function writeDetails(
  alert: Alert,
  { now, detail }: MessageContext,
  title: string,
  learned: BareSubject | undefined,
): Block[] {
  if (detail === "short") return [];
  const rows = writeAlertRows(alert, now, title.toLowerCase(), learned).filter(({ label }) => shownRows.has(label));
  const words = wordsOfSender(alert.facts);
  const details: Block[] = [{ kind: "fields", rows }];
  if (words !== "" && cleanLine(words) !== cleanLine(alert.facts.title))
    details.push({ ...paragraph([text(cut(words, maxWordsUnits))]), quoted: true });
  return details;
}
