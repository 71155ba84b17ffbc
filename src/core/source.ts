import type { FactMapping } from "./mapping.ts";
import type { ReadySenderName } from "./ready-senders.ts";
import type { Secret } from "./secret.ts";
import type { SignedPart } from "./signed-text.ts";

/** Where a sender's own key of an event is: in a header (lower case), or at a path of the body. */
export type KeyPlace = { header: string } | { path: string };

/** A named hook besides the account's. Its name is the fact `source` of its alerts. */
export interface Source {
  name: string;
  /** Tried before the usual headers, and the paths that apply to all hooks. */
  keyPlaces: KeyPlace[];
  /** For each fact it comes before the mapping that applies to all hooks. */
  mapping: FactMapping;
  /** A request must pass all. Empty: knowing the address is enough. */
  checks: CheckRule[];
}

/** Small letters, digits, `-` and `_`, at most 40: files, labels and addresses contain the name. */
export function isSourceName(text: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,39}$/.test(text);
}

/** The account's own hook in lists of sources. */
export const accountHook = "hook";

export const hmacAlgorithms = ["sha1", "sha256", "sha512"] as const;
export const hmacEncodings = ["hex", "base64"] as const;

/** How a sender signs with HMAC, as configured. */
export interface HmacOptions {
  /** The header with the signature, in any case. */
  header: string;
  /** Default `sha256`. */
  algorithm?: (typeof hmacAlgorithms)[number];
  /** Default `hex`. */
  encoding?: (typeof hmacEncodings)[number];
  /** What the header has before the signature. Default none. */
  prefix?: string;
  /** See `parseSignedText`. Default `{body}`. */
  signs?: string;
  /** The header with the time of the signature. The time is part of the signed text. Default: no time is checked. */
  time?: string;
}

/** `HmacOptions` with the defaults, and header names in lower case. */
export interface HmacForm extends Required<Pick<HmacOptions, "header" | "algorithm" | "encoding" | "prefix">> {
  signs: readonly SignedPart[];
  time?: { header: string; toleranceMs: number };
}

/** What a sender must prove besides knowing the address. One of several secrets is enough. */
export type CheckRule =
  | { type: "standard-webhooks" | "stripe"; secrets: Secret[]; toleranceMs: number }
  | ({ type: "hmac" | ReadySenderName; secrets: Secret[] } & HmacForm)
  | { type: "basic"; user: string; secrets: Secret[] }
  | { type: "bearer"; secrets: Secret[] }
  /** Ranges for `createIpRanges`. */
  | { type: "addresses"; ranges: string[] };

/** Whether the signed text identifies the message, so that a replay is recognised. */
export function signsMessage(rule: CheckRule): boolean {
  if ("signs" in rule) return rule.signs.length > 1;
  return rule.type === "standard-webhooks" || rule.type === "stripe";
}

/** Whether the sender signs the content alone. A stranger who has seen a request can then send it again under another id. */
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
export type RefusedReason = (typeof refusedReasons)[number];

/** For people, without secrets: `github`, `hmac of x-signature`, `addresses 10.0.0.0/8`. */
export function describeCheck(rule: CheckRule): string {
  if (rule.type === "hmac") return `hmac of ${rule.header}`;
  return rule.type === "addresses" ? `addresses ${rule.ranges.join(" ")}` : rule.type;
}
