import type { SignalListener, SignalPayloads, Signals, SignalTopic } from "../core/ports/signals.ts";

/** The listeners of one process. Every driver emits here what it commits, or what it hears of another's commits. */
export interface SignalHub extends Signals {
  emit<T extends SignalTopic>(topic: T, payload: SignalPayloads[T]): void;
}

/** @param onListenerFailed is given what a listener throws. Default: nobody hears of it. */
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
      // Behind whoever waits for the commit: an alert is answered first.
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
