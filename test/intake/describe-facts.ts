import type { AlertFacts } from "../../src/core/alert.ts";
import { translateRequest } from "../../src/intake/translate.ts";

/** Bytes and texts as they are, and anything else as JSON. */
export const bytesOf = (body: unknown): Uint8Array =>
  body instanceof Uint8Array ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));

export const translate = (body: unknown, type?: string, options?: Parameters<typeof translateRequest>[2]) =>
  translateRequest(bytesOf(body), type, options);

/** What is read of the only alert of a body, or of its first. */
export function readFacts(body: unknown, contentType?: string): AlertFacts {
  const [translation] = translate(body, contentType);
  if (translation === undefined) throw new Error("no translation");
  return translation.facts;
}

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
