import type { AlertDetailView, DeliveryDetailView } from "../../contract/operations.ts";
import { summarizeDeliveries } from "../../contract/outcome-words.ts";
import { decisionsTable } from "../../contract/panels/explanation.ts";
import { type Cell, type Fact, type Panel, type Section, say, type Tone } from "../../contract/panels/panel.ts";
import { toneOf } from "../../contract/panels/state-words.ts";
import { groupDigits } from "../../ground/numbers/format-number.ts";
import { countOf, describeSpan, toSeconds } from "../shell/amounts.ts";
import { wordsOf } from "./alert-line.ts";

/** One alert: what it says, what was decided, and each delivery with its attempts. `headers`: with those of its request. */
export function alertPanel(alert: AlertDetailView, { headers = false } = {}): Panel {
  const { facts, request, decisions, deliveries } = alert;
  return [
    { kind: "text", text: { bold: wordsOf(alert) } },
    { kind: "facts", rows: factsOf(alert) },
    facts?.text !== undefined && { kind: "block", text: facts.text },
    facts !== null &&
      pairs(
        "field",
        facts.fields.map(({ name, value }) => [name, value]),
      ),
    decisions.length > 0 && decisionsTable(decisions),
    ...deliveries.map((delivery) => {
      return describeDelivery(
        delivery,
        deliveries.find(({ id }) => id === delivery.resentBy),
      );
    }),
    headers && request !== null && pairs("header", request.headers),
  ];
}

function pairs(title: string, rows: readonly (readonly [string, string])[]): Section | false {
  return rows.length > 0 && { kind: "table", columns: [{ title }, { title: "value" }], rows };
}

function factsOf(alert: AlertDetailView): Fact[] {
  const { facts, request } = alert;
  return [
    ["id", alert.id],
    ["received", { at: alert.receivedAt }],
    ["origin", alert.origin !== "hook" && alert.origin],
    ["title as sent", wordsOf(alert) !== alert.title && (alert.title ?? undefined)],
    ["named by", describeName(alert)],
    ["severity", urgency(alert.severity)],
    ["status", urgency(alert.status)],
    ["metric", facts?.metric],
    ["token", facts?.token],
    ["chain", facts?.chain],
    ["value", withUnit(facts?.value, facts?.unit)],
    ["before", withUnit(facts?.previousValue, facts?.unit)],
    ["threshold", withUnit(facts?.threshold, facts?.unit)],
    ["happened", facts?.occurredAt !== undefined && { at: facts.occurredAt }],
    ["source", facts?.source],
    ["sender's id", facts?.externalId],
    ["link", facts?.link],
    ["alert key", facts?.alertKey],
    // What had to be guessed.
    ...(facts?.notes ?? []).map((note): Fact => ["note", note]),
    ["deliveries", summarizeDeliveries(alert)],
    ["routing error", alert.routingError],
    ["request", request === null ? "none: Tocsin wrote it itself" : describeRequest(request)],
    ["page", alert.url],
  ];
}

/** Whose word the name in its first line is. */
function describeName({ learnedName, receivedAt }: AlertDetailView): string | undefined {
  if (learnedName === undefined) return undefined;
  const { address, chain, name, learnedAt } = learnedName;
  const since = learnedAt > receivedAt ? ", learned since: its messages have the address" : "";
  return `the service: ${address} on ${chain} is ${name}${since}`;
}

const urgencies: Record<string, Tone> = { critical: "bad", warning: "busy", resolved: "good" };

function urgency(word: string | null): Cell {
  const tone = urgencies[word ?? ""];
  return tone === undefined ? (word ?? undefined) : { chip: word ?? "", tone };
}

function withUnit(value: string | undefined, unit: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  return unit === undefined ? groupDigits(value) : `${groupDigits(value)} ${unit}`;
}

function describeRequest(request: NonNullable<AlertDetailView["request"]>): string {
  const { contentType, bodyBytes, item, items, duplicates, conflict } = request;
  return [
    `${countOf(bodyBytes, "byte")} of ${contentType ?? "no stated type"}`,
    ...(items > 1 ? [`alert ${item} of ${items}`] : []),
    ...(duplicates > 0 ? [`repeated ${duplicates} times by the sender`] : []),
    ...(conflict ? ["an earlier request had the same key and another body"] : []),
  ].join(", ");
}

function describeDelivery(delivery: DeliveryDetailView, resend: DeliveryDetailView | undefined): Section {
  const { destination, recipient, state, purpose, reason, dueAt, finishedAt, insteadOf, digestId, attempts } = delivery;
  const to = recipient === destination ? destination : `${destination} (${recipient})`;
  const parts: Cell[] = [
    purpose !== "alert" && (purpose === "bulk_resend" ? "resent with all that failed" : purpose),
    insteadOf !== undefined && `instead of ${insteadOf}`,
    digestId !== undefined && "in a digest",
    resend && say`resent ${{ age: resend.createdAt }}: ${resend.state}`,
    finishedAt !== undefined && { at: finishedAt },
    dueAt !== undefined && say`next try ${{ at: dueAt }}`,
    reason !== "" && reason !== attempts.at(-1)?.detail && reason,
  ].filter((part) => part !== false && part !== undefined);
  const words = parts.flatMap((part, index) => [{ words: index === 0 ? "" : ", " }, part]);
  return {
    kind: "list",
    title: say`${{ chip: state, tone: resend === undefined ? toneOf(state) : "off" }}  ${to}: ${words}`,
    items: attempts.length === 0 ? ["not tried"] : attempts.map(describeAttempt),
  };
}

function describeAttempt(attempt: DeliveryDetailView["attempts"][number]): string {
  const { at, outcome, reason = "", detail = "", durationMs, action, part, parts } = attempt;
  const what = action === "send" ? outcome : `${action} ${outcome}`;
  const which = parts > 1 ? ` part ${part} of ${parts}` : "";
  const why = [reason, detail].filter((text) => text !== "").join(": ");
  return `${toSeconds(at)}  ${what}${which} in ${describeSpan(durationMs)}${why === "" ? "" : `  ${why}`}`;
}
