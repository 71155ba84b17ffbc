import type { AlertView } from "../../contract/operations.ts";
import { standingOf } from "../../contract/words.ts";
import { isSettled } from "../../core/delivery.ts";
import { isNumberIn } from "../../ground/numbers/format-number.ts";
import { describeDeliveries, shortId, toneOfOutcome, urgencyCell, wordsOf } from "../../panels/log.ts";
import { type Cell, factsOf, say } from "../../panels/panel.ts";
import { numberBeside } from "../../rendering/value-line.ts";
import { toSeconds } from "../shell/instants.ts";
import type { Output } from "../shell/output.ts";

const remembered = 1_000;

/**
 * Two lines an alert: `→` when it came, and `←` once nothing more happens to it unless a person acts. What happens in between is
 * no news, unless something fails or is late. Such a failure, a resend, and a release from quiet hours end in another `←`.
 */
export function createTailLines(output: Output): (alert: AlertView) => string {
  /** How each alert that was shown ended last. */
  const endings = new Map<string, string | undefined>();
  let day = "";

  /** Times on a terminal are short, so each day has a line of its own; in a pipe each line says all. */
  function line(mark: string, { id }: AlertView, at: number, words: Cell): string {
    const time = toSeconds(at);
    if (output.width === undefined) return output.draw(factsOf([[`${mark} ${time}  ${id}`, words]]));
    const next = time.slice(0, 10);
    const head = day === next ? "" : `${output.style("dim", `${next} (UTC)`)}\n`;
    day = next;
    return head + output.draw(factsOf([[`${mark} ${time.slice(11, 19)}  ${shortId(id)}`, words]]));
  }

  return (alert) => {
    if (alert.routedAt === null) return "";
    const isNew = !endings.has(alert.id);
    const ending = isNews(alert) ? describeDeliveries(alert) : undefined;
    const before = endings.get(alert.id);
    endings.delete(alert.id);
    endings.set(alert.id, ending);
    if (endings.size > remembered) endings.delete(endings.keys().next().value ?? "");
    const came = isNew ? line("→", alert, alert.receivedAt, whatCame(alert)) : "";
    if (ending === undefined || ending === before) return came;
    const endedAt = Math.max(alert.routedAt, ...alert.deliveries.map(({ finishedAt = 0 }) => finishedAt));
    return came + line("←", alert, endedAt, { chip: ending, tone: toneOfOutcome(alert) });
  };
}

/** An alert that is over is no emergency, whatever its severity was. */
function whatCame(alert: AlertView): Cell {
  const word = alert.status === "resolved" ? alert.status : (alert.severity ?? "unknown");
  const amount = amountOf(alert);
  const space = " ".repeat(Math.max(0, 8 - word.length));
  return say`${urgencyCell(word)}${{ words: space }}  ${wordsOf(alert)}${amount !== "" && `  ${amount}`}`;
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

/** `24,318,772.1 USD`; empty without a value, and where its words say it already. */
function amountOf(alert: Pick<AlertView, "facts" | "headline" | "title">): string {
  const { facts } = alert;
  const { value, unit } = facts ?? {};
  if (facts === null || value === undefined) return "";
  if (isNumberIn(wordsOf(alert), value, { besides: [value, facts.threshold] })) return "";
  const shown = numberBeside(value, facts);
  return unit === undefined ? shown : `${shown} ${unit}`;
}
