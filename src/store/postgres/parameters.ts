import { columnTypes } from "../tables.ts";
import { toText } from "./texts.ts";

export const typeNames = columnTypes.postgres;
export const toValue = (value: unknown): unknown => {
  if (typeof value === "string") return toText(value);
  return Array.isArray(value) ? value.map(toValue) : (value ?? null);
};

/** One array a column. */
export const toArrays = (names: readonly string[], items: readonly Record<string, unknown>[]): unknown[][] =>
  names.map((name) => items.map((item) => toValue(item[name])));
