import { groupThousands } from "../numbers/format-number.ts";

/** `1 token`, `1,234 tokens`. */
export function countOf(count: number, noun: string): string {
  return `${groupThousands(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** `a`, `a or b`, `a, b or c`. */
export const listed = (names: readonly string[], word: "and" | "or"): string =>
  [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(` ${word} `);
