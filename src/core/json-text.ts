import { JsonNumber } from "./json.ts";

const jsonNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/**
 * As `JSON.stringify` without indentation, except that a `JsonNumber` keeps its digits: an amount beyond the precision of
 * a double passes through unchanged. `undefined` and functions are left out of objects and are null in arrays.
 */
export function writeJson(value: unknown): string {
  if (value instanceof JsonNumber) {
    return jsonNumber.test(value.text) ? value.text : JSON.stringify(value.text);
  }
  if (Array.isArray(value)) return `[${value.map(writeJson).join(",")}]`;
  if (typeof value === "object" && value !== null && !(value instanceof Date)) {
    const members = Object.entries(value)
      .filter(([, member]) => isWritable(member))
      .map(([name, member]) => `${JSON.stringify(name)}:${writeJson(member)}`);
    return `{${members.join(",")}}`;
  }
  return isWritable(value) ? (JSON.stringify(value) ?? "null") : "null";
}

function isWritable(value: unknown): boolean {
  return (
    value !== undefined &&
    typeof value !== "function" &&
    typeof value !== "symbol" &&
    typeof value !== "bigint"
  );
}
