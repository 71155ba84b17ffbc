import type { AlertDetailView, DeliveryDetailView } from "../../contract/operations.ts";
import { summarizeDeliveries } from "../../contract/outcome-words.ts";
import { decisionsTable } from "../../contract/panels/explanation.ts";
import { groupDigits } from "../../ground/numbers/format-number.ts";
import { describeAge, describeSpan, toSeconds, withAge } from "../shell/amounts.ts";
import { drawPanel } from "../shell/draw-panel.ts";
import { joinSections, type Output } from "../shell/output.ts";
import type { Field } from "../shell/table.ts";
import { hangText, terminalText } from "../shell/terminal-text.ts";
import { colourOfUrgency, wordsOf } from "./alert-line.ts";

/** One alert for people: what it says, what was decided, and each delivery with its attempts. */
export function formatAlert(
  alert: AlertDetailView,
  output: Output,
  { now, headers }: { now: number; headers: boolean },
): string {
  const sections = [
    output.style("bold", hangText(terminalText(wordsOf(alert)), output.width, 0)),
    output.fields(
      factRows(alert, now).map(([title, value]): Field => {
        const colour = title === "severity" || title === "status" ? colourOfUrgency(value) : undefined;
        return colour === undefined ? [title, value] : [title, value, (text) => output.style(colour, text)];
      }),
    ),
    formatText(alert),
    alert.facts && alert.facts.fields.length > 0
      ? output.table(
          [{ title: "field" }, { title: "value" }],
          alert.facts.fields.map(({ name, value }) => [name, value]),
        )
      : "",
    alert.decisions.length === 0 ? "" : drawPanel([decisionsTable(alert.decisions)], output, now),
    ...alert.deliveries.map((delivery) => {
      const resend = alert.deliveries.find(({ id }) => id === delivery.resentBy);
      return formatDelivery(delivery, resend, output, now);
    }),
    headers ? formatHeaders(alert, output) : "",
  ];
  return joinSections(sections);
}

function factRows(alert: AlertDetailView, now: number): [string, string][] {
  const { facts, request } = alert;
  return present([
    ["id", alert.id],
    ["received", withAge(alert.receivedAt, now)],
    ["origin", alert.origin === "hook" ? undefined : alert.origin],
    ["title as sent", wordsOf(alert) === alert.title ? undefined : (alert.title ?? undefined)],
    ["named by", describeName(alert)],
    ["severity", alert.severity ?? undefined],
    ["status", alert.status ?? undefined],
    ...(facts === null ? [] : describeFacts(facts, now)),
    ["deliveries", summarizeDeliveries(alert)],
    ["routing error", alert.routingError],
    ["request", request === null ? "none: Tocsin wrote it itself" : describeRequest(request)],
    ["page", alert.url],
  ]);
}

/** Whose word the name in its first line is. */
function describeName({ learnedName, receivedAt }: AlertDetailView): string | undefined {
  if (learnedName === undefined) return undefined;
  const { address, chain, name, learnedAt } = learnedName;
  const since = learnedAt > receivedAt ? ", learned since: its messages have the address" : "";
  return `the service: ${address} on ${chain} is ${name}${since}`;
}

/** The facts besides title, severity and status, in words; what had to be guessed comes last. */
export function describeFacts(
  facts: Omit<NonNullable<AlertDetailView["facts"]>, "fields">,
  now: number,
): [string, string][] {
  return present([
    ["metric", facts.metric],
    ["token", facts.token],
    ["chain", facts.chain],
    ["value", withUnit(facts.value, facts.unit)],
    ["before", withUnit(facts.previousValue, facts.unit)],
    ["threshold", withUnit(facts.threshold, facts.unit)],
    ["happened", facts.occurredAt === undefined ? undefined : withAge(facts.occurredAt, now)],
    ["source", facts.source],
    ["sender's id", facts.externalId],
    ["link", facts.link],
    ["alert key", facts.alertKey],
    ...facts.notes.map((note): [string, string] => ["note", note]),
  ]);
}

function present(rows: [string, string | undefined][]): [string, string][] {
  return rows.flatMap(([title, value]) => (value === undefined ? [] : [[title, value] as [string, string]]));
}

function withUnit(value: string | undefined, unit: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  return unit === undefined ? groupDigits(value) : `${groupDigits(value)} ${unit}`;
}

function describeRequest(request: NonNullable<AlertDetailView["request"]>): string {
  const { contentType, bodyBytes, item, items, duplicates, conflict } = request;
  return [
    `${bodyBytes.toLocaleString("en-US")} bytes of ${contentType ?? "no stated type"}`,
    ...(items > 1 ? [`alert ${item} of ${items}`] : []),
    ...(duplicates > 0 ? [`repeated ${duplicates} times by the sender`] : []),
    ...(conflict ? ["an earlier request had the same key and another body"] : []),
  ].join(", ");
}

function formatText({ facts }: AlertDetailView): string {
  if (facts?.text === undefined) return "";
  return facts.text
    .split("\n")
    .map((line) => `  ${terminalText(line)}`)
    .join("\n");
}

function formatDelivery(
  delivery: DeliveryDetailView,
  resend: DeliveryDetailView | undefined,
  output: Output,
  now: number,
): string {
  const { destination, recipient, state, purpose, reason, dueAt, finishedAt, insteadOf, digestId } = delivery;
  const to = recipient === destination ? destination : `${destination} (${recipient})`;
  const words = [
    ...(purpose === "alert" ? [] : [purpose === "bulk_resend" ? "resent with all that failed" : purpose]),
    ...(insteadOf === undefined ? [] : [`instead of ${insteadOf}`]),
    ...(digestId === undefined ? [] : ["in a digest"]),
    ...(resend === undefined ? [] : [`resent ${describeAge(resend.createdAt, now)}: ${resend.state}`]),
    ...(finishedAt === undefined ? [] : [withAge(finishedAt, now)]),
    ...(dueAt === undefined ? [] : [`next try ${withAge(dueAt, now)}`]),
    ...(reason === "" || reason === delivery.attempts.at(-1)?.detail ? [] : [reason]),
  ];
  const colour = resend === undefined ? colours[state] : "dim";
  const rest = hangText(terminalText(`${to}: ${words.join(", ")}`), output.width, state.length + 2);
  const head = `${output.style(colour, state)}  ${rest}`;
  if (delivery.attempts.length === 0) return `${head}\n  not tried`;
  const attempts = delivery.attempts.map((attempt) => {
    const part = attempt.parts > 1 ? ` part ${attempt.part} of ${attempt.parts}` : "";
    const why = [attempt.reason, attempt.detail].filter((text) => text !== undefined && text !== "").join(": ");
    const took = describeSpan(attempt.durationMs);
    const what = attempt.action === "send" ? attempt.outcome : `${attempt.action} ${attempt.outcome}`;
    const line = `${toSeconds(attempt.at)}  ${what}${part} in ${took}${why === "" ? "" : `  ${why}`}`;
    return `  ${hangText(terminalText(line), output.width, 4)}`;
  });
  return [head, ...attempts].join("\n");
}

/** Green for what reached people, red for what will not, yellow for what may. */
const colours = {
  sent: "green",
  digested: "green",
  failed: "red",
  expired: "red",
  queued: "yellow",
  waiting: "yellow",
  sending: "yellow",
  held: "yellow",
  muted: "dim",
} as const satisfies Record<DeliveryDetailView["state"], string>;

function formatHeaders({ request }: AlertDetailView, output: Output): string {
  if (request === null) return "";
  return output.table(
    [{ title: "header" }, { title: "value" }],
    request.headers.map(([name, value]) => [name, value]),
  );
}
