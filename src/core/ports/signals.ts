export interface SignalPayloads {
  /** Alerts that wait for routing were stored. */
  accepted: undefined;
  /** A relay leaves unrouted alerts to the others. Never emitted by a driver for one relay. */
  left: undefined;
  /** Destinations that have new deliveries, or deliveries that are due earlier than before. */
  due: readonly string[];
  /** Alerts have changed, see `AlertLog.listChanges`. */
  changed: undefined;
  mutes: undefined;
  /** A secret that the processes share may have been replaced. */
  secrets: undefined;
  /** Lanes may be free. Never emitted by a driver for one relay. */
  lanes: undefined;
  /** A state of `CommonStates` has changed. Never emitted by a driver for one relay. */
  mail: undefined;
}

/** How a relay learns of other relays' commits. */
export type Hearing = { by: "listen" } | { by: "polls"; why: string };

/** The words after "relays hear of each other": `at once (LISTEN)`. */
export function describeHearing(hearing: { by: Hearing["by"]; why?: string; isPooled: boolean }): string {
  if (hearing.by === "listen")
    return `at once (LISTEN)${hearing.isPooled ? ", while the rest goes through a pooler" : ""}`;
  return `only by looking, every two seconds, and of deliveries every five (${hearing.why})`;
}

export type SignalTopic = keyof SignalPayloads;

export type SignalListener<T extends SignalTopic> = (payload: SignalPayloads[T]) => void;

/**
 * Announces commits, so nobody waits for the next poll. Emitted after a commit. A signal may be lost, so subscribers also poll.
 */
export interface Signals {
  /** Returns a function that ends the subscription. A listener that throws disturbs nobody else. */
  subscribe<T extends SignalTopic>(topic: T, listener: SignalListener<T>): () => void;
  /** Absent: only one process is there. */
  hearing?(): Hearing & { isPooled: boolean };
}
