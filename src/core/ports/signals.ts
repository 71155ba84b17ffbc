/** What a listener is given, by topic. */
export interface SignalPayloads {
  /** Alerts were stored that wait for routing. */
  accepted: undefined;
  /** A relay leaves alerts that wait for routing to the others. A driver for one relay never says so. */
  left: undefined;
  /** Names of destinations that have deliveries which were not there before, or are due earlier than before. */
  due: readonly string[];
  /** Alerts in the log have changed, see `AlertLog.listChanges`. */
  changed: undefined;
  /** A mute was made or ended. */
  mutes: undefined;
  /** A secret that is kept for all processes may have been replaced. */
  secrets: undefined;
  /** Lanes may be free to take. A driver that grants all of them to its one process never says so. */
  lanes: undefined;
  /** A state that relays add to together has changed, see `CommonStates`. A driver for one relay never says so. */
  mail: undefined;
}

/** How a relay hears of what others have committed: at once, or by looking itself. */
export type Hearing = { by: "listen" } | { by: "polls"; why: string };

/** Behind "relays hear of each other": `at once (LISTEN)`. */
export function describeHearing(hearing: { by: Hearing["by"]; why?: string; isPooled: boolean }): string {
  if (hearing.by === "listen")
    return `at once (LISTEN)${hearing.isPooled ? ", while the rest goes through a pooler" : ""}`;
  return `only by looking, every two seconds, and of deliveries every five (${hearing.why})`;
}

export type SignalTopic = keyof SignalPayloads;

export type SignalListener<T extends SignalTopic> = (payload: SignalPayloads[T]) => void;

/**
 * How the rest of the relay hears of a commit, so that nobody waits for the next poll. The driver decides which of
 * its transactions emits what; it emits after the commit, never for one that was rolled back, and many commits may
 * share a signal.
 *
 * A signal may be lost, and a process that is down gets none: each subscriber also looks by itself now and then.
 */
export interface Signals {
  /**
   * Returns what ends the subscription. The listener is called later than the commit's promise is resolved, and
   * nobody waits for it: one that throws disturbs neither the commit nor the other listeners.
   */
  subscribe<T extends SignalTopic>(topic: T, listener: SignalListener<T>): () => void;
  /** Absent: there is one process. */
  hearing?(): Hearing & { isPooled: boolean };
}
