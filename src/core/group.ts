import { oneLine } from "../ground/text/clean.ts";
import type { AlertStatus, Severity } from "./alert.ts";
import { hashText } from "./secret.ts";

/** What an alert may wait for at its destination: others of its group, or the end of its cause. Names are those of `nameGroup`. */
export interface GroupRule {
  group?: {
    name: string;
    /** Milliseconds that the first one waits. */
    waitMs: number;
    /** How long after a message of the group the next one is sent. Milliseconds. */
    againMs: number;
    /** What it waits at most if it is critical and fires. Milliseconds. */
    waitCriticalMs: number;
  };
  /** What it holds back while it fires, for `atMostMs` at most. Empty for an end: it ends causes by its key. */
  holds?: { name: string; atMostMs: number }[];
  /** What may hold it back. */
  heldBy?: string[];
}

export interface GroupEvent {
  id: string;
  /** Epoch milliseconds at which it is routed. */
  at: number;
  alertKey: string;
  severity: Severity;
  status: AlertStatus;
  title: string;
}

/** What is known of a group, or of all causes, at one destination. It is kept as JSON. */
export interface GroupMemory {
  /** When a group's last message goes out, or went. Epoch milliseconds. */
  dueAt?: number;
  /** The latest keys of a group that fired as critical, and when. */
  critical?: Record<string, number>;
  /** With `allCauses`: those that fire, by their names. They are one memory, as an alert may be held by several. */
  causes?: Record<string, CauseMemory>;
}

/** What is remembered of one cause at one destination. */
export interface CauseMemory {
  /** The alerts that are the cause and fire, by their keys. */
  firing?: Record<string, FiringCause>;
  /** What they hold back, `until` then at most. */
  held?: {
    count: number;
    /** What is held back, by key, as far as it is known by name. `by`: the names of all causes that may hold it back. */
    titles: Record<string, { title: string; severity: Severity; by: string[] }>;
    /** Hashes of the keys of the others. */
    others?: string[];
    until: number;
  };
}

/** The name of what is known of all causes at a destination. */
export const allCauses = '["causes"]';

export interface FiringCause {
  /** Its latest alert. */
  id: string;
  title: string;
  severity: Severity;
  /** When people hear of it. Epoch milliseconds. */
  toldAt: number;
  /** Until when it holds back at most. */
  until: number;
  /** The group whose message mentions the cause. */
  group?: string;
}

/** What a message about a cause says of those that it holds back: how many alerts, and the titles of the first. */
export interface HeldWith {
  count: number;
  titles: string[];
}

/** Letters of each value in a name: people read the name, and it is in indexes. */
const mostOfValue = 40;
const mostFacts = 8;

/** A name by which alerts belong together; `facts`: in the order of the configuration. A hash tells apart what it does not show. */
export function nameGroup(
  kind: "group" | "cause",
  of: string,
  facts: readonly [fact: string, value: string][],
): string {
  const shown = facts.slice(0, mostFacts).map(([fact, value]) => [fact, oneLine(value, mostOfValue)]);
  const all = JSON.stringify(facts);
  return JSON.stringify([kind, of, ...shown.flat(), ...(JSON.stringify(shown) === all ? [] : [hashText(all)])]);
}

const writeValue = (value: string): string => {
  if (value === "") return "none";
  return /[\s,"“”()]/u.test(value) ? `“${value.replaceAll(/["“”]/gu, "'")}”` : value;
};

/** For people: of a group `token USDC, chain eth`, of a cause `bridge down (chain eth)`. */
export function writeGroup(name: string): string {
  const [kind, of, ...parts] = JSON.parse(name) as string[];
  const facts = parts.flatMap((part, index) => (index % 2 === 1 ? [`${parts[index - 1]} ${writeValue(part)}`] : []));
  if (kind === "group") return facts.join(", ");
  return `${of}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
}

/** The route of a group, or the inhibit rule of a cause. */
export const ruleOfName = (name: string): string => (JSON.parse(name) as string[])[1] as string;

export const isNameOfCause = (name: string): boolean => name.startsWith('["cause"');
