import { oneLine } from "../ground/text/clean.ts";
import type { AlertStatus, Severity } from "./alert.ts";
import { hashText } from "./secret.ts";

/** What an alert may wait for at its destination: the rest of its group, or the end of its cause. */
export interface GroupRule {
  group?: {
    name: string;
    /** How long the first alert of the group waits. */
    waitMs: number;
    /** From one message of the group to the next. */
    againMs: number;
    /** How long a firing critical alert waits at most. */
    waitCriticalMs: number;
  };
  /** The causes that this alert is, while it fires. Empty for a resolving alert: its key ends the causes. */
  holds?: { name: string; atMostMs: number }[];
  /** Causes that may hold this alert back. */
  heldBy?: string[];
}

export interface GroupEvent {
  id: string;
  /** When the alert is routed. Epoch milliseconds. */
  at: number;
  alertKey: string;
  severity: Severity;
  status: AlertStatus;
  title: string;
}

/** What is remembered of a group, or of all causes, at one destination. Stored as JSON. */
export interface GroupMemory {
  /** When the latest message of the group is due or went out. Epoch milliseconds. */
  dueAt?: number;
  /** When keys of the group last fired as critical. */
  critical?: Record<string, number>;
  /** Only in the record `allCauses`: the firing causes, by name. They share a record since several may hold one alert. */
  causes?: Record<string, CauseMemory>;
}

export interface CauseMemory {
  /** The firing alerts of the cause, by key. */
  firing?: Record<string, FiringCause>;
  /** The alerts that the cause holds back, until `until` at most. */
  held?: {
    count: number;
    /** Titles of the first held alerts, by key. `by`: all causes that may hold the alert. */
    titles: Record<string, { title: string; severity: Severity; by: string[] }>;
    /** Hashes of the keys of the remaining held alerts. */
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
  /** When the cause's message is due. Epoch milliseconds. */
  toldAt: number;
  /** The latest time until which the cause holds alerts back. Epoch milliseconds. */
  until: number;
  /** The group, where its message mentions the cause. */
  group?: string;
}

/** What the message of a cause says about the alerts that it holds back. */
export interface HeldWith {
  count: number;
  titles: string[];
}

/** Characters of each value. A name is read by people and kept in indexes. */
const mostOfValue = 40;
const mostFacts = 8;

/** Names the group or cause of an alert. `facts` are in the order of the configuration. A hash replaces what is too long. */
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

/** A group: `token USDC, chain eth`. A cause: `bridge down (chain eth)`. */
export function writeGroup(name: string): string {
  const [kind, of, ...parts] = JSON.parse(name) as string[];
  const facts = parts.flatMap((part, index) => (index % 2 === 1 ? [`${parts[index - 1]} ${writeValue(part)}`] : []));
  if (kind === "group") return facts.join(", ");
  return `${of}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
}

/** The route of a group, or the inhibit rule of a cause. */
export const ruleOfName = (name: string): string => (JSON.parse(name) as string[])[1] as string;

export const isNameOfCause = (name: string): boolean => name.startsWith('["cause"');
