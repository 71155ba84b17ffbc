import type { Child } from "hono/jsx";
import type { Faults, OnChange } from "../stand-in.ts";

/** What the board shows of one application. */
export interface BoardSource {
  /** In the address: `telegram`. */
  app: string;
  title: string;
  places(): Place[];
  /** The latest requests, oldest first. */
  calls(): readonly ShownCall[];
  faults: FaultChoices;
  onChange: OnChange;
  /** What views name by `/files/<app>/<name>`: pictures, whole mails. */
  file?(name: string): BoardFile | undefined;
}

/** Where messages arrive: a chat, a channel, a topic, a mailbox. */
export interface Place {
  id: string;
  name: string;
  about: string;
  count: number;
  /** The newest, oldest first. */
  newest(atMost: number): ShownMessage[];
}

export interface ShownMessage {
  id: string;
  /** Epoch milliseconds. */
  at: number;
  from: string;
  /** Written by a person of this place. */
  isPerson?: boolean;
  /** Next to the time: `silent`. */
  marks?: string[];
  /** The message that this one answers. */
  answered?: { id: string; from: string; text: string };
  body: Child;
  /** What it said before, oldest first. */
  earlier?: Child[];
}

/** One request as it was answered. */
export interface ShownCall {
  /** Epoch milliseconds. */
  at: number;
  method: string;
  /** HTTP status; 0 for no answer. */
  status: number;
  /** Why it was refused. */
  description?: string;
  /** The fault that hit it. */
  fault?: string;
}

export interface BoardFile {
  type: string;
  body: string | Uint8Array;
  /** In place of the page's content policy. */
  policy?: string;
}

/** What a person may break, in words. */
export interface FaultChoices {
  words: string[];
  /** Those that wait. */
  pending(): string[];
  /** Breaks what comes next to the place. */
  next(words: string, place: string): void;
  clear(): void;
}

/** @param at what a fault of this place has besides */
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
