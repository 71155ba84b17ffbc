import { type Env, envText } from "./read-env.ts";
import type { ProblemList } from "./shape/problem-list.ts";

/**
 * Pairs of variables of which one alone does nothing. Somebody who sets a mail server and forgets the addresses believes
 * that mail will come, and finds out when it does not.
 */
export function warnOfHalves(env: Env, hasWrittenDestinations: boolean, problems: ProblemList): void {
  const warn = (given: string, missing: string, effect: string) => {
    if (envText(env, given) === undefined || envText(env, missing) !== undefined) return;
    problems.warn(missing, `is not set, though ${given} is: ${effect}`, `set ${missing}, or unset ${given}`);
  };
  // Written destinations take server and bot from these variables, and name mailboxes and chats themselves.
  if (!hasWrittenDestinations) {
    warn("SMTP_URL", "EMAIL_TO", "nobody gets mail");
    warn("TELEGRAM_BOT_TOKEN", "TELEGRAM_CHAT_IDS", "no chat gets anything");
  }
  warn("ALERTING_URL", "ALERTING_API_KEY", "setup cannot reach the account");
  warn("ALERTING_API_KEY", "ALERTING_URL", "setup cannot reach the account");
}
