import type { ParsedMail } from "./received-mail.ts";

export interface Refusal {
  code: number;
  text: string;
}

/**
 * What the large mailbox providers refuse a mail for, in the words they use for it: a broken line, a line that is too
 * long, no single From, no Message-ID, a header twice that may be there once (RFC 5322, 2.1.1 and 3.6; Gmail's 550 5.7.1).
 */
export function findRefusal(mail: ParsedMail): Refusal | undefined {
  if (/[^\r]\n|^\n|\r(?!\n)/.test(mail.source))
    return { code: 550, text: "5.6.11 The message contains a bare CR or LF" };
  if (/[^\r\n]{999}/.test(mail.source))
    return { code: 550, text: "5.6.0 A line of the message is longer than 998 characters" };
  if (mail.source.includes("\0")) return { code: 550, text: "5.6.0 The message contains NUL" };
  for (const name of [
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "In-Reply-To",
    "References",
    "MIME-Version",
  ]) {
    const count = mail.headers.filter((header) => header.name.toLowerCase() === name.toLowerCase()).length;
    if (count > 1) return { code: 550, text: `5.7.1 The message has more than one ${name} header` };
    if (count === 0 && (name === "From" || name === "Message-ID" || name === "Date")) {
      return { code: 550, text: `5.7.1 The message has no valid ${name} header` };
    }
  }
  if (!/[^\s<>@]@[^\s<>@]/.test(mail.from))
    return { code: 550, text: "5.7.1 The message has no valid From header" };
  return undefined;
}

/** Postfix's `reject_non_fqdn_helo_hostname`: a full name, or an address in brackets. */
export function isGoodHelo(name: string): boolean {
  return (
    /^\[[0-9A-Fa-f:.]+\]$|^\[IPv6:[0-9A-Fa-f:.]+\]$/.test(name) ||
    /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$/.test(name)
  );
}
