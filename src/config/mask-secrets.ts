import type { ConfigProblem } from "./config-error.ts";

const secretVariables = [
  "WEBHOOK_SECRET",
  "ADMIN_TOKEN",
  "ALERTING_API_KEY",
  "PRICING_API_KEY",
  "TELEGRAM_BOT_TOKEN",
  "SMTP_URL",
] as const;

/** Shorter ones would blot out ordinary words, and no secret worth the name is so short. */
const leastLength = 6;

/**
 * The last look at what is told: a secret that was put into the wrong option must not be repeated by the complaint about
 * it. Every value that the file took from the environment counts as one.
 */
export function maskSecrets(
  problems: ConfigProblem[],
  env: Readonly<Record<string, string | undefined>>,
  referencedValues: string[],
): ConfigProblem[] {
  const secrets = [...secretVariables.map((name) => env[name]?.trim() ?? ""), ...referencedValues]
    .filter((secret) => secret.length >= leastLength)
    .sort((a, b) => b.length - a.length);
  const mask = (text: string): string =>
    secrets.reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
  return problems.map((problem) => ({
    ...problem,
    message: mask(problem.message),
    ...(problem.instead === undefined ? {} : { instead: mask(problem.instead) }),
  }));
}
