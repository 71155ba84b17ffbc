import type { Alert, AlertOrigin, Translation } from "../../core/alert.ts";
import { type Log, silentLog } from "../../core/log.ts";
import { type Message, readableText } from "../../core/message.ts";
import type { Decision, Destination, Mute, PlannedDelivery, Rules } from "../../core/rules.ts";
import { createComposer, type MessageSource } from "../../delivery/lane/compose.ts";
import { createRendering } from "../../rendering/rendering.ts";
import { createMissingAdvice } from "../../routing/near-path.ts";
import { createRouter } from "../../routing/router.ts";
import { createDocumentRenderer } from "../../vendors/render-document.ts";

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
  const composer = createComposer({
    rendering: createRendering({ publicUrl, renderDocument: createDocumentRenderer() }),
    log,
    publicUrl,
  });
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
      else byDestination.set(planned.destination, explainDelivery(planned, alert, payload));
    }
    return { decisions, deliveries: [...byDestination.values()] };
  };

  function explainDelivery(
    planned: PlannedDelivery,
    alert: Alert,
    payload: Translation["payload"],
  ): ExplainedDelivery {
    const { destination, channel, recipient, route, state, reason, dueAt } = planned;
    return {
      destination,
      channel,
      recipients: [recipient],
      route,
      state,
      reason,
      dueAt: state === "held" ? dueAt : undefined,
      texts: state === "muted" ? [] : compose(planned, alert, payload).map(readableText),
    };
  }

  /** As the first attempt would send it. */
  function compose(planned: PlannedDelivery, alert: Alert, payload: Translation["payload"]): Message[] {
    const destination = destinations.get(planned.destination);
    if (destination === undefined) return [];
    const { id, facts, origin, receivedAt } = alert;
    const purpose = origin === "test" ? "test" : "alert";
    const source: MessageSource = {
      id,
      alertId: id,
      alertSeq: alert.seq,
      origin,
      receivedAt,
      facts,
      status: facts.status,
      purpose,
      ambiguous: 0,
      form: "rich",
      payload,
    };
    return composer.alert(source, alert, { now: at, purpose, possibleRepeat: false }, destination);
  }
}
