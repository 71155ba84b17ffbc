import stringWidth from "string-width";
import type { AlertView } from "../../contract/operations.ts";
import { standingOf } from "../../contract/words.ts";
import { isSettled } from "../../core/delivery.ts";
import { toSeconds } from "../shell/amounts.ts";
import type { Output } from "../shell/output.ts";
import { hangText, terminalText } from "../shell/terminal-text.ts";
import {
  amountOf,
  colourOfOutcome,
  describeDeliveries,
  shortId,
  styleUrgency,
  urgencyOf,
  wordsOf,
} from "./alert-line.ts";

/** Below this the title stands below the head of its line. */
const leastLineWidth = 64;

const remembered = 1_000;

/**
 * Two lines an alert: `→` when it came, and `←` once nothing more happens to it unless a person acts. What lies between
 * is no news, unless something fails or is late; that, a resend, and what quiet hours let go end in another `←`.
 */
export function createTailLines(output: Output): (alert: AlertView) => string {
  /** Of each alert that was shown: how it ended last. */
  const endings = new Map<string, string | undefined>();
  let day = "";

  /** Times on a terminal are short, so each day has a line of its own; in a pipe each line says all. */
  function timeOf(at: number): string {
    const whole = toSeconds(at);
    return output.width === undefined ? whole : whole.slice(11, 19);
  }

  function daysLine(at: number): string {
    const next = toSeconds(at).slice(0, 10);
    if (output.width === undefined || day === next) return "";
    day = next;
    return `${output.style("dim", `${next} (UTC)`)}\n`;
  }

  return (alert) => {
    if (alert.routedAt === null) return "";
    const isNew = !endings.has(alert.id);
    const ending = isNews(alert) ? describeDeliveries(alert) : undefined;
    const before = endings.get(alert.id);
    endings.delete(alert.id);
    endings.set(alert.id, ending);
    if (endings.size > remembered) endings.delete(endings.keys().next().value ?? "");
    const came = isNew ? daysLine(alert.receivedAt) + cameLine(alert, timeOf(alert.receivedAt), output) : "";
    if (ending === undefined || ending === before) return came;
    const endedAt = Math.max(alert.routedAt, ...alert.deliveries.map(({ finishedAt = 0 }) => finishedAt));
    return came + daysLine(endedAt) + endedLine(alert, timeOf(endedAt), ending, output);
  };
}

/** A try that long after the alert came is late enough to be told before it ends. */
const lateMs = 60_000;

/** It has ended everywhere; or something failed or is late, which nobody should learn only when all the rest has ended. */
function isNews(alert: AlertView): boolean {
  const standing = standingOf(alert);
  const open = standing.filter((delivery) => !isSettled(delivery));
  if (open.some(({ state }) => state !== "waiting")) return false;
  const isLate = ({ dueAt }: { dueAt?: number }) => dueAt !== undefined && dueAt - alert.receivedAt >= lateMs;
  return open.every(isLate) || standing.some(({ state }) => state === "failed" || state === "expired");
}

function cameLine(alert: AlertView, time: string, output: Output): string {
  const { width, style } = output;
  const id = width === undefined ? alert.id : shortId(alert.id);
  const urgency = urgencyOf(alert);
  const word = width !== undefined && width < leastLineWidth ? urgency : urgency.padEnd(8);
  const head = `→ ${time}  ${id}  ${styleUrgency(urgency, output, word)}`;
  const title = terminalText(wordsOf(alert));
  const value = terminalText(amountOf(alert));
  if (width === undefined) return `${[head, title, value].filter((part) => part !== "").join("  ")}\n`;
  const rest = value === "" ? "" : `  ${value}`;
  if (width < leastLineWidth) {
    return `${head}\n  ${hangText(title, width, 2)}${rest === "" ? "" : `\n${rest}`}\n`;
  }
  const taken = stringWidth(`→ ${time}  ${id}  ${word}  `);
  return `${head}  ${style("bold", hangText(`${title}${rest}`, width, taken))}\n`;
}

function endedLine(alert: AlertView, time: string, ending: string, output: Output): string {
  const id = output.width === undefined ? alert.id : shortId(alert.id);
  const head = `← ${time}  ${id}`;
  const isNarrow = output.width !== undefined && output.width < leastLineWidth;
  const words = hangText(terminalText(ending), output.width, isNarrow ? 2 : head.length + 2);
  return `${output.style("dim", head)}${isNarrow ? "\n" : ""}  ${output.style(colourOfOutcome(alert), words)}\n`;
}
