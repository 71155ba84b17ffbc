const shownCharacters = 48;

/** Forms of secrets of services that we use. No address, name or chat id has such a form. */
const secretForms: readonly RegExp[] = [
  // Telegram bot tokens.
  /(?<!\d)\d{5,}:[A-Za-z0-9_-]{25,}/,
  // Standard Webhooks, Slack, GitHub, ntfy.
  /whsec_[A-Za-z0-9+/=]{8,}/,
  /xox[a-z]-[A-Za-z0-9-]{8,}/,
  /gh[a-z]_[A-Za-z0-9]{20,}/,
  /\btk_[a-z0-9]{20,}/,
  // Incoming webhooks: the address is the secret.
  /hooks\.slack\.com\/(services|workflows|triggers)\/\w/,
  /discord(app)?\.com\/api\/(v\d+\/)?webhooks\/\d/,
  /[?&]sig=[\w%-]{20}/,
  // A password in an address.
  /^[a-z][a-z0-9+.-]*:\/\/[^/\s@:]*:[^/\s@]+@/i,
];

export function looksSecret(text: string): boolean {
  return secretForms.some((form) => form.test(text));
}

/** A value of the configuration for a message: quoted, short, on one line, never a secret. */
export function showValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "nothing (null)";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  if (typeof value !== "string") return String(value);
  if (looksSecret(value)) return "a secret (not shown)";
  return value.length > shownCharacters ? JSON.stringify(`${value.slice(0, shownCharacters)}…`) : JSON.stringify(value);
}
