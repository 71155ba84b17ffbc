import { secretForms } from "../ground/text/redact.ts";
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

/** How `showValue` marks that it shows the beginning only. */
const cut = "…";

/**
 * The last look at what is told: a secret that was put into the wrong option must not be repeated by the complaint about
 * it. Every value that the file took from the environment counts as one.
 */
export function maskSecrets(
  problems: ConfigProblem[],
  env: Readonly<Record<string, string | undefined>>,
  referencedValues: string[],
): ConfigProblem[] {
  const forms = [...secretVariables.map((name) => env[name]?.trim() ?? ""), ...referencedValues]
    .filter((secret) => secret.length >= leastLength)
    .flatMap(secretForms)
    .flatMap((form) => [form, form.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")])
    .sort((a, b) => b.length - a.length);
  const mask = (text: string): string => {
    const masked = forms.reduce((rest, form) => rest.replaceAll(form, "***"), text);
    return masked.includes(cut) ? forms.reduce(maskBeginning, masked) : masked;
  };
  return problems.map((problem) => ({
    ...problem,
    message: mask(problem.message),
    ...(problem.instead === undefined ? {} : { instead: mask(problem.instead) }),
  }));
}

/** What is quoted may have been cut within the secret, which then is not found as a whole. */
function maskBeginning(text: string, secret: string): string {
  let masked = text;
  for (let length = secret.length - 1; length >= leastLength; length -= 1)
    masked = masked.replaceAll(`${secret.slice(0, length)}${cut}`, `***${cut}`);
  return masked;
}
