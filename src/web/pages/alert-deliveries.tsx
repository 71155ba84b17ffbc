import type { AttemptOutcome, DeliveryPurpose } from "../../core/delivery.ts";
import { cardIdOf } from "../../core/destination-status.ts";
import type { PictureOf, PictureOutcome } from "../../core/picture-outcome.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import { Chip, StateChip, toneOf, wordOf } from "./delivery-chips.tsx";
import { Form } from "./form-element.tsx";
import type { Frame } from "./frame.ts";
import { ExactTime, Instant } from "./instants.tsx";
import { HeadRow } from "./layout.tsx";

type Delivery = AlertDetail["deliveries"][number];

interface ListProps {
  alert: AlertDetail;
  frame: Frame;
  /** See `WebDeps`. */
  pictureOf?: PictureOf;
}

/** Every delivery, those that failed first and else the newest, and every attempt of all of them in one table. */
export function DeliveryList({ alert, frame, pictureOf }: ListProps) {
  if (alert.deliveries.length === 0 && alert.repeatOf !== undefined) {
    return (
      <p class="soft">
        A repeat of <a href={`/alerts/${alert.repeatOf}`}>an earlier alert</a>, not sent: it has the very same body,
        which names its own event by an id or a time, so the sender sent it again.
      </p>
    );
  }
  if (alert.deliveries.length === 0) {
    return <p class="soft">{whyNone(alert)}</p>;
  }
  const newestFirst = [...alert.deliveries].reverse();
  const isFirstOfDestination = (delivery: Delivery) =>
    newestFirst.find(({ destination }) => destination === delivery.destination) === delivery;
  const isFailed = ({ state, resentBy }: Delivery) => resentBy === undefined && toneOf(state) === "bad";
  const failedFirst = [...newestFirst.filter(isFailed), ...newestFirst.filter((delivery) => !isFailed(delivery))];
  return (
    <>
      {failedFirst.map((delivery) => (
        <DeliveryCard
          alert={alert}
          delivery={delivery}
          resend={alert.deliveries.find(({ id }) => id === delivery.resentBy)}
          frame={frame}
          canResend={isFirstOfDestination(delivery)}
          picture={pictureOf?.(delivery, alert.id)}
        />
      ))}
      <AttemptTable deliveries={failedFirst} />
    </>
  );
}

function whyNone(alert: AlertDetail): string {
  if (alert.routingError !== undefined) return `Routing failed and is tried again: ${alert.routingError}`;
  if (alert.routedAt === undefined) return "Not routed yet.";
  const dropping = alert.decisions.find(({ result }) => result === "dropped");
  if (dropping !== undefined) {
    return `Route ${dropping.route} dropped it on purpose: it was stored and sent nowhere. Below is why.`;
  }
  if (!alert.unmatched) return "The message of another alert shows this one as well. Below is which.";
  return "No route wanted it, so it was stored and sent nowhere. Below is what each route said.";
}

interface CardProps {
  alert: AlertDetail;
  delivery: Delivery;
  /** What stands for it since it was resent. */
  resend?: Delivery;
  frame: Frame;
  /** A resend goes to the whole destination, so one button for it is enough. */
  canResend: boolean;
  picture?: PictureOutcome;
}

function DeliveryCard({ alert, delivery, resend, frame, canResend, picture }: CardProps) {
  const { purpose } = delivery;
  return (
    <article class="card" id={`delivery-${delivery.id}`}>
      <header>
        <h3>
          <a href={`/destinations#${cardIdOf(delivery.destination)}`}>
            <bdi>{delivery.destination}</bdi>
          </a>
        </h3>
        {resend === undefined ? (
          <StateChip state={delivery.state} />
        ) : (
          <ResentChip delivery={delivery} resend={resend} now={frame.now} />
        )}
        <span class="soft">
          {delivery.channel}
          {delivery.recipient !== delivery.destination && (
            <>
              {" to "}
              <bdi>{delivery.recipient}</bdi>
            </>
          )}
          {purpose !== "alert" && ` · ${purposeWords[purpose]}`}
          {delivery.insteadOf !== undefined && (
            <>
              {" for "}
              <bdi>{delivery.insteadOf}</bdi>
            </>
          )}
        </span>
        {isHeldByQuietHours(delivery, frame.now) && (
          <Form frame={frame} action={`/alerts/${alert.id}/release`}>
            <input type="hidden" name="destination" value={delivery.destination} />
            <button type="submit" aria-label={`Send now to ${delivery.destination}`}>
              Send now
            </button>
          </Form>
        )}
        {canResend && (
          <Form frame={frame} action={`/alerts/${alert.id}/resend`}>
            <input type="hidden" name="destination" value={delivery.destination} />
            <button type="submit" aria-label={`Resend to ${delivery.destination}`}>
              Resend
            </button>
          </Form>
        )}
      </header>
      <p>
        {delivery.reason}
        <Timing alert={alert} delivery={delivery} now={frame.now} />
        {picture !== undefined && <span class="soft">{` · ${describePicture(picture)}`}</span>}
      </p>
    </article>
  );
}

