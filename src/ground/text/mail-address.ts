import { domainToASCII } from "node:url";

/** A mailbox as people write it: `ops@example.com` or `Tocsin <ops@example.com>`. */
export interface MailAddress {
  /** Without its quotes. */
  name?: string;
  /** The local part as written, `@`, and the domain in ASCII (`xn--…`), lower case. */
  address: string;
}

/** RFC 5321, 4.5.3.1: 64 octets before the `@`, and 254 for the whole address. */
const maxLocalPart = 64;
const maxDomain = 253;
const maxAddress = 254;

/** RFC 5322 `dot-atom`. Quoted local parts are valid too, but only attackers use them. */
const dotAtom = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const domainLabel = /^[\p{L}\p{M}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?$/u;

/** Characters that could end a header line or hide in one: controls, separators, direction marks, lone surrogates. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/**
 * Whether `text` is one bare address for an SMTP command: a dot-atom, `@`, a domain name. International names are accepted, and
 * single labels such as `localhost`. Not accepted: display names, lists, quotes, comments, address literals, control characters.
 */
export function isMailAddress(text: string): boolean {
  return toAsciiAddress(text) !== undefined;
}

/** Reads `a@b` or `Name <a@b>`. */
export function parseMailAddress(text: string): MailAddress | undefined {
  if (unprintable.test(text)) return undefined;
  const trimmed = text.trim();
  const named = /^([^<>]*)<([^<>]+)>$/.exec(trimmed);
  if (named === null) {
    const address = toAsciiAddress(trimmed);
    return address === undefined ? undefined : { address };
  }
  const address = toAsciiAddress(named[2] ?? "");
  const name = readDisplayName((named[1] ?? "").trim());
  if (address === undefined || name === undefined) return undefined;
  return name === "" ? { address } : { name, address };
}

/** For an address that `isMailAddress` accepts. In ASCII. */
export function mailDomainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1);
}

function toAsciiAddress(text: string): string | undefined {
  const at = text.lastIndexOf("@");
  const local = text.slice(0, at);
  if (at < 1 || local.length > maxLocalPart || !dotAtom.test(local)) return undefined;
  const domain = toAsciiDomain(text.slice(at + 1));
  if (domain === undefined) return undefined;
  const address = `${local}@${domain}`;
  return address.length > maxAddress ? undefined : address;
}

function toAsciiDomain(domain: string): string | undefined {
  const labels = domain.split(".");
  if (!labels.every((label) => domainLabel.test(label))) return undefined;
  // `domainToASCII` reads a name that ends in a number as an IPv4 address.
  if (/^\d+$/.test(labels.at(-1) ?? "")) return undefined;
  const ascii = domainToASCII(domain);
  return ascii === "" || ascii.length > maxDomain ? undefined : ascii;
}

/** Removes quotes. An unquoted name may contain no character with a meaning in a mail header. */
function readDisplayName(name: string): string | undefined {
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(name);
  if (quoted !== null) return (quoted[1] ?? "").replaceAll(/\\(.)/g, "$1").trim();
  return /[",;:@\\()[\]]/.test(name) ? undefined : name;
}
