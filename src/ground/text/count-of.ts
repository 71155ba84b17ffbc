import { groupThousands } from "../numbers/format-number.ts";

/** `1 token`, `1,234 tokens`. With a plural of its own: `1 alert waits`, `1,234 alerts wait`. */
export function countOf(count: number, noun: string, several = `${noun}s`): string {
  return `${groupThousands(count)} ${count === 1 ? noun : several}`;
}

/** `a`, `a or b`, `a, b or c`. */
export const listed = (names: readonly string[], word: "and" | "or"): string =>
  [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(` ${word} `);
