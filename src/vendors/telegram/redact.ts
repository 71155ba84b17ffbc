import { oneLine } from "../../ground/text/clean.ts";
import { createRedactor } from "../../ground/text/redact.ts";

/** Hides the token, and its part without the bot's number, in what came back, and cuts to what a page shows. */
export function createDetailRedactor(token: string): (detail: string) => string {
  const redact = createRedactor([token, token.slice(token.indexOf(":") + 1)]);
  return (detail) => oneLine(redact(detail), 300);
}
