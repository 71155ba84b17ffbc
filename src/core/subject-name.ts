import { cleanLine, cleanText } from "../ground/text/clean.ts";
import type { Alert, AlertFacts, AlertStatus } from "./alert.ts";
import { type FactLine, lockScreenUnits, writeFactLine } from "./fact-line.ts";
import { isAddress, type MetricKeyParts, readMetricKey } from "./metric-key.ts";
import { readFrame, writeTitle } from "./title.ts";

/** A token or a pool, where an alert gives only its address. */
export interface BareSubject {
  kind: "token" | "pool";
  chain: string;
  /** As the sender wrote it. */
  address: string;
}

/** A name that the service gave, and not the sender. */
export interface LearnedName extends BareSubject {
  name: string;
  /** Epoch milliseconds. */
  learnedAt: number;
}

/** The name of a token or pool as known at an instant. */
export type NameOf = (subject: BareSubject, at: number) => string | undefined;

const poolNames = /(?:^|\.)(?:pool(?:[._]?(?:name|symbol|pair))?|trading_?pair|pair)$/i;
const tokenNames = /(?:^|\.)(?:token[._]?(?:symbol|name)|symbol)$/i;

/** A pool's pair or a token's symbol, in the sender's own words. Undefined where there is none. */
export function nameInFacts(
  { token, fields }: Pick<AlertFacts, "token" | "fields">,
  parts: MetricKeyParts | undefined,
): string | undefined {
  const own = token === undefined || isAddress(token) ? "" : cleanLine(token);
  if (own.includes("/")) return own;
  const named = (names: RegExp): string | undefined =>
    fields.find(({ name, value }) => value.length <= 60 && names.test(name) && isName(value))?.value;
  const found = (parts?.kind === "pool" || own === "" ? named(poolNames) : undefined) ?? (own || named(tokenNames));
  return found === undefined || found === "" ? undefined : cleanLine(found);
}

/** Undefined where the alert has a name. */
export function bareSubjectOf(
  facts: Pick<AlertFacts, "token" | "fields" | "metric" | "chain">,
): BareSubject | undefined {
  const parts = facts.metric === undefined ? undefined : readMetricKey(facts.metric);
  return nameInFacts(facts, parts) === undefined ? subjectOf(facts, parts) : undefined;
}

/** The subject of an alert that has no name. */
export function subjectOf(
  { token, chain }: Pick<AlertFacts, "token" | "chain">,
  parts: MetricKeyParts | undefined,
): BareSubject | undefined {
  if (parts !== undefined) return { kind: parts.kind, chain: parts.chain, address: parts.address };
  if (token === undefined || chain === undefined || !isAddress(token)) return undefined;
  return { kind: "token", chain: cleanLine(chain), address: token };
}

function isName(value: string): boolean {
  return /\p{L}/u.test(value) && !isAddress(value.trim());
}

/** `0xa0b8…eb48` */
export function shortAddress(address: string): string {
  return address.length > 14 ? `${address.slice(0, 6)}…${address.slice(-4)}` : cleanLine(address);
}

/**
 * An alert's title for people, in the words of its message's first line. Matching and search use the title as sent.
 * @param learned the name to use instead of the address that it belongs to
 */
export function titleForPeople({ origin, facts }: Pick<Alert, "origin" | "facts">, learned?: LearnedName): string {
  const line = origin === "hook" ? writeFactLine(facts) : undefined;
  const title = sayWhatHappened({ origin, facts }, line, facts.status);
  if (learned === undefined) return title;
  const [lower, { address, name }] = [title.toLowerCase(), learned];
  const shown = [address, shortAddress(address)].find((one) => lower.includes(one.toLowerCase()));
  if (shown === undefined) return title;
  const at = lower.indexOf(shown.toLowerCase());
  return `${title.slice(0, at)}${name}${title.slice(at + shown.length)}`;
}

/** The first line of a message, without symbol and marks. */
export function sayWhatHappened(
  alert: Pick<Alert, "origin" | "facts">,
  line: FactLine | undefined,
  status: AlertStatus,
): string {
  return (status === "resolved" && line?.over) || (line?.title ?? withWords(writeTitle(alert.facts), alert, status));
}

/** A title this short is only the name of a thing, such as "ETH RPC" or "vault API". */
const maxBareNameUnits = 32;
const maxBareNameWords = 3;

/** Adds the sender's text to a bare name, where both fit on a lock screen. */
function withWords(title: string, { origin, facts }: Pick<Alert, "origin" | "facts">, status: AlertStatus): string {
  const { name, place } = readFrame(cleanLine(facts.title), facts.status) ?? { name: title, place: "" };
  const isBareName = name.length <= maxBareNameUnits && name.split(" ").length <= maxBareNameWords;
  if (!isBareName || origin !== "hook" || status === "resolved" || !isOfWords(facts)) return title;
  const said = cleanLine(wordsOfSender(facts).split("\n", 1)[0] ?? "");
  const words = said.toLowerCase().includes(name.toLowerCase()) ? said : `${name}: ${said}`;
  const whole = place === "" || words.includes(place) ? words : `${words} (${place})`;
  return said === "" || whole.length > lockScreenUnits ? title : whole;
}

/** Without Datadog's marks for markdown, and Uptime Kuma's brackets round name and state. */
export function wordsOfSender({ text = "", title }: Pick<AlertFacts, "text" | "title">): string {
  const words = cleanText(text);
  const plain = words.includes("%%%") ? words.replace(/^[ \t]*%%%[ \t]*$/gm, "") : words;
  const name = `[${title}] [`;
  if (!plain.startsWith(name)) return plain.trim();
  const behind = plain.slice(name.length);
  const [frame, state] = /^\S{1,4} (Down|Up)\] /.exec(behind) ?? [];
  if (frame === undefined || state === undefined) return plain.trim();
  return `${title} is ${state.toLowerCase()}: ${behind.slice(frame.length)}`.trim();
}

/** Whether the text is the sender's own words. In other formats it is the body as it came. */
function isOfWords({ format }: AlertFacts): boolean {
  return format !== "unreadable" && format !== "broken-json";
}
