import type { Child } from "hono/jsx";
import type { Faults, OnChange } from "../stand-in.ts";

export interface BoardSource {
  /** The name in the address: `telegram`. */
  app: string;
  title: string;
  places(): Place[];
  calls(): readonly ShownCall[];
  faults: FaultChoices;
  onChange: OnChange;
  /** Files that views link as `/files/<app>/<name>`: pictures, whole mails. */
  file?(name: string): BoardFile | undefined;
}

/** A place where messages arrive: a chat, a channel, a topic, a mailbox. */
export interface Place {
  id: string;
  name: string;
  about: string;
  count: number;
  /** The newest messages, oldest first. */
  newest(atMost: number): ShownMessage[];
}

export interface ShownMessage {
  id: string;
  at: number;
  from: string;
  isPerson?: boolean;
  /** Words next to the time: `silent`. */
  marks?: string[];
  answered?: { id: string; from: string; text: string };
  body: Child;
  earlier?: Child[];
}

export interface ShownCall {
  at: number;
  method: string;
  /** HTTP status; 0 for no answer. */
  status: number;
  description?: string;
  fault?: string;
}

export interface BoardFile {
  type: string;
  body: string | Uint8Array;
  /** Replaces the page's content policy. */
  policy?: string;
}

/** The faults that a person may choose, in words. */
export interface FaultChoices {
  words: string[];
  pending(): string[];
  next(words: string, place: string): void;
  clear(): void;
}

/** @param at further fields of a fault for this place */
export function offerFaults<F extends object>(
  faults: Faults<F>,
  choices: Readonly<Record<string, F>>,
  at: (place: string) => Partial<F>,
): FaultChoices {
  const wordsOf = (fault: F) =>
    Object.keys(choices).find((words) =>
      Object.entries(choices[words] ?? {}).every(([name, value]) => fault[name as keyof F] === value),
    );
  return {
    words: Object.keys(choices),
    pending: () => faults.pending().map((fault) => wordsOf(fault) ?? JSON.stringify(fault)),
    next(words, place) {
      const fault = choices[words];
      if (fault !== undefined) faults.next({ ...fault, ...at(place) });
    },
    clear: faults.clear,
  };
}
