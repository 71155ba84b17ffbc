import type { Alert, AlertOrigin, Translation } from "../../core/alert.ts";
import type { DeliveryPurpose } from "../../core/delivery.ts";
import { type Log, silentLog } from "../../core/log.ts";
import { type Message, readableText } from "../../core/message.ts";
import type { Decision, Destination, Mute, PlannedDelivery, Rules } from "../../core/rules.ts";
import type { ClaimedDelivery } from "../../core/store.ts";
import { createComposer } from "../../delivery/compose.ts";
import { createRendering } from "../../rendering/rendering.ts";
import { createMissingAdvice } from "../../routing/near-path.ts";
import { createRouter } from "../../routing/router.ts";

export interface ExplainerOptions {
  rules: Rules;
  /** Those made at run time; the rules bring their own. */
  mutes: Mute[];
  /** How the outside reaches the page, for the links in messages. */
  publicUrl: string;
  /** The instant at which the alert is routed. Epoch milliseconds. */
  at: number;
  /** A message that could not be rendered as designed; it goes out bare. */
  onFault(detail: string): void;
}

/** What would be sent to one destination. */
export interface ExplainedDelivery {
  destination: string;
  channel: Destination["type"];
  /** A mail goes to each on its own. */
  recipients: string[];
  route: string;
  state: PlannedDelivery["state"];
  reason: string;
  /** Not before: quiet hours. Epoch milliseconds. */
  dueAt?: number;
  /** What people read, part by part. Empty when it is muted. */
  texts: string[];
}

export interface Explanation {
  decisions: Decision[];
  deliveries: ExplainedDelivery[];
}

/** What was read of an alert, or why it could not be. */
export type ExplainedReading = Translation & { unreadable?: string };

export type Explain = (
  alert: { id: string; origin: AlertOrigin; receivedAt: number },
  reading: ExplainedReading,
) => Explanation;

/**
 * Router and composer are those of the relay, so that this can say nothing else than what it does; only about a field that is
 * missing it says more.
 */
export function createExplainer({ rules, mutes, publicUrl, at, onFault }: ExplainerOptions): Explain {
  const router = createRouter(rules, { adviseOnMissing: createMissingAdvice() });
  const log: Log = { ...silentLog, error: (_event, fields) => onFault(String(fields?.error)) };
  const composer = createComposer({ rendering: createRendering({ publicUrl }), log, publicUrl });
  const destinations = new Map(rules.destinations.map((destination) => [destination.name, destination]));

  return ({ id, origin, receivedAt }, { facts, payload, unreadable }) => {
    const { decisions, deliveries } =
      unreadable === undefined
        ? router.route({ facts, payload, origin, receivedAt }, mutes, at)
        : router.routeUnjudged(`could not be read: ${unreadable}; sent as it came`, at);
    const alert: Alert = { id, seq: 0, origin, receivedAt, facts };
    const byDestination = new Map<string, ExplainedDelivery>();
    for (const planned of deliveries) {
      const known = byDestination.get(planned.destination);
      if (known !== undefined) known.recipients.push(planned.recipient);
      else byDestination.set(planned.destination, explainDelivery(planned, alert));
    }
    return { decisions, deliveries: [...byDestination.values()] };
  };

  function explainDelivery(planned: PlannedDelivery, alert: Alert): ExplainedDelivery {
    const { destination, channel, recipient, route, state, reason, dueAt } = planned;
    return {
      destination,
      channel,
      recipients: [recipient],
      route,
      state,
      reason,
      dueAt: state === "held" ? dueAt : undefined,
      texts: state === "muted" ? [] : compose(planned, alert).map(readableText),
    };
  }

  function compose(planned: PlannedDelivery, alert: Alert): Message[] {
    const destination = destinations.get(planned.destination);
    if (destination === undefined) return [];
    const purpose = alert.origin === "test" ? "test" : "alert";
    const telling = { now: at, purpose, possibleRepeat: false } as const;
    return composer.alert(firstAttempt(planned, alert, purpose, at), alert, telling, destination);
  }
}

/** The delivery as the engine would claim it for its first attempt. */
function firstAttempt(
  planned: PlannedDelivery,
  alert: Alert,
  purpose: DeliveryPurpose,
  at: number,
): ClaimedDelivery {
  const { alertKey, severity, status } = alert.facts;
  return {
    seq: 0,
    id: alert.id,
    alertSeq: alert.seq,
    alertId: alert.id,
    origin: alert.origin,
    destination: planned.destination,
    recipient: planned.recipient,
    purpose,
    state: "sending",
    reason: planned.reason,
    dueAt: planned.dueAt,
    createdAt: at,
    receivedAt: alert.receivedAt,
    alertKey,
    severity,
    status,
    attempts: 0,
    ambiguous: 0,
    form: "rich",
    progress: { refs: [] },
    updates: planned.updates,
    freshnessMs: planned.freshnessMs,
    facts: alert.facts,
  };
}
