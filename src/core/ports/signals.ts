/** The payload of each topic. */
export interface SignalPayloads {
  /** Alerts were stored that wait for routing. */
  accepted: undefined;
  /** A relay leaves unrouted alerts to the others. A driver for one relay never emits it. */
  left: undefined;
  /** Names of destinations that have new deliveries, or deliveries that are due earlier than before. */
  due: readonly string[];
  /** Alerts in the log have changed, see `AlertLog.listChanges`. */
  changed: undefined;
  /** A mute was made or ended. */
  mutes: undefined;
  /** A secret that all processes share may have been replaced. */
  secrets: undefined;
  /** Lanes may be free. A driver that grants all lanes to its one process never emits it. */
  lanes: undefined;
  /** A state that relays change together has changed, see `CommonStates`. A driver for one relay never emits it. */
  mail: undefined;
}

/** How a relay learns of other relays' commits: at once, or by polling. */
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
 * Announces commits to the rest of the relay, so nobody waits for the next poll. The driver decides which transaction emits
 * which topic. It emits after the commit, never for a rollback, and many commits may share a signal.
 *
 * A signal may be lost, and a stopped process gets none, so each subscriber also polls.
 */
export interface Signals {
  /**
   * Returns a function that ends the subscription. The listener is called after the commit's promise has resolved. Nobody waits
   * for it: a listener that throws disturbs neither the commit nor the other listeners.
   */
  subscribe<T extends SignalTopic>(topic: T, listener: SignalListener<T>): () => void;
  /** Absent: there is only one process. */
  hearing?(): Hearing & { isPooled: boolean };
}
