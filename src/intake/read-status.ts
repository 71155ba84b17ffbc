import type { AlertStatus } from "../core/alert.ts";

const meanings: Readonly<Record<"firing" | "resolved", string>> = {
  firing: `firing fire fired alert alerting alarm alarming trigger triggered retriggered triggering open opened reopened
    active activated problem down critical crit warning warn error breached breach exceeded failed failing failure
    unhealthy degraded started ongoing unresolved inalarm offline`,
  resolved: `resolved resolve resolving ok okay recovered recovery recover normal normalized backtonormal up closed close
    cleared clear inactive deactivated healthy fixed restored ended online nolongerfiring nolongertriggered`,
};

const statusOfWord = new Map<string, AlertStatus>(
  (Object.entries(meanings) as [AlertStatus, string][]).flatMap(([status, list]) =>
    list
      .trim()
      .split(/\s+/)
      .map((word): [string, AlertStatus] => [word, status]),
  ),
);

/** Names whose value is a kind of event, of which only the last word may tell a status: `alert.resolved`. */
const eventNames = new Set(["type", "event", "eventtype", "action", "eventaction"]);

/**
 * `names` are the normalised names that lead to the value. Undefined: it tells no status; so do words like "pending" and
 * "no data", which are neither.
 */
export function readStatus(text: string, names: string[]): AlertStatus | undefined {
  const name = names.at(-1) ?? "";
  const word = text.trim().toLowerCase();
  if (word === "true" || word === "false") return readFlag(name, word === "true");
  // Uptime Kuma counts: 0 is down, 1 is up.
  if (names.at(-2) === "heartbeat" && /^[01]$/.test(word)) return word === "0" ? "firing" : "resolved";
  if (eventNames.has(name)) return readEventKind(word);
  return (
    statusOfWord.get(word.replace(/[^a-z]+/g, "")) ??
    statusOfWord.get(/^[a-z]+(?=\s*[:([-])/.exec(word)?.[0] ?? "")
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
const shouted = "CRITICAL|WARNING|WARN|INFO|FATAL|ERROR|EMERGENCY|FIRING|TRIGGERED|RESOLVED|RECOVERED";

const leadingTag = new RegExp(
  String.raw`^[^\p{L}\p{N}[(]{0,8}(?:[[(]\s*[^\p{L}\p{N}\])]{0,6}([\p{L} ]{2,24}?)(?:\s*:\s*\d+)?\s*[\])]|(\p{L}{2,24})\s*:(?!\S)|(${shouted})(?=\s+\S))`,
  "u",
);

/** The word in front of a title, as in "[FIRING:2] TVL fell", "✅ Resolved: TVL fell" or "(critical) TVL fell"; without it, undefined. */
export function leadingWord(title: string): string | undefined {
  const match = leadingTag.exec(title);
  return (match?.[1] ?? match?.[2] ?? match?.[3])?.trim().toLowerCase();
}

/** In front of a title these name a move or an event of the market ("Up: ETH above 4,000") as often as a recovery. */
const doubtfulWords = new Set(["up", "close", "closed", "clear", "normal", "ended", "online", "fixed"]);

/**
 * The status that a leading word tells, if it does. What counts as resolved rings no phone, so a word that may mean
 * something else tells none.
 */
export function statusOfLeadingWord(word: string): AlertStatus | undefined {
  const letters = word.replace(/[^a-z]+/g, "");
  return word === "alert" || doubtfulWords.has(letters) ? undefined : statusOfWord.get(letters);
}

/** A title without its leading status words, so that firing and resolved share it. */
export function withoutStatus(title: string): string {
  let rest = title;
  for (let word = leadingWord(rest); word !== undefined && statusOfWord.has(word.replace(/[^a-z]+/g, "")); ) {
    rest = rest.replace(leadingTag, "").trimStart();
    word = leadingWord(rest);
  }
  return rest === "" ? title : rest;
}

/** How a sentence ends when the thing is over, as its last words. */
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
  "has cleared",
  "has been cleared",
];
/** These alone, after a separator: "USDC total TVL: recovered". "Funds recovered" may be anything. */
const shortEndings = ["recovered", "resolved", "cleared", "ok"];

/** A title without words at its end that say it is over ("…: back to normal", "… has recovered"); undefined without them. */
export function withoutEnding(title: string): string | undefined {
  const sentence = title.slice(0, 400).replace(/[\s.!✅)\]]{1,8}$/u, "");
  const lower = sentence.toLowerCase();
  for (const ending of [...endings, ...shortEndings]) {
    if (!lower.endsWith(ending)) continue;
    const rest = sentence.slice(0, sentence.length - ending.length);
    const isSeparate = /[:,;([–—-]\s?$/.test(rest);
    if (!isSeparate && (shortEndings.includes(ending) || !/\s$/.test(rest))) continue;
    // "is not back to normal"
    if (/\bnot\s$|n't\s$/i.test(rest)) continue;
    const kept = rest.replace(/[\s:,;([–—-]{1,4}$/, "");
    if (/[\p{L}\p{N}]/u.test(kept)) return kept;
  }
  return undefined;
}