function describePicture({ result, afterMs, times = 1, reason = result }: PictureOutcome): string {
  const later = afterMs === undefined ? "" : ` ${lengthOf(afterMs)} later`;
  if (result === "joined") return `picture joined${later}`;
  if (result === "linked") return "picture by an address that nobody has fetched yet";
  if (result === "fetched") return `picture fetched${later}${times === 1 ? "" : `, ${times} times`}`;
  return `no picture: ${reason}`;
}

/** Without a time it is held since nobody knows whether it arrived, and is resent. */
function isHeldByQuietHours({ state, dueAt }: Delivery, now: number): boolean {
  return state === "held" && dueAt !== undefined && dueAt > now;
}

/** It did not get through, and that counts no more: what became of the resend does. */
function ResentChip({ delivery, resend, now }: { delivery: Delivery; resend: Delivery; now: number }) {
  return (
    <>
      <Chip tone="off">{wordOf(delivery.state)}</Chip>
      <span class="soft">
        resent <Instant at={resend.createdAt} now={now} show="relative" />:{" "}
        <a href={`#delivery-${resend.id}`} class={`resent ${toneOf(resend.state)}`}>
          {wordOf(resend.state)}
        </a>
      </span>
    </>
  );
}

const purposeWords: Record<DeliveryPurpose, string> = {
  alert: "alert",
  fallback: "fallback",
  resend: "resend",
  bulk_resend: "resend with all that failed",
  test: "test",
  notice: "notice",
};

function Timing({ alert, delivery, now }: { alert: AlertDetail; delivery: Delivery; now: number }) {
  const { state, dueAt, finishedAt } = delivery;
  const separator = delivery.reason === "" ? "" : " · ";
  if ((state === "sent" || state === "digested") && finishedAt !== undefined) {
    const isResend = delivery.purpose === "resend" || delivery.purpose === "bulk_resend";
    const since = isResend ? delivery.createdAt : alert.receivedAt;
    const from = isResend ? "after it was asked for" : "after it was received";
    return <span class="soft">{`${separator}${lengthOf(Math.max(0, finishedAt - since))} ${from}`}</span>;
  }
  if ((state === "waiting" || state === "held") && dueAt !== undefined && dueAt > 0 && finishedAt === undefined) {
    return (
      <span class="soft">
        {`${separator}${state === "held" ? "sent" : "next try"} `}
        <Instant at={dueAt} now={now} isComing />
      </span>
    );
  }
  return null;
}

const outcomeTone: Record<AttemptOutcome, string> = {
  sent: "good",
  retry: "busy",
  rejected: "bad",
  ambiguous: "bad",
};

const outcomeWords: Record<AttemptOutcome, string> = {
  sent: "sent",
  retry: "to be tried again",
  rejected: "rejected",
  ambiguous: "ambiguous: it may have arrived",
};

/** What went wrong stands first. */
const outcomeRank: Record<AttemptOutcome, number> = { rejected: 0, ambiguous: 1, retry: 2, sent: 3 };

function AttemptTable({ deliveries }: { deliveries: Delivery[] }) {
  const attempts = deliveries.flatMap((delivery) => delivery.attempts.map((attempt) => ({ attempt, delivery })));
  if (attempts.length === 0) return null;
  attempts.sort(
    (a, b) => outcomeRank[a.attempt.outcome] - outcomeRank[b.attempt.outcome] || b.attempt.at - a.attempt.at,
  );
  const hasParts = attempts.some(({ attempt }) => attempt.parts > 1);
  return (
    <div class="wide">
      <table class="attempts">
        <caption class="hidden">Attempts, those that failed first</caption>
        <HeadRow
          names={["Destination", "Attempt", "Outcome", "What was answered", ...(hasParts ? ["Part"] : []), "Took"]}
        />
        <tbody>
          {attempts.map(({ attempt, delivery }) => (
            <tr>
              <td>
                <a href={`#delivery-${delivery.id}`}>
                  <bdi>{delivery.destination}</bdi>
                </a>
              </td>
              <td class="when">
                <ExactTime at={attempt.at} />
                {attempt.action !== "send" && <span class="soft"> {attempt.action}</span>}
              </td>
              <td class={`outcome ${outcomeTone[attempt.outcome]}`}>{outcomeWords[attempt.outcome]}</td>
              <td class="said" dir="auto">
                {attempt.detail}
                {attempt.reason !== undefined && <code> {attempt.reason}</code>}
              </td>
              {hasParts && (
                <td>
                  {attempt.part} of {attempt.parts}
                </td>
              )}
              <td class="keep">{lengthOf(attempt.durationMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
