import type { FactMapping } from "./mapping.ts";
import type { ReadySenderName } from "./ready-senders.ts";
import type { Secret } from "./secret.ts";
import type { SignedPart } from "./signed-text.ts";

/** The place of a sender's own key of an event: a header (lower case), or a path of the body. */
export type KeyPlace = { header: string } | { path: string };

/** A named hook besides the account's. Its alerts have the name as the fact `source`. */
export interface Source {
  /** See `isSourceName`. */
  name: string;
  /** Places that are tried before the usual headers and the paths of all hooks. */
  keyPlaces: KeyPlace[];
  /** Applied before the mapping of all hooks, fact by fact. */
  mapping: FactMapping;
  /** A request has to pass all. Empty: every request to the address is accepted as the sender's. */
  checks: CheckRule[];
}

/** Names of files, labels and addresses contain the name: small letters, digits, `-` and `_`, at most 40. */
export function isSourceName(text: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,39}$/.test(text);
}

/** The name of the account's own hook in lists of sources. */
export const accountHook = "hook";

export const hmacAlgorithms = ["sha1", "sha256", "sha512"] as const;
export const hmacEncodings = ["hex", "base64"] as const;

/** How a sender signs with HMAC, as configured. Header names in any case. */
export interface HmacOptions {
  /** The header with the signature. */
  header: string;
  /** Default `sha256`. */
  algorithm?: (typeof hmacAlgorithms)[number];
  /** Default `hex`. */
  encoding?: (typeof hmacEncodings)[number];
  /** The text before the signature in the header. Default none. */
  prefix?: string;
  /** See `parseSignedText`. Default `{body}`. */
  signs?: string;
  /** The header with the time of the signature, which is part of the signed text. Default: no time is checked. */
  time?: string;
}

/** The same for checking: header names in lower case. */
export interface HmacForm extends Required<Pick<HmacOptions, "header" | "algorithm" | "encoding" | "prefix">> {
  signs: readonly SignedPart[];
  time?: { header: string; toleranceMs: number };
}

/** What the sender of a request has to prove besides knowing the address. Any one of several secrets is enough. */
export type CheckRule =
  | { type: "standard-webhooks" | "stripe"; secrets: Secret[]; toleranceMs: number }
  | ({ type: "hmac" | ReadySenderName; secrets: Secret[] } & HmacForm)
  | { type: "basic"; user: string; secrets: Secret[] }
  | { type: "bearer"; secrets: Secret[] }
  /** Ranges for `createIpRanges`. */
  | { type: "addresses"; ranges: string[] };

/** Whether the signed text identifies the message, so a replay is recognised. */
export function signsMessage(rule: CheckRule): boolean {
  if ("signs" in rule) return rule.signs.length > 1;
  return rule.type === "standard-webhooks" || rule.type === "stripe";
}

/**
 * Whether the sender signs the content without anything that identifies the message. Then anyone who has seen a request can
 * send it again under another id.
 */
export function signsBodyAlone(checks: readonly CheckRule[]): boolean {
  return checks.some((rule) => "signs" in rule) && !checks.some(signsMessage);
}

export const refusedReasons = [
  "no_signature",
  "malformed_signature",
  "wrong_signature",
  "too_old",
  "in_future",
  "no_credentials",
  "wrong_credentials",
  "wrong_address",
] as const;
/** Why a request with a source's secret was refused. */
export type RefusedReason = (typeof refusedReasons)[number];

/** For people, without secrets: `github`, `hmac of x-signature`, `addresses 10.0.0.0/8`. */
export function describeCheck(rule: CheckRule): string {
  if (rule.type === "hmac") return `hmac of ${rule.header}`;
  return rule.type === "addresses" ? `addresses ${rule.ranges.join(" ")}` : rule.type;
}
