import { withoutGroups } from "../ground/numbers/decimal.ts";
import { writeChange, writeShortNumber } from "../ground/numbers/format-number.ts";
import { cleanLine, isolate } from "../ground/text/clean.ts";
import { cut } from "../ground/text/graphemes.ts";
import {
  type AlertFacts,
  changeInTitle,
  limitsChange,
  sideInTitle,
  sideOfCondition,
  sideOfThreshold,
} from "./alert.ts";
import { type MetricKeyParts, readMetricKey, wordsOfMeasure } from "./metric-key.ts";
import { type BareSubject, nameInFacts, shortAddress, subjectOf } from "./subject-name.ts";
import { readFrame, writeTitle } from "./title.ts";

/** Characters of a message that a locked phone shows after the chat's name. */
export const lockScreenUnits = 110;
const maxNameUnits = 40;
/** A longer number is left to the line below. Cut, it would be another number. */
const maxNumberUnits = 30;

export interface FactLine {
  /** `ONYX504 pool TVL 18,623 USD, −8.2 %, below 19,000 (polygon)`, or the sender's title with such facts. */
  title: string;
  /** For a resolved alert: `ONYX504 pool TVL back above 19,000 (20,001 USD, polygon)`. Empty where `title` is the sender's. */
  over: string;
  /** Equal for all alerts of a key, as mail programs join messages by it: `ONYX504 pool TVL below 19,000 (polygon)`. */
  steady: string;
  /** The subject, where its name is not the sender's but was learned elsewhere. */
  learned?: BareSubject;
}

/** Finds a name for a token or pool, where the sender gives only its address. */
export type SubjectName = (subject: BareSubject) => string | undefined;

/** `4812345.67`, `$1,200`, `101.2%`, `3.2M`. Any other text of a sender is not used as a number. */
const amountLike = /^[+-]?[$€£¥₿]?\d[\d.,]{0,58}(?:[eE][+-]?\d{1,3})?[ ]?[a-zA-Z%]{0,8}$/;

interface Subject {
  name: string;
  learned?: BareSubject;
  measure: string;
  chain: string;
  parts?: MetricKeyParts;
  /** The limit of a change that the title names: `2.5` of "moved 2.5 % or more". */
  moved?: string;
}

/** Writes an alert's first line from its facts. Undefined where they are too few: the sender's title is then used. */
export function writeFactLine(facts: AlertFacts, nameOf?: SubjectName): FactLine | undefined {
  const { value, format } = facts;
  if (value === undefined || format === "broken-json" || !amountLike.test(value)) return undefined;
  const sent = cleanLine(facts.title);
  const subject = readSubject(facts, sent, nameOf);
  const { learned } = subject;
  const numbers = writeNumbers(withPlainNumbers(facts), subject.moved);
  if (numbers === undefined) return undefined;
  if (saysMore(sent, subject, facts)) {
    return { title: addToTitle(subject, facts, numbers), over: "", steady: writeTitle(facts), learned };
  }
  const what = [subject.name, subject.measure]
    .filter((part) => part !== "")
    .map(isolate)
    .join(" ");
  if (what === "") return undefined;
  const chain = isolate(subject.chain);
  const place = chain === "" ? "" : ` (${chain})`;
  const { amount, change, limit, side, sideOfAlert, condition, changeLimit } = numbers;
  const limited = limit === "" ? "" : side === undefined ? `, limit ${limit}` : `, ${side} ${limit}`;
  const moved = changeLimit === undefined ? "" : `, limit ${changeLimit} %`;
  const isBack = side !== undefined && sideOfAlert !== undefined && side !== sideOfAlert;
  // Some senders repeat the value that fired. The line must not say that this value is back within the limit.
  const limitNow = side !== undefined && sideOfAlert === undefined ? `, limit ${limit}` : limited;
  const backTo = isBack ? `back ${side} ${limit} (${[amount, chain].filter(Boolean).join(", ")})` : undefined;
  const limitAlone = limit === "" ? "" : condition === undefined ? `, limit ${limit}` : ` ${condition} ${limit}`;
  const moves = changeLimit === undefined ? "" : ` moved ${changeLimit} %`;
  return {
    title: `${what} ${amount}${change}${limited}${moved}${place}`,
    over: `${what} ${backTo ?? `${amount}${limitNow}${place}`}`,
    steady: `${what}${limitAlone}${moves}${place}`,
    learned,
  };
}

