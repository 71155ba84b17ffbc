import type { PropsWithChildren } from "hono/jsx";
import { lookOf, standingOf, whyNone } from "../../contract/words.ts";
import type { AlertSummary, DeliverySummary } from "../../core/ports/alert-log.ts";
import { groupBy } from "../../ground/group-by.ts";
import type { Tone } from "../../panels/panel.ts";

export function Chip({ tone, title, children }: PropsWithChildren<{ tone: Tone; title?: string }>) {
  return (
    <span class={`chip ${tone}`} title={title}>
      <Mark tone={tone} />
      {children}
    </span>
  );
}

function Undelivered({ alert }: { alert: AlertSummary }) {
  const { routingError, repeatOf } = alert;
  const { words, tone } = whyNone(alert) ?? { words: "", tone: "off" };
  return (
    <Chip tone={tone} title={routingError}>
      {repeatOf === undefined ? words : <a href={`/alerts/${repeatOf}`}>{words}</a>}
    </Chip>
  );
}

const isUndelivered = ({ routedAt, deliveries }: AlertSummary) => routedAt === undefined || deliveries.length === 0;

/** The worst first. */
const byUrgency = ["failed", "expired", "held", "waiting", "sending", "queued", "muted", "digested"] as const;

export function outcomeOf(deliveries: DeliverySummary[]) {
  const standing = standingOf({ deliveries });
  const isSent = (delivery: DeliverySummary) => lookOf(delivery)[1] === "good";
  const sent = standing.filter(isSent);
  const open = byUrgency.flatMap((state) =>
    standing.filter((delivery) => delivery.state === state && !isSent(delivery)),
  );
  return {
    /** The worst first. */
    exceptions: [...groupBy(open, ({ destination }) => destination)].map(([name, own]) => summarise(name, own)),
    /** Deliveries that are sent or in a digest, as the commands count them. */
    sent: sent.length,
    sentTo: [...new Set(sent.map(({ destination }) => destination))],
  };
}

/** Open or failed deliveries of one alert at one destination. `open`: the worst first. */
function summarise(destination: string, open: DeliverySummary[]) {
  const [word, tone] = lookOf(open[0] ?? { state: "queued" });
  const counts = [...groupBy(open, (one) => lookOf(one)[0])].map(([word, { length }]) => `${length} ${word}`);
  return {
    destination,
    tone,
    /** `held`, or `1 failed, 1 queued` for several mailboxes. */
    words: open.length === 1 ? word : counts.join(", "),
    reasons: open.map(({ reason }) => reason),
  };
}

interface OutcomeMarksProps {
  alerts: readonly AlertSummary[];
  initials: Readonly<Record<string, string>>;
}

/** One row's outcomes: initials for destinations that have the message, and a chip for each exception. */
export function OutcomeMarks({ alerts, initials }: OutcomeMarksProps) {
  const undelivered = alerts.find(isUndelivered);
  const outcomes = alerts.map(({ deliveries }) => outcomeOf(deliveries));
  const exceptions = outcomes.flatMap((outcome) => outcome.exceptions);
  const chips = [...groupBy(exceptions, ({ words }) => words).values()];
  const sent = outcomes.reduce((sum, outcome) => sum + outcome.sent, 0);
  const sentTo = [...new Set(outcomes.flatMap((outcome) => outcome.sentTo))];
  return (
    <ul class="chips">
      {undelivered && (
        <li>
          <Undelivered alert={undelivered} />
        </li>
      )}
      {chips.slice(0, mostExceptions).map((alike) => (
        <ExceptionChip those={alike} />
      ))}
      <ExceptionChip those={chips.slice(mostExceptions).flat()} isRest />
      {sent > 0 && (
        <li class="all-sent good" title={`Sent to ${sentTo.join(", ")}`}>
          <Mark tone="good" />
          <span class="hidden">
            {sent} sent: {sentTo.join(", ")}
          </span>
          <span aria-hidden="true">
            {sentTo
              .slice(0, mostInitials)
              .map((name) => initials[name] ?? name)
              .join(" ")}
            {sentTo.length > mostInitials && ` +${sentTo.length - mostInitials}`}
          </span>
        </li>
      )}
    </ul>
  );
}

type Exception = ReturnType<typeof summarise>;

/** A chip for equal exceptions, or for the rest. Null without any. */
function ExceptionChip({ those, isRest = false }: { those: readonly Exception[]; isRest?: boolean }) {
  const [first] = those;
  if (first === undefined) return null;
  const { destination, tone, words } = first;
  const reasons = those.flatMap((one) => one.reasons.map((why) => `${one.destination}: ${why}`));
  const names = those.map((one) => (isRest ? `${one.destination} ${one.words}` : one.destination)).join(", ");
  return (
    <li class={`chip ${tone}`} title={reasons.join("\n")}>
      <Mark tone={tone} />
      {isRest && <span aria-hidden="true">+{those.length}</span>}
      {!isRest && those.length > 1 && `${those.length} ${words}`}
      {isRest || those.length > 1 ? (
        <span class="hidden">: {names}</span>
      ) : (
        <>
          <bdi>{destination}</bdi> {words}
        </>
      )}
    </li>
  );
}

/** More chips would take a second line. */
const mostExceptions = 2;
const mostInitials = 6;

/** Two letters, and more where another name has the same two. `risk-mail` → `rm`, `desk` → `de`. */
export function initialsOf(names: readonly string[]): Record<string, string> {
  const choices = new Map(names.map((name) => [name, choicesOf(name)]));
  return Object.fromEntries(
    [...choices].map(([name, own]) => {
      const isOwn = (letters: string, index: number) =>
        [...choices].every(([other, others]) => other === name || others[index] !== letters);
      return [name, own.find(isOwn) ?? name];
    }),
  );
}

function choicesOf(name: string): string[] {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  const letters = [...(words.length > 1 ? words.map((word) => [...word][0]).join("") : (words[0] ?? name))];
  const longer = [...name].map((_, index, all) => all.slice(0, index + 1).join("")).slice(2);
  return [letters.slice(0, 2).join(""), ...(words.length > 2 ? [letters.join("")] : []), ...longer].map((choice) =>
    choice.toLowerCase(),
  );
}

const marks: Record<Tone, string> = { good: "✓", bad: "✕", busy: "…", off: "–" };

export function Mark({ tone }: { tone: Tone }) {
  return (
    <span class="mark" aria-hidden="true">
      {marks[tone]}
    </span>
  );
}
