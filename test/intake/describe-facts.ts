import type { AlertFacts } from "../../src/core/alert.ts";

/** Facts as text that a person reviews: one line a fact, in a fixed order. */
export function describeFacts(facts: AlertFacts): string {
  const { fields, notes, text, occurredAt, title, severity, status, format, alertKey, ...rest } = facts;
  const others = Object.entries(rest).filter(([, value]) => value !== undefined);
  const lines = [
    `title: ${title}`,
    `severity: ${severity}, status: ${status}, format: ${format}`,
    ...others.map(([name, value]) => `${name}: ${value}`),
    ...(occurredAt === undefined ? [] : [`occurredAt: ${new Date(occurredAt).toISOString()}`]),
    `alertKey: ${alertKey}`,
    ...(text === undefined ? [] : ["text:", ...text.split("\n").map((line) => `  | ${line}`)]),
    ...fields.map((field) => `- ${field.name}: ${field.value}`),
    ...notes.map((note) => `note: ${note}`),
  ];
  return `${lines.join("\n")}\n`;
}
