import { type Alert, type AlertFacts, type AlertStatus, resolvedAfterMs } from "../core/alert.ts";
import type { Block, Document, Inline } from "../core/message.ts";
import type { MessageContext } from "../core/message-context.ts";
import { type BareSubject, type NameOf, wordsOfSender } from "../core/subject-name.ts";
import { groupThousands, ordinal } from "../ground/numbers/format-number.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { clip } from "../ground/text/graphemes.ts";
import { sentence } from "../ground/text/plain-text.ts";
import { formatDuration, splitInstants } from "../ground/time/time-format.ts";
import { writeAlertRows, writeAllRows, writeFields } from "./alert-rows.ts";
import { composeResolution, isBriefResolution, lengthWords } from "./compose-resolution.ts";
import { writeDamped } from "./damped-line.ts";
import { factLineOf, isTest, writeHeadline } from "./headline.ts";
import { bold, code, link, note, pageOfAlert, paragraph, text, time, writeExtras } from "./inlines.ts";
import { chooseFields } from "./shown-fields.ts";
import { writeValueLine } from "./value-line.ts";

/** Facts that reach these limits of `AlertFacts` were cut. Cutting also removes blanks, so cut texts are shorter. */
const maxFields = 40;
const cutTextUnits = 19_900;
/** The longest sender's text in a message: about two screens of a phone. */
const shownTextUnits = 1_200;
const shownTextLines = 20;
/** The longest title of an alert that this one holds back. */
const maxWithUnits = 60;

/** Composes one alert for a person who has just been woken. Nothing is said twice. Absent facts leave no trace. */
export function composeAlert(
  alert: Alert,
  context: MessageContext,
  publicUrl: string | undefined,
  nameOf?: NameOf,
): Document {
  const { status } = alert.facts;
  const ending = paragraph(writeEnding(alert, publicUrl));
  const facts = factLineOf(alert, context, nameOf);
  if (isBriefResolution(alert, context)) {
    const notes = [
      ...writeLateness(context),
      ...writeDamped(alert, context, publicUrl),
      ...writeWith(context),
      ...writeSmallPrint(alert, context, publicUrl),
    ];
    return withoutEmpty(composeResolution(alert, context, { facts, notes, ending }));
  }
  const headline = writeHeadline(alert, context, status, facts);
  const said = headline.subject.toLowerCase();
  const blocks: Block[] = [
    { kind: "heading", inlines: headline.inlines },
    ...writeResolution(alert, context),
    paragraph(writeValueLine(alert.facts, said)),
    ...writeDamped(alert, context, publicUrl),
    ...writeLateness(context),
    ...writeHistory(alert, context, status),
    ...writeWith(context),
    ...writeDetails(alert, context, said, facts?.learned),
    ...writeExtras(context.extras),
    ...writeSmallPrint(alert, context, publicUrl),
    ending,
  ];
  return withoutEmpty({
    subject: headline.subject,
    mailSubject: headline.mailSubject,
    severity: alert.facts.severity,
    status,
    blocks: alert.origin === "notice" ? blocks.map((block) => showInstants(block, context.now)) : blocks,
  });
}

/** A notice is written once, in UTC. Each reader sees its instants in the zone of the destination. */
function showInstants(block: Block, now: number): Block {
  const show = (inlines: Inline[]) =>
    inlines.flatMap((inline) => {
      if (inline.kind !== "text") return [inline];
      return splitInstants(inline.text).map((part) => (typeof part === "number" ? time(part, now) : text(part)));
    });
  if (block.kind === "paragraph") return { ...block, inlines: show(block.inlines) };
  if (block.kind !== "fields") return block;
  return { ...block, rows: block.rows.map(({ label, value }) => ({ label, value: show(value) })) };
}

