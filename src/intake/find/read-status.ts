import type { AlertStatus } from "../../core/alert.ts";
import { mapWords, wordOf, wordSet } from "../../ground/text/plain-text.ts";

const meanings: Readonly<Record<"firing" | "resolved", string>> = {
  firing: `firing fire fired alert alerting alarm alarming trigger triggered retriggered triggering open opened reopened
    active activated problem down critical crit warning warn error breached breach exceeded failed failing failure
    unhealthy degraded started ongoing unresolved inalarm offline acknowledge acknowledged acked`,
  resolved: `resolved resolve resolving ok okay recovered recovery recover normal normalized backtonormal up closed close
    cleared clear inactive deactivated healthy fixed restored ended online nolongerfiring nolongertriggered`,
};

const statusOfWord = mapWords(meanings);

/** Names whose value is a kind of event, where only the last word may be a status: `alert.resolved`. */
const eventNames = new Set(["type", "event", "eventtype", "action", "eventaction", "messagetype"]);

/**
 * Whether a name and its value are a kind of notification as Apprise has it (`info`, `success`, `warning`, `failure`):
 * a severity, but for `success`, which is an end.
 */
export function isKindOfNotification(name: string, word: string): boolean {
  return /^(?:message)?type$/.test(name) && /^(?:info|success|warning|failure)$/.test(word);
}

/**
 * `names` are the normalised names that lead to the value. Undefined: it names no status; so do words like "pending"
 * and "no data", which are neither.
 */
