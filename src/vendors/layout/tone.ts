import type { Severity } from "../../core/alert.ts";
import type { Document } from "../../core/document.ts";

/** What a vendor's colours, priorities and symbols go by. */
export type Tone = "resolved" | Severity;

export function toneOf({ status, severity }: Document): Tone {
  return status === "resolved" ? "resolved" : severity;
}

/** Readable on a light and on a dark ground. */
export const accents: Record<Tone, string> = {
  resolved: "#2e9e5b",
  critical: "#d92d20",
  warning: "#e08600",
  info: "#2f6fdb",
  unknown: "#7a7f87",
};