/** Removes commas between digits, so that all numbers are compared in one way. */
export function withPlainNumbers<T extends Partial<Pick<AlertFacts, "value" | "previousValue" | "threshold">>>(
  facts: T,
): T {
  const hasGroups = (sent: string | undefined) => sent?.includes(",") === true;
  const plain = (sent: string | undefined) => (hasGroups(sent) ? withoutGroups(cleanLine(sent ?? "")) : sent);
  const { value, previousValue, threshold } = facts;
  if (![value, previousValue, threshold].some(hasGroups)) return facts;
  return { ...facts, value: plain(value), previousValue: plain(previousValue), threshold: plain(threshold) };
}

type Side = "below" | "above";

interface Numbers {
  /** `24.32 M USD`. */
  amount: string;
  /** `, −3.2 %`, or empty. */
  change: string;
  /** Empty without a threshold, or where it cannot be compared with the value. */
  limit: string;
  /** The side of the limit on which the value is now. */
  side?: Side;
  /** The side of the limit on which the alert fires, where that is certain. `condition`: only as the sender's condition says. */
  sideOfAlert?: Side;
  condition?: Side;
  /** The limit in percent, where it is for a change. */
  changeLimit?: string;
}

/** Undefined where a number is too long for a first line. */
function writeNumbers(facts: AlertFacts, moved: string | undefined): Numbers | undefined {
  const { previousValue } = facts;
  const [value, threshold] = [cleanLine(facts.value ?? ""), cleanLine(facts.threshold ?? "")];
  const unit = cleanLine(facts.unit ?? "");
  const isPercent = unit === "%";
  const shown = (number: string): string => writeShortNumber(number, { besides: [value, threshold] });
  const [shownValue, shownThreshold] = [shown(value), shown(threshold)];
  if (shownValue.length > maxNumberUnits || shownThreshold.length > maxNumberUnits) return undefined;
  const named = isPercent ? " %" : unit === "" || unit.length > 12 ? "" : ` ${isolate(unit)}`;
  const amount = `${shownValue}${named}`;
  // A change in percent of a percentage confuses a reader who has just been woken.
  const share = isPercent || previousValue === undefined ? undefined : writeChange(cleanLine(previousValue), value);
  const change = share === undefined ? "" : `, ${share}`;
  if (moved !== undefined) return { amount, change, limit: "", changeLimit: moved };
  if (threshold === "") return { amount, change, limit: "" };
  if (limitsChange(facts))
    return { amount, change, limit: "", changeLimit: isInPercent(facts) ? threshold : undefined };
  // Where value and threshold cannot be compared, the title may name the side: "is 24.3M, below 25,000,000".
  const isComparable = decimalLike.test(value) && decimalLike.test(threshold);
  const said = isComparable || facts.status === "resolved" ? undefined : sideInTitle(facts);
  const side = sideOfThreshold(facts) ?? said;
  const condition = sideOfCondition(facts);
  const sideOfAlert = condition ?? (facts.status === "resolved" ? sideBefore(facts, side) : side);
  return { amount, change, limit: `${isolate(shownThreshold)}${isPercent ? " %" : ""}`, side, sideOfAlert, condition };
}

const decimalLike = /^[+-]?[\d.]+(?:e[+-]?\d+)?$/i;

/** The side of the previous value, if it differs from `side`. */
function sideBefore(facts: AlertFacts, side: Side | undefined): Side | undefined {
  if (facts.previousValue === undefined || side === undefined) return undefined;
  const before = sideOfThreshold({ ...facts, value: facts.previousValue });
  return before === side ? undefined : before;
}

/** Whether the threshold is a percentage: "change_percent", 2.5. */
function isInPercent({ fields, threshold = "" }: AlertFacts): boolean {
  return (
    /^\d{1,6}(?:\.\d{1,6})?$/.test(threshold) && fields.some(({ value }) => /^\w{0,20}(?:percent|pct)/i.test(value))
  );
}

