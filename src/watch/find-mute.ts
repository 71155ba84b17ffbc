import type { AlertFacts } from "../core/alert.ts";
import { AppError } from "../core/errors.ts";
import type { Mute } from "../core/rules.ts";
import { compileMatchers } from "../matching/judge.ts";

/** The first of these mutes that matches a notice. One that cannot be read mutes nothing, as for alerts. */
export function findMuteOf(facts: AlertFacts, mutes: Mute[]): Mute | undefined {
  return mutes.find(({ matchers, isDisabled }) => {
    if (isDisabled) return false;
    try {
      return compileMatchers(matchers).holds({ facts, origin: "notice" });
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  });
}