function writeDetails(alert: Alert, context: MessageContext, said: string, learned: BareSubject | undefined): Block[] {
  const { facts } = alert;
  const words = writeWords(alert, context.resolvedBy, said);
  switch (context.detail) {
    case "short":
      // The text of a notice says what to do. The text of an unreadable body is all there is.
      return alert.origin === "notice" || facts.format === "unreadable" ? shorten(words, facts) : [];
    case "full":
      return [
        { kind: "fields", rows: writeAllRows(alert, context.now) },
        ...words,
        { kind: "fields", rows: writeFields(facts.fields) },
      ];
    default: {
      const { fields, more } = chooseFields(facts, `${said}\n${facts.text?.toLowerCase() ?? ""}`);
      return [
        { kind: "fields", rows: writeAlertRows(alert, context.now, said, learned) },
        ...shorten(words, facts),
        { kind: "fields", rows: writeFields(fields) },
        ...(more === 0 ? [] : [note([text(`… ${more} more ${more === 1 ? "field" : "fields"} on the page`)])]),
      ];
    }
  }
}

function shorten(blocks: Block[], { format }: AlertFacts): Block[] {
  return blocks.flatMap((block): Block[] => {
    const words = block.kind === "code" ? block.text : block.kind === "paragraph" ? textOf(block.inlines) : "";
    const end = endOfShown(words);
    if (end === words.length) return [block];
    const kept = words.slice(0, end).trimEnd();
    // A piece of raw JSON helps no reader. The facts that could be read are above.
    if (block.kind === "code" && format === "broken-json") return [];
    const left = `… ${groupThousands(words.length - kept.length)} more characters on the page`;
    const shown: Block =
      block.kind === "code" ? { kind: "code", text: kept } : { ...block, ...paragraph([text(kept)]) };
    return [shown, note([text(left)])];
  });
}

function textOf(inlines: Inline[]): string {
  return inlines.map((inline) => (inline.kind === "time" ? "" : inline.text)).join("");
}

function endOfShown(words: string): number {
  let end = words.length;
  if (end > shownTextUnits) {
    const lineEnd = words.lastIndexOf("\n", shownTextUnits);
    end = lineEnd > shownTextUnits / 2 ? lineEnd : clip(words, shownTextUnits).length;
  }
  let at = -1;
  for (let line = 0; line < shownTextLines; line += 1) {
    at = words.indexOf("\n", at + 1);
    if (at === -1 || at >= end) return end;
  }
  end = at;
  return end;
}

function withoutEmpty(document: Document): Document {
  return { ...document, blocks: document.blocks.filter((block) => !isEmpty(block)) };
}

/** Added to the first message of an alert that is over. The message itself keeps what fired. */
function writeResolution(alert: Alert, { resolvedBy, history, now }: MessageContext): Block[] {
  if (resolvedBy === undefined) return [];
  const firstAt = history?.firstAt ?? alert.receivedAt;
  const lastedMs = resolvedAfterMs(resolvedBy, firstAt);
  const times = history !== undefined && history.count > 1 ? `; it fired ${history.count} times` : "";
  const valueNow = writeValueLine(resolvedBy.facts);
  return [
    paragraph([
      bold("✅ Over"),
      text(" since "),
      time(firstAt + lastedMs, now),
      text(`, ${lengthWords(lastedMs)}${times}`),
    ]),
    paragraph(valueNow.length === 0 ? [] : [text("Now: "), ...valueNow]),
  ];
}

/** A delay changes the meaning of the numbers, so it is right below them. */
function writeLateness({ late }: MessageContext): Block[] {
  if (late === undefined) return [];
  const why = cleanLine(late.why);
  return [note([text(`⏱ ${formatDuration(late.byMs)} late${why === "" ? "" : `: ${why}`}`)])];
}

function writeHistory(
  alert: Alert,
  { history, resolvedBy, damped, now }: MessageContext,
  status: AlertStatus,
): Block[] {
  if (history === undefined || resolvedBy !== undefined) return [];
  if (status === "resolved") {
    const lastedMs = resolvedAfterMs(alert, history.firstAt);
    const lasted = lastedMs > 0 ? `Lasted ${formatDuration(lastedMs)}, since ` : "First at ";
    return [note([text(lasted), time(history.firstAt, now)])];
  }
  // The line about damping says how often.
  if (history.count < 2 || damped !== undefined) return [];
  return [note([text(`${ordinal(history.count)} time since `), time(history.firstAt, now)])];
}

