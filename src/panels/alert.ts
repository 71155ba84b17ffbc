import type { AlertDetailView, DeliveryDetailView, RoutedAgain, RoutingPart } from "../contract/operations.ts";
import { lookOf, toneOf, whyNone, wordOf } from "../contract/words.ts";
import { type BodyFormat, limitsChange, sideOfThreshold } from "../core/alert.ts";
import type { AttemptOutcome, DeliveryPurpose, ReasonCode } from "../core/delivery.ts";
import { cardIdOf } from "../core/destination-status.ts";
import type { Downtime } from "../core/gaps.ts";
import type { PictureOutcome } from "../core/picture-outcome.ts";
import type { Damped } from "../core/ring.ts";
import { writeDistance } from "../ground/numbers/format-number.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { countOf } from "../ground/text/count-of.ts";
import { lengthOf } from "../ground/time/ages.ts";
import { describeMatcher } from "../matching/describe-match.ts";
import { factFields, factReader } from "../matching/path.ts";
import { type Configured, repairOf } from "../vendors/verdict.ts";
import { decisionsTable, resultWords } from "./explanation.ts";
import { urgencyCell, wordsOf } from "./log.ts";
import type { Cell, Fact, Panel, Section } from "./panel.ts";
import { actsOf, aside, factsOf, foldOf, groupOf, paragraph, say, tableOf } from "./sections.ts";

export function alertPanel(
  alert: AlertDetailView,
  { headers, ...context }: DeliveriesContext & { headers?: boolean },
): Panel {
  const { severity, status, facts, request, url } = alert;
  return [
    { kind: "text", text: { bold: wordsOf(alert) } },
    factsOf([
      ["severity", urgencyCell(severity)],
      ["status", urgencyCell(status)],
      ...headFacts(alert),
      ...readFacts(alert),
      ...requestFacts(alert),
      ["page", url],
    ]),
    facts?.text !== undefined && { kind: "block", text: facts.text },
    deliveriesPanel(alert, context),
    decisionsPanel(alert),
    ...fieldsPanel(alert),
    headers &&
      request !== null && { kind: "table", columns: [{ title: "header" }, { title: "value" }], rows: request.headers },
  ];
}

const shortWaitMs = 1_000;

