import type { SignalListener, SignalPayloads, Signals, SignalTopic } from "../core/ports/signals.ts";

/** The listeners of one process. Every driver emits its own commits here, and those that it learns from others. */
export interface SignalHub extends Signals {
  emit<T extends SignalTopic>(topic: T, payload: SignalPayloads[T]): void;
}

export const plainTopics = ["accepted", "changed", "mutes", "secrets", "lanes", "mail", "left"] as const;

/** The signals of a transaction, emitted after its commit: see `Signals`. */
export interface Notes extends Partial<Record<(typeof plainTopics)[number], boolean>> {
  due: Set<string>;
}

export const newNotes = (): Notes => ({ due: new Set() });

export const hasNews = (notes: Notes): boolean => notes.due.size > 0 || plainTopics.some((topic) => notes[topic]);

export function addNotes(notes: Notes, others: Notes): void {
  for (const topic of plainTopics) notes[topic] ||= others[topic];
  for (const name of others.due) notes.due.add(name);
}

/** @param onListenerFailed gets the error that a listener throws */
export function createSignalHub(onListenerFailed: (topic: SignalTopic, error: unknown) => void = () => {}): SignalHub {
  const listeners = new Map<SignalTopic, Set<SignalListener<never>>>();
  return {
    subscribe(topic, listener) {
      const known = listeners.get(topic) ?? new Set();
      listeners.set(topic, known.add(listener));
      return () => known.delete(listener);
    },
    emit(topic, payload) {
      const known = listeners.get(topic) as Set<SignalListener<typeof topic>> | undefined;
      if (!known?.size) return;
      // After the caller that waits for the commit: an alert is answered first.
      queueMicrotask(() => {
        for (const listener of known) {
          try {
            listener(payload);
          } catch (error) {
            onListenerFailed(topic, error);
          }
        }
      });
    },
  };
}

/** Emits each topic once, whatever the number of changes. */
export function emitNotes(hub: SignalHub, notes: Notes): void {
  if (notes.due.size > 0) hub.emit("due", [...notes.due]);
  for (const topic of plainTopics) if (notes[topic]) hub.emit(topic, undefined);
}
