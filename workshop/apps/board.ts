import type { Now } from "../../src/core/clock.ts";

/** A message as its readers see it. */
export interface Posted<T> {
  id: string;
  /** Epoch milliseconds. */
  at: number;
  content: T;
  /** What the message said before, oldest first; `at` is when it was replaced. */
  edits: { at: number; content: T }[];
}

/** The messages of one app, oldest first, in memory; the oldest go when there are too many. */
export interface Board<T> {
  posted(): readonly Posted<T>[];
  add(content: T): Posted<T>;
  edit(id: string, content: T): Posted<T> | undefined;
  /** False when there is no such message. */
  remove(id: string): boolean;
}

const messagesKept = 1_000;

/** @param makeId gets the number of the message, from 1. */
export function createBoard<T>(now: Now, makeId: (number: number) => string, onChange: () => void): Board<T> {
  const kept: Posted<T>[] = [];
  let count = 0;

  return {
    posted: () => kept,
    add(content) {
      count += 1;
      const message = { id: makeId(count), at: now(), content, edits: [] };
      kept.push(message);
      if (kept.length > messagesKept) kept.shift();
      onChange();
      return message;
    },
    edit(id, content) {
      const message = kept.find((candidate) => candidate.id === id);
      if (message === undefined) return undefined;
      message.edits.push({ at: now(), content: message.content });
      message.content = content;
      onChange();
      return message;
    },
    remove(id) {
      const index = kept.findIndex((candidate) => candidate.id === id);
      if (index === -1) return false;
      kept.splice(index, 1);
      onChange();
      return true;
    },
  };
}
