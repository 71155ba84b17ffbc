import type { ExplainedDelivery, Explanation, MatchFields } from "../contract/operations.ts";
import type { Alert, AlertOrigin, Translation } from "../core/alert.ts";
import { type Json, JsonNumber } from "../core/json.ts";
import type { Message } from "../core/message.ts";
import type { RingMemory } from "../core/ring.ts";
import type { Decision, Destination, Mute, PlannedDelivery } from "../core/rules.ts";
import { type Composer, firstSource } from "../delivery/lane/compose.ts";
import { RecentMap } from "../ground/recent-map.ts";
import { factFields, factReader, listPayloadNodes } from "../matching/path.ts";
import { createGroupBook } from "../ringing/group-book.ts";
import { judgeRing } from "../ringing/judge-ring.ts";
import { ringEventOf } from "../ringing/ring-event.ts";
import type { Router } from "../routing/router.ts";
import { readableText } from "../vendors/index.ts";

export interface ExplainerOptions {
  router: Router;
  composer: Composer;
  destinations: Destination[];
  /** The mutes made at run time. The router knows those of the configuration. */
  mutes: Mute[];
  /** The instant at which the alert is routed, epoch milliseconds. */
  at: number;
}

export type ExplainedReading = Translation & { unreadable?: string };

export type Explain = (
  alert: { id: string; origin: AlertOrigin; receivedAt: number },
  reading: ExplainedReading,
) => Explanation;

/** Beyond this the keys that were silent longest are forgotten, and ring as new ones. */
const mostKeys = 20_000;

/** The alerts of a body are explained in their order, which decides what rings. */
export function createExplainer({ router, composer, mutes, at, ...options }: ExplainerOptions): Explain {
  const destinations = new Map(options.destinations.map((destination) => [destination.name, destination]));
  const memories = new RecentMap<string, RingMemory>(mostKeys);
  const groups = createGroupBook();

  return ({ id, origin, receivedAt }, reading) => {
    const { facts, payload, unreadable } = reading;
    const { decisions, deliveries } =
      unreadable === undefined
        ? router.route({ facts, payload, origin }, mutes, at)
        : router.routeUnjudged("reading", unreadable, at);
    const alert: Alert = { id, seq: 0, origin, receivedAt, facts };
    const byDestination = new Map<string, ExplainedDelivery>();
    const heldBack = new Map<string, string>();
    const waits = new Map<string, Waiting>();
    for (const planned of deliveries) {
      const known = byDestination.get(planned.destination);
      if (known !== undefined) {
        known.recipients.push(planned.recipient);
        continue;
      }
      const why = whyNotRinging(planned, { ...alert, receivedAt: at });
      if (why !== undefined) heldBack.set(planned.destination, why);
      const waiting = waitingOf(planned, alert, why === undefined);
      if (waiting !== undefined) waits.set(planned.destination, waiting);
      byDestination.set(planned.destination, explainDelivery({ ...planned, ...waiting?.held }, alert, payload));
    }
    const fields = listMatchFields(origin, reading);
    const judged = decisions.map((decision) => withRinging(withWaiting(decision, waits), heldBack));
    return { facts, unreadable, fields, decisions: judged, deliveries: [...byDestination.values()] };
  };

  function whyNotRinging({ destination, ring, state }: PlannedDelivery, alert: Alert): string | undefined {
    if (ring === undefined) return undefined;
    // Names of destinations contain no line break.
    const key = `${destination}\n${alert.facts.alertKey}`;
    const event = { ...ringEventOf(alert), isQuiet: state === "held", isMuted: state === "muted" };
    const { rings, why, memory } = judgeRing(memories.get(key), event, ring);
    memories.set(key, memory);
    return rings ? undefined : why;
  }

  function waitingOf(planned: PlannedDelivery, { id, facts }: Alert, itRings: boolean): Waiting | undefined {
    const { destination, group, state } = planned;
    if (group === undefined) return undefined;
    const { alertKey, severity, status, title } = facts;
    const event = { id, at, alertKey, severity, status, title };
    const { why, held } = groups.judge(destination, event, group, itRings && state === "queued");
    return { why, held: held && { state: "held", dueAt: held.dueAt } };
  }

  function explainDelivery(planned: PlannedDelivery, alert: Alert, payload: Translation["payload"]): ExplainedDelivery {
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

  function compose(planned: PlannedDelivery, alert: Alert, payload: Translation["payload"]): Message[] {
    const destination = destinations.get(planned.destination);
    if (destination === undefined) return [];
    const purpose = alert.origin === "test" ? "test" : "alert";
    const source = firstSource(alert, { purpose, payload, extras: planned.extras });
    return composer.alert(source, alert, { now: at, purpose, possibleRepeat: false }, destination);
  }
}

/** What an alert waits for at a destination, and until when. */
interface Waiting {
  why: string;
  held?: { state: "held"; dueAt: number };
}

function withWaiting(decision: Decision, waits: ReadonlyMap<string, Waiting>): Decision {
  const waiting = waits.get(decision.destination ?? "");
  if (!waiting?.why || decision.result !== "deliver") return decision;
  return { ...decision, result: waiting.held ? "held" : "deliver", reason: `${decision.reason}; ${waiting.why}` };
}

function withRinging(decision: Decision, heldBack: ReadonlyMap<string, string>): Decision {
  const { destination, result, reason } = decision;
  const why = destination !== undefined && ["deliver", "held"].includes(result) ? heldBack.get(destination) : undefined;
  return why === undefined ? decision : { ...decision, result: "damped", reason: `${reason}; does not ring: ${why}` };
}

const mostShown = 60;
const mostNodes = 2_000;
const longestValue = 200;

/** The fields of this alert that a matcher can name, as one writes them. */
function listMatchFields(origin: AlertOrigin, { facts, payload }: Translation): MatchFields {
  const ofFacts = factFields.flatMap((field) => {
    const value = factReader(field)({ facts, origin });
    return value === undefined ? [] : [{ field, value: shorten(value) }];
  });
  if (payload === undefined) return { facts: ofFacts, payload: [], more: 0 };
  const leaves = listPayloadNodes(payload, mostNodes).flatMap(({ path, value }) => {
    const text = textOf(value);
    return text === undefined ? [] : [{ field: path, value: shorten(text) }];
  });
  return {
    facts: ofFacts,
    payload: leaves.slice(0, mostShown),
    more: Math.max(0, leaves.length - mostShown),
  };
}

/** Lists and maps have no text of their own, and null is a missing value. */
function textOf(value: Json): string | undefined {
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  return value instanceof JsonNumber ? value.text : undefined;
}

function shorten(text: string): string {
  // Spaces are kept: a condition that compares the text needs them.
  const line = text.slice(0, 4 * longestValue).replace(/[^\S ]+/g, " ");
  return line.length > longestValue || text.length > 4 * longestValue ? `${line.slice(0, longestValue)}…` : line;
}
