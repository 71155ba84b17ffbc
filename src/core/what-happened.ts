import { cleanLine, cleanText } from "../ground/text/clean.ts";
import type { Alert, AlertFacts, AlertStatus } from "./alert.ts";
import { type FactLine, lockScreenUnits, writeFactLine } from "./fact-line.ts";
import { type LearnedName, shortAddress } from "./subject-name.ts";
import { readFrame, writeTitle } from "./title.ts";

/**
 * What an alert is called on pages, in the API and in lists: the words of the first line of its message, so that a reader who
 * comes from there finds the same. The title as sent stays what it is matched, searched and known by.
 *
 * @param learned stands in place of the address that it names, whole or short, also where the name was learned since
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

/** The first line of a message, without its symbol and marks. */
export function sayWhatHappened(
  alert: Pick<Alert, "origin" | "facts">,
  line: FactLine | undefined,
  status: AlertStatus,
): string {
  return (status === "resolved" && line?.over) || (line?.title ?? withWords(writeTitle(alert.facts), alert, status));
}

/** A name of so few letters and words says what it is about and not what has happened: "ETH RPC", "vault API". */
const maxBareNameUnits = 32;
const maxBareNameWords = 3;

/** A bare name with what the sender's text says of it, where both have room on a lock screen. */
function withWords(title: string, { origin, facts }: Pick<Alert, "origin" | "facts">, status: AlertStatus): string {
  const { name, place } = readFrame(cleanLine(facts.title), facts.status) ?? { name: title, place: "" };
  const isBareName = name.length <= maxBareNameUnits && name.split(" ").length <= maxBareNameWords;
  if (!isBareName || origin !== "hook" || status === "resolved" || !isOfWords(facts)) return title;
  const said = cleanLine(wordsOfSender(facts).split("\n", 1)[0] ?? "");
  const words = said.toLowerCase().includes(name.toLowerCase()) ? said : `${name}: ${said}`;
  const whole = place === "" || words.includes(place) ? words : `${words} (${place})`;
  return said === "" || whole.length > lockScreenUnits ? title : whole;
}

/** What the sender wrote, without Datadog's marks for markdown and Uptime Kuma's brackets round name and state. */
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

/** Otherwise the text is the body as it came. */
function isOfWords({ format }: AlertFacts): boolean {
  return format !== "unreadable" && format !== "broken-json";
}
