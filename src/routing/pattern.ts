import { RE2JS } from "re2js";
import { AppError } from "../core/errors.ts";

/** Texts are looked at up to here, so that one alert cannot hold up all the others. Facts are never longer. */
export const patternInputLimit = 20_000;

/**
 * A regular expression in RE2 syntax that is found anywhere in a text, in time linear in its length.
 * Throws `invalid_request` for a pattern that cannot be read.
 */
export function compilePattern(pattern: string): (text: string) => boolean {
  try {
    const compiled = RE2JS.compile(pattern);
    return (text) => compiled.test(text.slice(0, patternInputLimit));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AppError("invalid_request", `Pattern ${JSON.stringify(pattern)}: ${why}.`);
  }
}