/** Adds facts that the sender's title leaves out: `Depeg: USDX price 0.9712 USD, −2.8 %, below 0.98 (arbitrum)`. */
function addToTitle(subject: Subject, facts: AlertFacts, numbers: Numbers): string {
  const title = writeTitle(facts);
  const framed = readFrame(cleanLine(facts.title), facts.status);
  const { amount, change, limit, side } = numbers;
  const { threshold, previousValue, unit, metric } = facts;
  // A number alone, without threshold, previous value, unit or metric, explains nothing in a title. The line below shows it.
  if ((threshold ?? previousValue ?? unit ?? metric) === undefined) return title;
  const said = title.toLowerCase();
  const says = (part: string): boolean => part === "" || said.includes(part.toLowerCase());
  if (says(cleanLine(facts.value ?? "")) || says(amount.split(" ", 1)[0] ?? "")) return title;
  const name = says(subject.name) ? "" : `${isolate(subject.name)} `;
  const measure = says(subject.measure) ? "" : `${isolate(subject.measure)} `;
  const isLimitSaid = says(cleanLine(threshold ?? "")) || says(limit);
  const limited = limit === "" || side === undefined || isLimitSaid ? "" : `, ${side} ${limit}`;
  const places = [framed?.place ?? "", says(subject.chain) ? "" : subject.chain].filter(Boolean).map(isolate);
  const place = places.length === 0 ? "" : ` (${places.join(", ")})`;
  const whole = `${isolate(withoutEnd(framed?.name ?? title))}: ${name}${measure}${amount}${change}${limited}${place}`;
  return whole.length > lockScreenUnits ? title : whole;
}

function withoutEnd(title: string): string {
  let end = title.length;
  while (end > 1 && ".:;,-' ".includes(title.charAt(end - 1))) end -= 1;
  return title.slice(0, end);
}

function readSubject(facts: AlertFacts, title: string, nameOf: SubjectName | undefined): Subject {
  const parts = facts.metric === undefined ? undefined : readMetricKey(facts.metric);
  const { name, learned } = readName(facts, parts, nameOf);
  return {
    name,
    learned,
    measure: cut(readMeasure(facts, parts), maxNameUnits),
    chain: chainOf(facts, parts),
    parts,
    moved: changeInTitle(title),
  };
}

function chainOf(facts: AlertFacts, parts: MetricKeyParts | undefined): string {
  const chain = cleanLine(facts.chain ?? parts?.chain ?? "");
  // A number ("1") is a wallet's id of a chain. People do not know it.
  return /\p{L}/u.test(chain) && chain.length <= 20 ? chain : "";
}

/** The measure and chain by which alerts are counted. Empty where the alert names none. */
export function placeOf(facts: AlertFacts): { measure: string; chain: string } {
  const parts = facts.metric === undefined ? undefined : readMetricKey(facts.metric);
  const measure = readMeasure(facts, parts);
  return { measure: measure.length > maxNameUnits ? "" : measure, chain: chainOf(facts, parts) };
}

/** A pool's pair or a token's symbol. Otherwise the name that was learned for the address, or the short address. */
function readName(
  facts: AlertFacts,
  parts: MetricKeyParts | undefined,
  nameOf: SubjectName | undefined,
): Pick<Subject, "name" | "learned"> {
  const own = nameInFacts(facts, parts);
  if (own !== undefined) return { name: cut(own, maxNameUnits) };
  const subject = nameOf === undefined ? undefined : subjectOf(facts, parts);
  const name = subject && nameOf?.(subject);
  if (name !== undefined) return { name: cut(name, maxNameUnits), learned: subject };
  return { name: shortAddress(facts.token ?? parts?.address ?? "") };
}

const quantityNames = /(?:price|tvl|volume|amount|ratio|rate)$/i;

function readMeasure({ metric, fields, value }: AlertFacts, parts: MetricKeyParts | undefined): string {
  if (parts !== undefined) {
    // "Total" adds nothing: a token or pool has only one TVL.
    const words = wordsOfMeasure(parts.measure).replace(/^total (?=.)/, "");
    return parts.kind === "pool" ? `pool ${words}`.trim() : words;
  }
  if (metric !== undefined && /\p{L}/u.test(metric)) return wordsOfMeasure(cleanLine(metric));
  const name = fields.find((field) => field.value === value && quantityNames.test(field.name))?.name ?? "";
  return (quantityNames.exec(name)?.[0] ?? "").toLowerCase();
}

/** Words between names and numbers that add nothing to the facts. */
const littleWords = new Set(
  `a an the of on in at to for from with by than and or more is are was were be has have had its it now then before
  after again back normal below above under over beneath beyond down up fell fall falls fallen falling rose rise rises risen
  rising dropped drop drops dropping exceeded exceeds exceed exceeding crossed crosses crossing moved moves went goes left
  returned threshold limit alert alarm warning critical info information notice urgent high firing fired triggered active
  resolved recovered ok closed ended problem current value total token metric usd min h`.split(/\s+/),
);