export function readStatus(text: string, names: string[]): AlertStatus | undefined {
  const name = names.at(-1) ?? "";
  const word = wordOf(text);
  if (word === "true" || word === "false") return readFlag(name, word === "true");
  // Uptime Kuma counts: 0 is down, 1 is up.
  if (names.at(-2) === "heartbeat" && /^[01]$/.test(word)) return word === "0" ? "firing" : "resolved";
  if (word === "success" && isKindOfNotification(name, word)) return "resolved";
  if (eventNames.has(name)) return readEventKind(word);
  return (
    statusOfWord.get(word.replace(/[^a-z]+/g, "")) ?? statusOfWord.get(/^[a-z]+(?=\s*[:([-])/.exec(word)?.[0] ?? "")
  );
}

function readFlag(name: string, flag: boolean): AlertStatus | undefined {
  if (/resolved|recovered/.test(name)) return flag ? "resolved" : "firing";
  if (/firing|triggered/.test(name)) return flag ? "firing" : "resolved";
  return undefined;
}

function readEventKind(kind: string): AlertStatus | undefined {
  const last = kind.split(/[^a-z]+/).at(-1) ?? "";
  // "metric.alert" and "price.up" name a subject, not a state.
  return last === "alert" || last === "up" || last === "down" ? undefined : statusOfWord.get(last);
}

/** Words that stand in capitals before a title without a colon or brackets: "CRITICAL USDC pool: TVL fell". */
const shouted = wordSet("CRITICAL WARNING WARN INFO FATAL ERROR EMERGENCY FIRING TRIGGERED RESOLVED RECOVERED");

interface Tag {
  word: string;
  /** Where the rest of the title begins. */
  end: number;
}

/** A tag stands within this many characters, and this many tags are looked for. */
const maxTagEnd = 120;
const maxTags = 8;

/**
 * Up to eight signs, then "[FIRING:2]", "(critical)", "Resolved:" or one of the shouted words. Each step reads on from
 * where the one before it ended, and none looks back: all of it together was one pattern once, and 8 KB of spaces froze
 * it for ever.
 */
function readTag(title: string): Tag | undefined {
  const head = title.slice(0, maxTagEnd);
  const start = /^[a-z]/i.test(head) ? 0 : (/^[^\p{L}\p{N}[(]{0,8}/u.exec(head)?.[0].length ?? 0);
  const rest = head.slice(start);
  const inside = /^[[(]([^\])]*)[\])]/.exec(rest);
  if (inside !== null) {
    const word = wordInBrackets(inside[1] ?? "");
    return word === undefined ? undefined : { word, end: start + inside[0].length };
  }
  const word = /^\p{L}{2,24}(?!\p{L})/u.exec(rest)?.[0];
  if (word === undefined) return undefined;
  const behind = rest.slice(word.length);
  const colon = /^\s*:(?!\S)/.exec(behind)?.[0];
  if (colon !== undefined) return { word, end: start + word.length + colon.length };
  return shouted.has(word) && /^\s+\S/.test(behind) ? { word, end: start + word.length } : undefined;
}

/** "FIRING" of "FIRING:2", "no data" of " 🔥 no data ". */
function wordInBrackets(inside: string): string | undefined {
  const signs = /^[^\p{L}\p{N}]*/u.exec(inside)?.[0] ?? "";
  if (signs.trimStart().length > 12) return undefined;
  const said = inside.slice(signs.length).trimEnd();
  const count = said.lastIndexOf(":");
  const word = count !== -1 && /^\s*\d+$/.test(said.slice(count + 1)) ? said.slice(0, count).trimEnd() : said;
  return /^[\p{L} ]{2,24}$/u.test(word) ? word : undefined;
}

/**
 * The word in front of a title, as in "[FIRING:2] TVL fell", "✅ Resolved: TVL fell" or "(critical) TVL fell"; without
 * it, undefined.
 */
export function leadingWord(title: string): string | undefined {
  return readTag(title)?.word.toLowerCase();
}

/** In front of a title these name a move or an event of the market ("Up: ETH above 4,000") as often as a recovery. */
const doubtfulWords = new Set(["up", "close", "closed", "clear", "normal", "ended", "online", "fixed"]);

/**
 * The status that a leading word names, if it does. What counts as resolved rings no phone, so a word that may mean
 * something else names none.
 */
export function statusOfLeadingWord(word: string): AlertStatus | undefined {
  const letters = word.replace(/[^a-z]+/g, "");
  return word === "alert" || doubtfulWords.has(letters) ? undefined : statusOfWord.get(letters);
}

/** A title without its leading status words, so that firing and resolved share it. */
export function withoutStatus(title: string): string {
  let rest = title;
  for (let tags = 0; tags < maxTags; tags += 1) {
    const tag = readTag(rest);
    if (tag === undefined || !statusOfWord.has(tag.word.toLowerCase().replace(/[^a-z]+/g, ""))) break;
    rest = rest.slice(tag.end).trimStart();
  }
  return rest === "" ? title : rest;
}

/**
 * How a sentence ends when the thing is over, as its last words. Few, because a resolution rings nobody: what is taken
 * for one by mistake is not heard.
 */
const endings = [
  "back to normal",
  "is normal again",
  "is normal",
  "is back online",
  "has recovered",
  "have recovered",
  "is recovered",
  "has been resolved",
  "is resolved",
];
/** These alone, after a separator: "USDC total TVL: recovered". "Funds recovered" may be anything. */
const shortEndings = ["recovered", "resolved"];
/** "paused until the price is back to normal", "is not resolved": it is not over. "before 26.1" is a former value. */
const stillOpen =
  /\b(?:not|never|yet|until|till|once|when|if|unless|before(?! ?[$€£¥₿\d])|while|will|must|should)\b|n't\b/i;

/**
 * A title without words at its end that say it is over ("…: back to normal", "… has recovered"); undefined without
 * them.
 */
export function withoutEnding(title: string): string | undefined {
  const sentence = title.slice(0, 400).replace(/[\s.!✅)\]]{1,8}$/u, "");
  const lower = sentence.toLowerCase();
  for (const ending of [...endings, ...shortEndings]) {
    if (!lower.endsWith(ending)) continue;
    const rest = sentence.slice(0, sentence.length - ending.length);
    const isSeparate = /[:,;([–—-]\s?$/.test(rest);
    if (!isSeparate && (shortEndings.includes(ending) || !/\s$/.test(rest))) continue;
    if (stillOpen.test(rest)) continue;
    const kept = rest.replace(/[\s:,;([–—-]{1,4}$/, "");
    if (/[\p{L}\p{N}]/u.test(kept)) return kept;
  }
  return undefined;
}
