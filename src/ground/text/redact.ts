/** Replaces every known secret in a text by `***`, in the forms in which others may repeat it. */
export type Redact = (text: string) => string;

/** @param options.leastLength shorter secrets are not replaced, since ordinary words would be. Default 4 */
export function createRedactor(secrets: readonly string[], { leastLength = 4 } = {}): Redact {
  const known = secrets.filter((secret) => secret !== "" && secret.length >= leastLength);
  // The longest first: otherwise a part is replaced, and the rest of the secret remains.
  const forms = [...new Set(known.flatMap(secretForms))].toSorted((a, b) => b.length - a.length);
  return (text) => forms.reduce((clean, form) => clean.replaceAll(form, "***"), text);
}

/**
 * The secret unchanged, in JSON (also with escaped slashes), in an address, in base64 as SMTP and `Authorization:
 * Basic` use it (without the final `=`), and quoted in a pattern.
 */
export function secretForms(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  const inBase64 = Buffer.from(secret, "utf8")
    .toString("base64")
    .replace(/={1,2}$/, "");
  const inAddress = encodeURIComponent(secret.toWellFormed());
  const forms = [secret, inJson, inJson.replaceAll("/", "\\/"), inAddress, inBase64];
  return [...new Set(forms.flatMap((form) => [form, form.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")]))];
}
