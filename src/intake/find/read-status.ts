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

/** Names of kinds of events. In `alert.resolved` only the last word may be a status. */
const eventNames = new Set(["type", "event", "eventtype", "action", "eventaction", "messagetype"]);

/** Apprise's kind of notification (`info`, `success`, `warning`, `failure`). It is a severity, but `success` means resolved. */
export function isKindOfNotification(name: string, word: string): boolean {
  return /^(?:message)?type$/.test(name) && /^(?:info|success|warning|failure)$/.test(word);
}

/** Undefined: no status, as "pending" and "no data". `names`: the normalised names on the way to the value. */
export function readStatus(text: string, names: string[]): AlertStatus | undefined {
  const name = names.at(-1) ?? "";
  const word = wordOf(text);
  if (word === "true" || word === "false") return readFlag(name, word === "true");
  // Uptime Kuma's 0 is down, 1 is up.
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

/** Words that count without a colon or brackets after them: "CRITICAL USDC pool: TVL fell". */
const shouted = wordSet("CRITICAL WARNING WARN INFO FATAL ERROR EMERGENCY FIRING TRIGGERED RESOLVED RECOVERED");

interface Tag {
  word: string;
  /** Where the rest of the title begins. */
  end: number;
}

/** A tag must end within this many characters. `maxTags`: how many tags are removed. */
const maxTagEnd = 120;
const maxTags = 8;

/** Reads up to eight signs, then "[FIRING:2]", "(critical)" or "Resolved:". As one pattern it froze on 8 KB of spaces. */
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

/** "FIRING" in "FIRING:2", "no data" in " 🔥 no data ". */
function wordInBrackets(inside: string): string | undefined {
  const signs = /^[^\p{L}\p{N}]*/u.exec(inside)?.[0] ?? "";
  if (signs.trimStart().length > 12) return undefined;
  const said = inside.slice(signs.length).trimEnd();
  const count = said.lastIndexOf(":");
  const word = count !== -1 && /^\s*\d+$/.test(said.slice(count + 1)) ? said.slice(0, count).trimEnd() : said;
  return /^[\p{L} ]{2,24}$/u.test(word) ? word : undefined;
}

/** The word in front of a title: "[FIRING:2] TVL fell", "✅ Resolved: TVL fell", "(critical) TVL fell". */
export function leadingWord(title: string): string | undefined {
  return readTag(title)?.word.toLowerCase();
}

/** In front of a title these often name a move or an event of the market ("Up: ETH above 4,000"), and no recovery. */
const doubtfulWords = new Set(["up", "close", "closed", "clear", "normal", "ended", "online", "fixed"]);

/** A word with two meanings gives no status: a wrong "resolved" would make no sound. */
export function statusOfLeadingWord(word: string): AlertStatus | undefined {
  const letters = word.replace(/[^a-z]+/g, "");
  return word === "alert" || doubtfulWords.has(letters) ? undefined : statusOfWord.get(letters);
}

/** Firing and resolving alerts then share the title. */
export function withoutStatus(title: string): string {
  let rest = title;
  for (let tags = 0; tags < maxTags; tags += 1) {
    const tag = readTag(rest);
    if (tag === undefined || !statusOfWord.has(tag.word.toLowerCase().replace(/[^a-z]+/g, ""))) break;
    rest = rest.slice(tag.end).trimStart();
  }
  return rest === "" ? title : rest;
}

/** Last words of a sentence about something over. Few, as an alert taken for resolved by mistake wakes nobody. */
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
/** These count only after a separator: "USDC total TVL: recovered". "Funds recovered" may mean anything. */
const shortEndings = ["recovered", "resolved"];
/** With these it is not over: "paused until the price is back to normal". "before 26.1" is a previous value. */
const stillOpen =
  /\b(?:not|never|yet|until|till|once|when|if|unless|before(?! ?[$€£¥₿\d])|while|will|must|should)\b|n't\b/i;

/** Drops last words that say that it is over ("…: back to normal", "… has recovered"). Undefined where a title has none. */
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
