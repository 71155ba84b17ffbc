import { columnTypes } from "../tables.ts";

export const typeNames = columnTypes.postgres;

/** A column of type `text` takes all characters but U+0000: that becomes U+FFFD. JSON escapes it. */
export const toText = (text: string): string => text.replaceAll("\0", "\ufffd");

export const toValue = (value: unknown): unknown => {
  if (typeof value === "string") return toText(value);
  return Array.isArray(value) ? value.map(toValue) : (value ?? null);
};

/** One array for each column. */
export const toArrays = (names: readonly string[], items: readonly Record<string, unknown>[]): unknown[][] =>
  names.map((name) => items.map((item) => toValue(item[name])));
