import type { RoutedAgain, RoutingPart } from "../../contract/operations.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import type { Decision } from "../../core/rules.ts";
import { Instant } from "./instants.tsx";
import { HeadRow } from "./layout.tsx";

const resultWords: Record<RoutingPart["result"], string> = {
  nothing: "nothing",
  deliver: "deliver",
  standby: "fallback",
  muted: "muted",
  held: "held",
  dropped: "dropped",
  contained: "in another message",
  skipped: "skipped",
  not_matched: "no match",
};

/** What was decided when the alert came, route by route. */
export function DecisionTable({ alert: { decisions, repeatOf } }: { alert: AlertDetail }) {
  if (repeatOf !== undefined)
    return <p class="soft">No rule is asked for a repeat: what was decided for the first one stands.</p>;
  if (decisions.length === 0) return <p class="soft">Nothing was decided by routes.</p>;
  return <Decisions decisions={decisions} />;
}

function Decisions({ decisions }: { decisions: Decision[] }) {
  return (
    <div class="wide">
      <table class="decisions">
        <HeadRow names={["Route", "Destination", "Result", "Because"]} />
        <tbody>
          {decisions.map((decision) => (
            <tr class={decision.result}>
              <td>
                <bdi>{decision.route}</bdi>
              </td>
              <td>{decision.destination === undefined ? "–" : <bdi>{decision.destination}</bdi>}</td>
              <td>{resultWords[decision.result]}</td>
              <td dir="auto">{decision.reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * What the routes and mutes of now would do with it, differences first: whoever has changed the configuration since sees
 * whether it helps, and whoever asks why an alert did not come sees whether the next one will.
 */
export function TodaysRouting({ routed, now }: { routed?: RoutedAgain; now: number }) {
  if (routed === undefined) return null;
  const { decisions, differences, isTooLarge } = routed;
  const isSame = differences.every(({ onlyByHour }) => onlyByHour);
  return (
    <div class="today">
      <h3>If it came now</h3>
      <p>
        {isSame ? "Today's routes and mutes do the same as then." : "Today's routes and mutes do something else:"}
        {isSame && differences.length > 0 && " Only the hour differs:"}
      </p>
      {differences.length > 0 && (
        <div class="wide">
          <table class="decisions">
            <HeadRow names={["Destination", "Then", "Now"]} />
            <tbody>
              {differences.map(({ destination, before, now: today }) => (
                <tr>
                  <td>{destination === undefined ? "nobody" : <bdi>{destination}</bdi>}</td>
                  <Part says="then" part={before} />
                  <Part says="now" part={today} />
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isTooLarge && (
        <p class="soft">
          The body is too large to be read again for this page, so conditions on <code>payload</code> count as not met.
        </p>
      )}
      <details class="more">
        <summary>Each route's answer now</summary>
        <p class="soft">
          As if it came <Instant at={routed.at} now={now} />, with what was read of it then. Nothing was sent.
        </p>
        <Decisions decisions={decisions} />
      </details>
    </div>
  );
}

function Part({ says, part: { result, route, reason } }: { says: string; part: RoutingPart }) {
  return (
    <td data-says={says}>
      <b>{resultWords[result]}</b>
      {route !== undefined && (
        <>
          {" by "}
          <bdi>{route}</bdi>
        </>
      )}
      {reason !== "" && (
        <span class="about" dir="auto">
          {reason}
        </span>
      )}
    </td>
  );
}
