import type { DestinationView } from "../../contract/operations.ts";
import { toneOf, wordOf } from "../../contract/words.ts";
import { standingDeliveries } from "../../core/delivery.ts";
import type { AppError } from "../../core/errors.ts";
import type { AlertDetail, DeliverySummary } from "../../core/ports/alert-log.ts";
import { hasSeveralRecipients } from "../../vendors/index.ts";
import { titleOf } from "./alert-text.tsx";
import { Chip } from "./delivery-chips.tsx";
import { Form } from "./form-element.tsx";
import type { Frame } from "./frame.ts";
import { Layout, Problem } from "./layout.tsx";

interface AlertResendProps {
  frame: Frame;
  alert: AlertDetail;
  destinations: DestinationView[];
  problem?: AppError;
}

/**
 * `GET /alerts/:id/resend`: which destinations one alert is to be resent to. Those that it did not reach are ticked.
 */
export function AlertResendPage({ frame, alert, destinations, problem }: AlertResendProps) {
  const standing = standingDeliveries(alert.deliveries, hasSeveralRecipients);
  const proposed = proposeDestinations(standing);
  const statesOf = (name: string) => [
    ...new Set(standing.filter(({ destination }) => destination === name).map(({ state }) => state)),
  ];
  return (
    <Layout frame={frame} title={`Resend: ${titleOf(alert)}`}>
      <nav class="row" aria-label="Way back">
        <a href={`/alerts/${alert.id}`}>Back to the alert</a>
      </nav>
      <Problem error={problem} />
      <header class="headline">
        <h1>Resend to whom?</h1>
        <p dir="auto">{titleOf(alert)}</p>
      </header>
      <section aria-label="Destinations">
        {destinations.length === 0 ? (
          <p>No destination is configured.</p>
        ) : (
          <Form frame={frame} action={`/alerts/${alert.id}/resend`} class="stack">
            {destinations.map(({ name, channel, recipients }) => (
              <label class="check">
                <input type="checkbox" name="destination" value={name} checked={proposed.has(name)} />
                <span>
                  <b>{name}</b>{" "}
                  {statesOf(name).map((state) => (
                    <Chip tone={toneOf(state)}>{wordOf(state)}</Chip>
                  ))}{" "}
                  <span class="soft">
                    {channel} to <bdi>{recipients.join(", ")}</bdi>
                  </span>
                </span>
              </label>
            ))}
            <p class="soft">
              Each gets a message of its own at once, marked as resent, also in quiet hours. What is on its way still
              arrives besides.
            </p>
            <span class="row">
              <button type="submit" class="primary">
                Resend to those ticked
              </button>
              <a href={`/alerts/${alert.id}`}>Cancel</a>
            </span>
          </Form>
        )}
      </section>
    </Layout>
  );
}

/**
 * Where it is missing; failing that, where it has been. What is on its way, or was kept back on purpose, would only
 * ring.
 */
function proposeDestinations(standing: DeliverySummary[]): Set<string> {
  const missing = standing.filter(
    ({ state, dueAt }) => state === "failed" || state === "expired" || (state === "held" && dueAt === undefined),
  );
  const arrived = standing.filter(({ state }) => state === "sent" || state === "digested");
  return new Set((missing.length > 0 ? missing : arrived).map(({ destination }) => destination));
}
