import type { FactMapping } from "./mapping.ts";
import type { ReadySenderName } from "./ready-senders.ts";
import type { Secret } from "./secret.ts";
import type { SignedPart } from "./signed-text.ts";

/** Where a sender keeps its own key of an event: in a header (lower case), or at a path of the body. */
export type KeyPlace = { header: string } | { path: string };

/** A named hook besides the account's: what came by it carries the name as the fact `source`. */
export interface Source {
  /** `isSourceName`. */
  name: string;
  /** Looked at before the usual headers and the paths of all hooks. */
  keyPlaces: KeyPlace[];
  /** Comes before the mapping of all hooks, fact by fact. */
  mapping: FactMapping;
  /** All have to be passed; none: a request to the address is taken for the sender's. */
  checks: CheckRule[];
}

/** It stands in names of files, labels and addresses: small letters, digits, `-` and `_`, 40 at most. */
export function isSourceName(text: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,39}$/.test(text);
}

/** The name of the account's own hook in lists of sources. */
export const accountHook = "hook";

export const hmacAlgorithms = ["sha1", "sha256", "sha512"] as const;
export const hmacEncodings = ["hex", "base64"] as const;

/** How a sender signs with HMAC, as it is written. Names of headers in any case. */
export interface HmacOptions {
  /** Has the signature. */
  header: string;
  /** Default `sha256`. */
  algorithm?: (typeof hmacAlgorithms)[number];
  /** Default `hex`. */
  encoding?: (typeof hmacEncodings)[number];
  /** Before the signature in the header. Default none. */
  prefix?: string;
  /** See `parseSignedText`. Default `{body}`. */
  signs?: string;
  /** The header that has the time of the signature; it is among what is signed. Default: none is looked at. */
  time?: string;
}

/** The same as it is checked: names of headers in lower case. */
export interface HmacForm extends Required<Pick<HmacOptions, "header" | "algorithm" | "encoding" | "prefix">> {
  signs: readonly SignedPart[];
  time?: { header: string; toleranceMs: number };
}

/** What the sender of a request has to prove besides knowing the address. With several secrets any of them will do. */
export type CheckRule =
  | { type: "standard-webhooks" | "stripe"; secrets: Secret[]; toleranceMs: number }
  | ({ type: "hmac" | ReadySenderName; secrets: Secret[] } & HmacForm)
  | { type: "basic"; user: string; secrets: Secret[] }
  | { type: "bearer"; secrets: Secret[] }
  /** Ranges as `createIpRanges` takes them. */
  | { type: "addresses"; ranges: string[] };

/** Whether what is signed says which message it is, so that one that is sent again is known. */
export function signsMessage(rule: CheckRule): boolean {
  if ("signs" in rule) return rule.signs.length > 1;
  return rule.type === "standard-webhooks" || rule.type === "stripe";
}

/**
 * Whether its sender signs what it says and nothing by which a message is known: then anybody who has seen a request can
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
/** Why a request was refused that had a source's secret. */
export type RefusedReason = (typeof refusedReasons)[number];

/** For people, without any secret: `github`, `hmac of x-signature`, `addresses 10.0.0.0/8`. */
export function describeCheck(rule: CheckRule): string {
  if (rule.type === "hmac") return `hmac of ${rule.header}`;
  return rule.type === "addresses" ? `addresses ${rule.ranges.join(" ")}` : rule.type;
}
