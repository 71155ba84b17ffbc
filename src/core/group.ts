import { oneLine } from "../ground/text/clean.ts";
import type { AlertStatus, Severity } from "./alert.ts";
import { hashText } from "./secret.ts";

/** What an alert may wait for at its destination: others of its group, or the end of its cause. `nameGroup` makes the names. */
export interface GroupRule {
  group?: {
    name: string;
    /** How long the first alert of the group waits. Milliseconds. */
    waitMs: number;
    /** The time from one message of the group to the next. Milliseconds. */
    againMs: number;
    /** The longest wait of a critical alert that fires. Milliseconds. */
    waitCriticalMs: number;
  };
  /**
   * Causes that this alert is: while it fires, each holds others back, for `atMostMs` at most. Empty for an end, which ends
   * causes by its key.
   */
  holds?: { name: string; atMostMs: number }[];
  /** Causes that may hold this alert back. */
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

/** The memory of a group, or of all causes, at one destination. Stored as JSON. */
export interface GroupMemory {
  /** When the group's last message goes out, or went. Epoch milliseconds. */
  dueAt?: number;
  /** The latest keys of the group that fired as critical, with the times. */
  critical?: Record<string, number>;
  /** For `allCauses`: the causes that fire, by name. One record has them all, as an alert may be held by several. */
  causes?: Record<string, CauseMemory>;
}

/** The memory of one cause at one destination. */
export interface CauseMemory {
  /** The firing alerts that are the cause, by their keys. */
  firing?: Record<string, FiringCause>;
  /** The alerts that the cause holds back, at most until `until`. */
  held?: {
    count: number;
    /** The held alerts that are kept by name, by their keys. `by`: the names of all causes that may hold the alert back. */
    titles: Record<string, { title: string; severity: Severity; by: string[] }>;
    /** Hashes of the keys of the other held alerts. */
    others?: string[];
    until: number;
  };
}

/** The name of the record of all causes at a destination. */
export const allCauses = '["causes"]';

export interface FiringCause {
  /** The id of the cause's latest alert. */
  id: string;
  title: string;
  severity: Severity;
  /** When people see the cause. Epoch milliseconds. */
  toldAt: number;
  /** The latest end of holding back. Epoch milliseconds. */
  until: number;
  /** The group whose message mentions the cause. */
  group?: string;
}

/** What a cause's message says about the alerts that it holds back: their number, and the first titles. */
export interface HeldWith {
  count: number;
  titles: string[];
}

/** Characters of each value in a name. People read names, and indexes contain them. */
const mostOfValue = 40;
const mostFacts = 8;

/**
 * Makes the name by which alerts belong together. `facts` are in the order of the configuration. A hash replaces what the name
 * cuts.
 */
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

/** For people. A group: `token USDC, chain eth`. A cause: `bridge down (chain eth)`. */
export function writeGroup(name: string): string {
  const [kind, of, ...parts] = JSON.parse(name) as string[];
  const facts = parts.flatMap((part, index) => (index % 2 === 1 ? [`${parts[index - 1]} ${writeValue(part)}`] : []));
  if (kind === "group") return facts.join(", ");
  return `${of}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
}

/** The route of a group, or the inhibit rule of a cause. */
export const ruleOfName = (name: string): string => (JSON.parse(name) as string[])[1] as string;

export const isNameOfCause = (name: string): boolean => name.startsWith('["cause"');
