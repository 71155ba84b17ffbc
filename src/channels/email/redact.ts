import type { EmailAccount } from "../../core/rules.ts";

/**
 * Takes an account's password out of a text: as it is, and in the forms in which SMTP carries it. A server may echo
 * what it was sent in its refusal.
 */
export function createRedactor(account: EmailAccount): (text: string) => string {
  const password = account.password?.reveal() ?? "";
  if (password === "") return (text) => text;
  const base64 = (text: string): string => Buffer.from(text, "utf8").toString("base64");
  const forms = [
    base64(`\0${account.user ?? ""}\0${password}`),
    base64(password).replace(/(?<!=)=+$/, ""),
    encodeURIComponent(password),
    JSON.stringify(password).slice(1, -1),
    password,
  ].toSorted((a, b) => b.length - a.length);
  return (text) => forms.reduce((clean, form) => clean.replaceAll(form, "***"), text);
}