/** With these words a number in a title is not the value, unless the limit is for a change. */
const wordsOfChange = new Set(["change", "changed", "percent", "pct"]);

/** "Pool A" and "Tranche H" are names, "A pool" and "24 h" are not. */
const nameOfOneLetter = /[a-z] [AH](?![\p{L}\d-])/u;

/** Whether a title says more than the facts and their names, or contradicts them. */
function saysMore(title: string, subject: Subject, facts: AlertFacts): boolean {
  const compared = sideOfThreshold({ ...facts, status: "resolved" });
  if (facts.status !== "resolved" && compared !== undefined && (sideInTitle(facts) ?? compared) !== compared)
    return true;
  if (makesAnotherNumber(title, facts) || nameOfOneLetter.test(title)) return true;
  const names = `${subject.name} ${subject.measure} ${subject.chain} ${facts.token ?? ""} ${facts.metric ?? ""} ${facts.unit ?? ""}`;
  // The title's "24h volume" means "24 h volume".
  const known = new Set(wordsOf(`${names} ${subject.measure.replace("24 h", "24h")}`.toLowerCase(), isOfName));
  const address = subject.parts?.address ?? facts.token ?? "";
  const isOfChange = limitsChange(facts);
  const isKnown = (word: string): boolean =>
    littleWords.has(word) || known.has(word) || (isOfChange && wordsOfChange.has(word));
  const numbers = [facts.value, facts.previousValue, facts.threshold, subject.moved].map(bareNumber);
  const words = wordsOf(title.toLowerCase(), isOfWord);
  return !words.every((sent) => {
    const word = withoutEnd(sent);
    if (isKnown(word) || numbers.includes(bareNumber(word))) return true;
    if (word.startsWith("0x")) return address.toLowerCase().startsWith(word.slice(0, 6));
    return wordsOf(word, isOfName).every(isKnown);
  });
}

const percentBehind = /^ ?(?:%|percent\b|pct\b|bps\b)/i;
const motionBefore =
  /\b(?:by|down|up|fell|rose|dropped|gained|lost|increased|decreased|climbed|slipped|jumped) [$€£]?[+−-]?$/i;

/** Whether the title reads as if the value were a percentage or a change, which it is not: "price down 5%". */
function makesAnotherNumber(title: string, { value = "", unit = "" }: AlertFacts): boolean {
  if (value === "" || cleanLine(unit) === "%") return false;
  for (let at = title.indexOf(value); at !== -1; at = title.indexOf(value, at + value.length)) {
    const [before, behind] = [title.slice(Math.max(0, at - 20), at), title.slice(at + value.length)];
    if (/[\d.,]$/.test(before) || /^[.,]?\d/.test(behind)) continue;
    if (percentBehind.test(behind) || motionBefore.test(before)) return true;
  }
  return false;
}

/** One loop without regular expressions: the titles of all alerts go through it. */
function wordsOf(text: string, isPart: (code: number) => boolean): string[] {
  const words: string[] = [];
  let start = -1;
  for (let at = 0; at <= text.length; at += 1) {
    const isIn = at < text.length && isPart(text.charCodeAt(at));
    if (isIn && start === -1) start = at;
    if (isIn || start === -1) continue;
    words.push(text.slice(start, at));
    start = -1;
  }
  return words;
}

/** Small letters, digits, and letters of other scripts. */
function isOfName(code: number): boolean {
  if (code < 0xc0) return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39);
  return code < 0x2000 || (code > 0x2bff && code < 0xd800) || (code > 0xf8ff && code < 0xfe00);
}

const wordSigns = new Set([0x2026, 0x2212]);

/** Letters and digits, and the signs in a number, an address or a compound: `$ + , - . ' … −`. */
function isOfWord(code: number): boolean {
  return isOfName(code) || code === 0x24 || code === 0x27 || (code > 0x2a && code < 0x2f) || wordSigns.has(code);
}

/** `$5,000,000` → `5000000`. */
function bareNumber(sent: string | undefined): string {
  if (sent === undefined) return "";
  let bare = sent.toLowerCase();
  if (bare.includes(",")) bare = bare.replaceAll(",", "");
  return "$€£".includes(bare.charAt(0)) ? bare.slice(1) : bare;
}