/** `downtimes`: when no relay ran. Absent: unknown. */
export function headFacts(alert: AlertDetailView, downtimes?: readonly Downtime[]): Fact[] {
  const { title, origin, source, receivedAt, routedAt, learnedName: named } = alert;
  const { value, threshold, previousValue, unit, occurredAt, link, fields } = alert.facts ?? {};
  const isOfChange = limitsChange({ fields, title: title ?? undefined });
  const far = isOfChange ? undefined : writeDistance(threshold ?? "", value ?? "");
  const side = far && sideOfThreshold({ value, threshold, unit, fields });
  const amount = (sent: string | undefined, of = unit): Cell => sent !== undefined && { amount: sent, unit: of };
  const delayMs = occurredAt === undefined ? 0 : receivedAt - occurredAt;
  const routedMs = (routedAt ?? receivedAt) - receivedAt;
  return [
    ["value", value !== undefined && [amount(value), side && { words: `, ${far} ${side} the threshold` }]],
    isOfChange ? ["limit of the change", amount(threshold, undefined)] : ["threshold", amount(threshold)],
    ["value before", amount(previousValue)],
    ["received", { at: receivedAt }],
    [
      "happened",
      occurredAt !== undefined &&
        say`${{ at: occurredAt }}${delayMs > 60_000 && { words: `, ${lengthOf(delayMs)} before it was received` }}`,
    ],
    [
      "routed",
      routedMs > shortWaitMs && {
        words: `${lengthOf(routedMs)} later${whyLate(downtimes, receivedAt, receivedAt + routedMs, ": ", ": others were before it")}`,
      },
    ],
    [
      "named by",
      named &&
        say`the service: ${{ code: named.address }} on ${named.chain} is
          ${named.name}${named.learnedAt > receivedAt && say`, learned since: its messages have the address`}`,
    ],
    ["link", link !== undefined && (/^https?:\/\//i.test(link) ? { link, text: link } : link)],
    ["origin", origin !== "hook" && origin],
    ["hook of", source],
  ];
}

/** The sentence after `lead` that Tocsin was not running, or `orElse` where it was. Nothing where this is unknown. */
function whyLate(
  downtimes: readonly Downtime[] | undefined,
  from: number,
  to: number,
  lead: string,
  orElse: string,
): string {
  if (downtimes === undefined) return "";
  const ms = downtimes
    .filter(({ restored }) => restored !== true)
    .reduce((sum, { fromAt, toAt }) => sum + Math.max(0, Math.min(to, toAt) - Math.max(from, fromAt)), 0);
  return ms === 0 ? orElse : `${lead}Tocsin was not running for ${lengthOf(ms)} of it`;
}

export interface DeliveriesContext {
  now: number;
  /** When no relay ran. Absent: unknown, and no reason of a wait is given. */
  downtimes?: readonly Downtime[];
  /** Where a destination is configured. Undefined: it is not configured any more. */
  configured?(destination: string): Configured | undefined;
}

/** The recipients, when each got the alert, and the failures with their cures. */
export function deliveriesPanel(alert: AlertDetailView, context: DeliveriesContext): Section {
  const { id, deliveries } = alert;
  return groupOf({ title: "Who got it", id: "deliveries-title", live: "deliveries" }, [
    deliveries.length === 0 ? { kind: "text", text: describeNone(alert) } : deliveriesTable(alert, context),
    actsOf({ label: "Resend to …", link: `/alerts/${id}/resend`, command: `tocsin alerts resend ${id} --to NAME` }),
  ]);
}

export function deliveriesTable(alert: AlertDetailView, context: DeliveriesContext): Section | false {
  const newestFirst = [...alert.deliveries].reverse();
  const toneNow = (one: DeliveryDetailView) => (one.resentBy === undefined ? lookOf(one)[1] : "off");
  const isFailed = (delivery: DeliveryDetailView) => toneNow(delivery) === "bad";
  const shown = newestFirst.toSorted((one, other) => Number(isFailed(other)) - Number(isFailed(one)));
  const isNewest = (delivery: DeliveryDetailView) =>
    newestFirst.find(({ destination }) => destination === delivery.destination) === delivery;
  return tableOf(
    shown,
    {
      destination: whereTo,
      state: (one) => say`${{ chip: lookOf(one)[0], tone: toneNow(one) }} ${whenOf(one, alert)}`,
      "what was answered": (one) => ({ lines: answersOf(one, alert, context) }),
      "send again": {
        of: (one) => resendActs(one, alert, { isNewest: isNewest(one), now: context.now }),
        where: "page",
      },
    },
    { keep: ["send again"], ids: shown.map(({ id }) => `delivery-${id}`) },
  );
}

function describeNone(alert: AlertDetailView): Cell {
  const { repeatOf, routingError } = alert;
  const none = whyNone(alert);
  return [
    none && { chip: none.words, tone: none.tone },
    repeatOf !== undefined &&
      say` It has the very same body as ${{ link: `/alerts/${repeatOf}`, text: say`alert ${repeatOf}` }}, which names
        its own event by an id or a time: the sender sent it again.`,
    routingError !== undefined && say` ${routingError}; it is tried again.`,
  ];
}

const purposeWords: Record<DeliveryPurpose, string> = {
  alert: "",
  fallback: ", fallback",
  resend: ", resend",
  bulk_resend: ", resend with all that failed",
  test: ", test",
  notice: ", notice",
};

function whereTo({ destination, channel, recipient, purpose, insteadOf, state, digestId }: DeliveryDetailView): Cell {
  const card = `/destinations#${cardIdOf(destination)}`;
  // A delivery that arrived in a digest says so by its state.
  const isInDigest = digestId !== undefined && state !== "digested";
  const to = recipient !== destination && say` to ${recipient}`;
  const instead = insteadOf !== undefined && say` for ${insteadOf}`;
  const way = say`${channel}${to}${{ words: purposeWords[purpose] }}${instead}${isInDigest && say`, in a digest`}`;
  return say`${{ link: card, text: destination }} ${way}`;
}

function whenOf(delivery: DeliveryDetailView, { deliveries, receivedAt }: AlertDetailView): Cell {
  const { state, purpose, createdAt, finishedAt, dueAt, resentBy, damped } = delivery;
  const resend = deliveries.find(({ id }) => id === resentBy);
  if (resend !== undefined) {
    const how = { link: `#delivery-${resend.id}`, text: say`${{ words: wordOf(resend.state) }}` };
    return say`resent ${{ age: resend.createdAt }}: ${how}`;
  }
  if (resentBy !== undefined) return say`told by the release of a later alert of its key`;
  if (finishedAt !== undefined && state !== "muted") {
    const isResend = purpose === "resend" || purpose === "bulk_resend";
    const tookMs = Math.max(0, finishedAt - (isResend ? createdAt : receivedAt));
    return { words: `after ${lengthOf(tookMs)}` };
  }
  if (dueAt === undefined || dueAt === 0 || (state !== "waiting" && state !== "held")) return undefined;
  const what = state === "waiting" ? "next try" : damped === undefined ? "until" : "told at the latest";
  return say`${{ words: what }} ${{ at: dueAt, isComing: true }}`;
}

/** The reason of a first wait, each call with its answer, the result of the picture, and what a person can do. */
function answersOf(delivery: DeliveryDetailView, alert: AlertDetailView, context: DeliveriesContext): Cell[] {
  const { attempts, reason, picture, resentBy, state, destination, damped, extras } = delivery;
  const last = attempts.at(-1);
  const isSaid =
    attempts.some(({ detail }) => detail === reason) || alert.decisions.some((one) => one.reason === reason);
  const isOpen = resentBy === undefined && toneOf(state) !== "good" && last !== undefined && last.outcome !== "sent";
  const configured = isOpen ? context.configured?.(destination) : undefined;
  return [
    whyWaited(delivery, alert, context),
    ...attempts.map((attempt) => describeAttempt(attempt, alert)),
    !isSaid && reason,
    damped && describeDamped(damped),
    extras?.title && say`Its title: ${extras.title}`,
    extras?.with && { words: `with it: ${extras.with.count}` },
    extras?.note,
    ...(extras?.links ?? []).map(({ label, url }) => ({ link: url, text: label })),
    picture && { words: describePicture(picture) },
    configured && say`What helps: ${repairOf(last?.reason as ReasonCode | undefined, configured)}.`,
  ].filter((cell) => cell !== undefined && cell !== false && cell !== "");
}

/** The alerts of its key that did not ring before it. */
function describeDamped({ count, sinceAt, lowest, highest, worst, advice }: Damped): Cell {
  if (count === 0) return undefined;
  const words = lowest === highest ? `, at ${lowest}` : `, from ${lowest} to ${highest}`;
  const between = lowest !== undefined && highest !== undefined && { words };
  const furthest =
    count > 1 && say`, the worst is ${{ link: `/alerts/${worst.id}`, text: say`${worst.value ?? "here"}` }}`;
  return say`did not ring: ${{ words: String(count) }} since
    ${{ at: sinceAt }}${between}${furthest}${advice !== undefined && `; ${advice}`}`;
}

/** Waits for quiet hours are explained with the decisions. */
function whyWaited(
  delivery: DeliveryDetailView,
  { decisions }: AlertDetailView,
  { downtimes }: DeliveriesContext,
): Cell {
  const { attempts, createdAt, digestId, destination, purpose } = delivery;
  const [first] = attempts;
  if (first === undefined || first.at - createdAt <= shortWaitMs) return undefined;
  const isHeld = decisions.some((decision) => decision.destination === destination && decision.result === "held");
  const why =
    isHeld && purpose === "alert"
      ? ", held"
      : digestId !== undefined
        ? " to be sent with others as one message"
        : whyLate(downtimes, createdAt, first.at, " for its turn, ", " for its turn");
  return { words: `waited ${lengthOf(first.at - createdAt)}${why}` };
}

const outcomeWords: Record<AttemptOutcome, string> = {
  sent: "sent",
  retry: "to be tried again",
  rejected: "rejected",
  ambiguous: "ambiguous: it may have arrived",
};

/** The day of a call is shown where it may differ from the alert's. */
const oneDayMs = 12 * 60 * 60 * 1000;

function describeAttempt(attempt: DeliveryDetailView["attempts"][number], { receivedAt }: AlertDetailView): Cell {
  const { at, outcome, action, part, parts, durationMs, detail, reason } = attempt;
  const how = action === "send" ? "" : `${action} `;
  const which = parts > 1 ? `, part ${part} of ${parts}` : "";
  return [
    at - receivedAt < oneDayMs ? { clock: at } : { at },
    { words: ` ${how}${outcomeWords[outcome]}${which}, ${lengthOf(durationMs)}` },
    detail !== undefined && detail !== "" && say`: ${detail}`,
    reason !== undefined && say` (${{ code: reason }})`,
  ];
}

function describePicture({ result, afterMs, times = 1, reason = result }: PictureOutcome): string {
  const later = afterMs === undefined ? "" : ` ${lengthOf(afterMs)} later`;
  if (result === "joined") return `picture joined${later}`;
  if (result === "linked") return "picture by an address that nobody has fetched yet";
  if (result === "fetched") return `picture fetched${later}${times === 1 ? "" : `, ${times} times`}`;
  return `no picture: ${reason}`;
}

/** A resend goes to the whole destination, so one button for it is enough. */
function resendActs(
  { destination, state, dueAt = 0 }: DeliveryDetailView,
  { id }: AlertDetailView,
  { isNewest, now }: { isNewest: boolean; now: number },
): Cell {
  const act = (label: string, post: string) => ({
    act: { label, about: destination, post: `/alerts/${id}/${post}`, fields: { destination } },
  });
  // A delivery that is held without a time may have arrived: it is resent, not released.
  const isHeldByQuietHours = state === "held" && dueAt > now;
  if (!isNewest && !isHeldByQuietHours) return undefined;
  return [isHeldByQuietHours && act("Send now", "release"), isNewest && act("Resend", "resend")];
}

/** Also has the decisions of today's routes and mutes, for a reader who has changed the configuration since. */
export function decisionsPanel({ decisions, repeatOf }: AlertDetailView, routed?: RoutedAgain): Section {
  const none =
    repeatOf === undefined
      ? aside`Nothing was decided by routes.`
      : aside`No rule is asked for a repeat: what was decided for the first one counts.`;
  return groupOf({ title: "Why", id: "decisions-title", live: "decisions" }, [
    decisions.length === 0 ? none : decisionsTable(decisions),
    ...(routed === undefined ? [] : todayPanel(routed, decisions)),
  ]);
}

function todayPanel(
  { at, isSame, decisions, differences, isTooLarge }: RoutedAgain,
  then: AlertDetailView["decisions"],
): Panel {
  const mayRing = then.some(({ result }) => result === "damped") && say` Whether it rings depends on what rang before.`;
  const onlyHour = differences.length > 0 ? " Only the hour differs:" : "";
  const rest = isSame ? `the same as then.${onlyHour}` : "something else:";
  return [
    paragraph`${{ bold: say`If it came now` }}, today's routes and mutes would do
      ${{ words: rest }}${isSame && differences.length === 0 && mayRing}`,
    differences.length > 0 && {
      kind: "table",
      columns: [{ title: "destination" }, { title: "then" }, { title: "now" }],
      rows: differences.map(({ destination, before, now }) => [
        destination ?? say`nobody`,
        describePart(before),
        describePart(now),
      ]),
    },
    isTooLarge &&
      aside`The body is too large to be read again for this page, so conditions on ${{ code: "payload" }} count as not met.`,
    foldOf({ summary: say`Each route's answer now` }, [
      aside`As if it came ${{ at }}, with what was read of it then. Nothing was sent. Whether it rings depends on what rang before.`,
      decisionsTable(decisions),
    ]),
  ];
}

const describePart = ({ result, route, reason }: RoutingPart): Cell => [
  { bold: { words: resultWords[result][0] } },
  route !== undefined && say` by ${route}`,
  reason !== "" && say`: ${reason}`,
];

const formatWords: Record<BodyFormat, string> = {
  json: "JSON",
  "broken-json": "broken JSON, read as well as it could be",
  form: "a form",
  text: "plain text",
  binary: "bytes that are no text",
  empty: "nothing",
  unreadable: "could not be read, shown as received",
};

/** Nobody compares a longer value. */
const longestValue = 200;

export function readFacts({ id, facts, title, headline, request }: AlertDetailView): Fact[] {
  return [
    ["title as sent", !!title && cleanLine(title) !== headline && title],
    ["token", facts?.token],
    ["chain", facts?.chain],
    ["metric", facts?.metric],
    ["source", facts?.source],
    ["sender's id", facts?.externalId],
    ["alert key", facts?.alertKey],
    ["read as", request !== null && { words: facts === null ? "not read yet" : formatWords[facts.format] }],
    ...(facts?.notes ?? []).map((note): Fact => ["note", note]),
    ["id", id],
  ];
}

export function fieldsPanel({ facts }: AlertDetailView): Panel {
  const { fields = [], unlistedFields } = facts ?? {};
  return [
    tableOf(fields, { field: ({ name }) => name, value: ({ value }) => value }, { keep: [] }),
    unlistedFields !== undefined && aside`${{ words: countOf(unlistedFields, "more field") }} in the body.`,
  ];
}

/** The facts as conditions that a route or a mute can use. */
export function conditionsFold(alert: AlertDetailView): Section | undefined {
  const { id, facts, request, origin, title, severity, status } = alert;
  if (facts === null || request === null) return undefined;
  if (title === null || severity === null || status === null) return undefined;
  const conditions = factFields.flatMap((field) => {
    const value = factReader(field)({ facts: { ...facts, title, severity, status }, origin });
    if (value === undefined || value.length > longestValue) return [];
    return describeMatcher({ field, condition: { equals: [value] } });
  });
  return foldOf({ summary: say`As conditions for a route or a mute` }, [
    { kind: "list", items: conditions.map((code) => ({ code })) },
    aside`Paths into the body: ${{ code: `tocsin explain ${id}` }}`,
  ]);
}

export function requestFacts({ request }: AlertDetailView): Fact[] {
  if (request === null) return [["request", say`none: Tocsin wrote it itself`]];
  const { bodyBytes, contentType, item, items, duplicates, conflict, dedupeKey = "" } = request;
  return [
    ["request", say`${{ words: countOf(bodyBytes, "byte") }} of ${contentType ?? "no stated type"}`],
    ["batch", items > 1 && { words: `alert ${item} of ${items} in it: headers and body are those of all` }],
    [
      "sent again",
      duplicates > 0 && { words: `${countOf(duplicates, "time")} by the sender: recognised as the same, not sent on` },
    ],
    [
      "conflict",
      conflict && say`the sender had used the key ${{ code: dedupeKey }} for another body before; both are kept`,
    ],
  ];
}