/** The sender's text, and the text of the end where it differs. */
function writeWords(alert: Alert, resolvedBy: Alert | undefined, said: string): Block[] {
  const isRepeated = resolvedBy?.facts.text === alert.facts.text;
  return [alert, ...(resolvedBy === undefined || isRepeated ? [] : [resolvedBy])].flatMap((one) =>
    writeText(one, said),
  );
}

function writeText(alert: Alert, said: string): Block[] {
  const words = wordsOfSender(alert.facts);
  if (alert.origin === "notice") return words === "" ? [] : [paragraph([text(words)])];
  const { format } = alert.facts;
  if (words !== "" && (format === "unreadable" || (format === "broken-json" && /^[{[]/.test(words))))
    return [{ kind: "code", text: words }];
  const [firstLine = "", ...rest] = words.split("\n");
  // Many senders begin the text with the title, and the first line shows part of it.
  const isSaid =
    said.includes(cleanLine(firstLine).toLowerCase()) || cleanLine(firstLine) === cleanLine(alert.facts.title);
  const ownWords = isSaid ? rest.join("\n").trim() : words;
  return ownWords === "" ? [] : [{ ...paragraph([text(ownWords)]), quoted: true }];
}

function writeSmallPrint(alert: Alert, context: MessageContext, publicUrl: string | undefined): Block[] {
  const notes: Inline[][] = [];
  if (matterToReaders(alert.facts, context)) {
    notes.push([text(sentence(writeNotes(alert.facts, context)))]);
  }
  if (context.possibleRepeat) {
    notes.push([text("You may have this twice: the first try got no answer. Alert "), code(alert.id)]);
  }
  if (context.insteadOf !== undefined) {
    const because = cleanLine(context.insteadBecause ?? "");
    const why = because === "" ? `instead of ${cleanLine(context.insteadOf)}` : `because ${because}`;
    notes.push([text(`Sent here ${why}`)]);
  }
  // Setup resends its test to destinations that the routes leave out. For their readers it is new.
  if (isTest(alert, context)) notes.push([text("Test message. No action needed.")]);
  else if (context.purpose === "resend" || context.purpose === "bulk_resend")
    notes.push([text(context.extras?.late === undefined ? "Resent" : "Released: a mute had held it back")]);
  if (publicUrl === undefined && !context.possibleRepeat) notes.push([text("Alert "), code(alert.id)]);
  return notes.map(note);
}

/** The exact place of a JSON mistake interests only people who mend the sender, and the page shows it. */
function writeNotes({ notes, format }: AlertFacts, { detail }: MessageContext): string {
  const all = notes.map((one) => cleanLine(one)).join("; ");
  if (format !== "broken-json" || detail === "full") return all;
  const isCut = /ends (?:too early|inside)|does not end/.test(all);
  return `${isCut ? "the body was cut off" : "the body is broken JSON"}; the page shows it as received`;
}

/** Guesses of the translator are only on the page. An unreadable or cut body concerns everybody. */
function matterToReaders(facts: AlertFacts, { detail }: MessageContext): boolean {
  if (facts.notes.length === 0) return false;
  // Shorter messages say themselves that they are cut.
  const isCut = detail === "full" && (facts.fields.length >= maxFields || (facts.text ?? "").length >= cutTextUnits);
  return ["broken-json", "binary", "unreadable"].includes(facts.format) || isCut;
}

/** The alerts that wait while this one fires as their cause. */
function writeWith({ extras }: MessageContext): Block[] {
  if (extras?.with === undefined) return [];
  const { count, titles } = extras.with;
  const listed = titles.map((title) => clip(cleanLine(title), maxWithUnits)).join("; ");
  const more = count > titles.length ? ` and ${groupThousands(count - titles.length)} more` : "";
  return [paragraph([bold(`With it: ${groupThousands(count)}`), text(` (${listed}${more})`)])];
}

function writeEnding(alert: Alert, publicUrl: string | undefined): Inline[] {
  // A notice links to the page where something can be done.
  const page = alert.origin === "notice" && alert.facts.link ? alert.facts.link : pageOfAlert(publicUrl, alert.id);
  return page === undefined ? [] : [link("Open in Tocsin", page)];
}

function isEmpty(block: Block): boolean {
  if (block.kind === "fields") return block.rows.length === 0;
  return block.kind === "paragraph" && block.inlines.length === 0;
}
