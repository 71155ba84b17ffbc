import { createHash, createHmac, type Hash, type Hmac, hash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { readySenderOf } from "../../core/ready-senders.ts";
import type { Secret } from "../../core/secret.ts";
import { type CheckRule, type HmacForm, type RefusedReason, signsMessage } from "../../core/source.ts";
import { createIpRanges } from "../../ground/net/ip-ranges.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { headerText } from "../key/explicit-key.ts";

export interface CheckedRequest {
  /** Names in lower case. */
  headers: IncomingHttpHeaders;
  body: Uint8Array;
  /** The body before it was decompressed. Default: `body`. */
  sent?: Uint8Array;
  /** As far as trusted proxies name it. Called only by a check of addresses. */
  address(): string;
  /** Epoch milliseconds. */
  at: number;
}

export type CheckResult =
  /** `key`: names the message by its signature. The same request again is then a duplicate. */
  | { ok: true; key?: string }
  /** `detail` is for people. It contains nothing that was sent or is expected. */
  | { ok: false; reason: RefusedReason; detail: string };

export type SenderCheck = (request: CheckedRequest) => CheckResult;

const passed: CheckResult = { ok: true };
const fail = (reason: RefusedReason, detail: string): CheckResult => ({ ok: false, reason, detail });

/** All rules must be passed. The first that fails gives the result. Never throws. */
export function createSenderCheck(rules: readonly CheckRule[]): SenderCheck {
  const checks = rules.map(createCheck);
  return (request) => {
    let result = passed;
    for (const check of checks) {
      const one = check(request);
      if (!one.ok) return one;
      if (one.key !== undefined) result = one;
    }
    return result;
  };
}

function createCheck(rule: CheckRule): SenderCheck {
  if ("signs" in rule) return composedHmac(rule);
  switch (rule.type) {
    case "standard-webhooks":
      return standardWebhooks(rule.secrets, rule.toleranceMs);
    case "stripe":
      return stripe(rule.secrets, rule.toleranceMs);
    case "basic":
    case "bearer":
      return authorization(rule);
    case "addresses": {
      const ranges = createIpRanges(rule.ranges);
      return ({ address }) => {
        const client = address();
        return ranges.includes(client)
          ? passed
          : fail("wrong_address", `${client} is not in the ranges of this source`);
      };
    }
    default:
      return rule satisfies never;
  }
}

/** https://github.com/standard-webhooks/standard-webhooks, also under Svix's older header names. */
function standardWebhooks(secrets: readonly Secret[], toleranceMs: number): SenderCheck {
  const keys = secrets.map((secret) => Buffer.from(secret.reveal().replace(/^whsec_/, ""), "base64"));
  return ({ headers, body, at }) => {
    const family = familyOf(headers);
    const [id, time, signatures] = ["id", "timestamp", "signature"].map((name) =>
      headerText(headers[`${family}-${name}`]),
    );
    if (!id || !time || !signatures) {
      const missing = !signatures ? "signature" : !id ? "id" : "timestamp";
      return fail("no_signature", `the header ${family}-${missing} is missing`);
    }
    // Other versions need other keys.
    const given = signatures.split(" ").flatMap((part) => readDigest(/^v1,(.+)$/.exec(part)?.[1], "base64") ?? []);
    const expected = keys.map((key) => hmac("sha256", key, `${id}.${time}.`, body));
    const isSigned = given.some((digest) => isAnyOf(digest, expected));
    if (!isSigned) return fail("wrong_signature", `no signature in ${family}-signature is one of this source's`);
    if (holdsTime.test(id))
      return fail("malformed_signature", `the header ${family}-id holds a time between dots, as the signed text does`);
    // Both families of headers sign the same text, so the key is the same. Otherwise a request could be repeated under
    // the other names.
    return judgeTime(time, at, toleranceMs) ?? { ok: true, key: `webhook-id:${id}` };
  };
}

function familyOf(headers: IncomingHttpHeaders): "svix" | "webhook" {
  return headers["webhook-signature"] === undefined && headers["svix-signature"] !== undefined ? "svix" : "webhook";
}

/** The key that `standardWebhooks` returns, without a check of the signature: for requests that a person releases. */
export function claimedKey(rules: readonly CheckRule[], headers: IncomingHttpHeaders): string | undefined {
  const id = headerText(headers[`${familyOf(headers)}-id`]);
  return id !== "" && rules.some(({ type }) => type === "standard-webhooks") ? `webhook-id:${id}` : undefined;
}

/** Finds a time inside an id. The signed text is `id.time.body`: a stranger could move the body's beginning into the id. */
const holdsTime = /\.\d{9,12}(?:\.|$)/;

/** `Stripe-Signature: t=1492774577,v1=5257a8…,v1=…` over the time, a dot and the body. */
function stripe(secrets: readonly Secret[], toleranceMs: number): SenderCheck {
  return ({ headers, body, at }) => {
    const text = headerText(headers["stripe-signature"]);
    if (text === "") return fail("no_signature", "the header stripe-signature is missing");
    const parts = text.split(",").map((part) => part.trim());
    const [time] = parts.flatMap((part) => /^t=(.+)$/.exec(part)?.[1] ?? []);
    const given = parts.flatMap((part) => /^v1=([0-9a-f]{64})$/i.exec(part)?.[1] ?? []);
    if (time === undefined || given.length === 0)
      return fail("malformed_signature", "the header stripe-signature has no t and v1");
    const expected = secrets.map((secret) => hmac("sha256", secret.reveal(), `${time}.`, body));
    if (!given.some((hex) => isAnyOf(Buffer.from(hex, "hex"), expected)))
      return fail("wrong_signature", "no v1 in stripe-signature is one of this source's");
    // The key is the signed content. A stranger can leave out one of several signatures.
    const digest = hash("sha256", body);
    return judgeTime(time, at, toleranceMs) ?? { ok: true, key: `stripe-signature:${time}.${digest}` };
  };
}

/** A signature over the body, alone or with headers. Without a signed time, a stranger can repeat the request. */
function composedHmac(rule: HmacForm & Extract<CheckRule, { signs: unknown }>): SenderCheck {
  const { secrets, header, algorithm, encoding, prefix, signs, time } = rule;
  const isKnown = signsMessage(rule);
  const named = signs.flatMap((part) => ("header" in part ? [part.header] : []));
  const isOpen = signs.some((part) => "body" in part && part.body === "body:open");
  return ({ headers, body, sent = body, at }) => {
    const missing = [header, ...named].find((name) => headerText(headers[name]) === "");
    if (missing !== undefined) return fail("no_signature", `the header ${missing} is missing`);
    const text = headerText(headers[header]);
    if (!text.startsWith(prefix))
      return fail("malformed_signature", `the header ${header} does not begin with ${prefix}`);
    if (isOpen && body.at(-1) !== closingBrace)
      return fail("malformed_signature", "the body does not end with the brace before which the time is signed");
    const digestOf = (digest: Hash | Hmac) => {
      for (const part of signs) {
        if ("text" in part) digest.update(part.text);
        else if ("header" in part) digest.update(headerText(headers[part.header]), "latin1");
        else digest.update(part.body === "sent" ? sent : part.body === "body" ? body : body.subarray(0, -1));
      }
      return digest.digest();
    };
    const given = readDigest(text.slice(prefix.length).trim(), encoding);
    if (given === undefined) return fail("malformed_signature", `the signature in ${header} is not ${encoding} alone`);
    const isSigned = secrets.some((secret) => isAnyOf(given, [digestOf(createHmac(algorithm, secret.reveal()))]));
    if (!isSigned) return fail("wrong_signature", `the signature in ${header} is not this source's`);
    const late = time && judgeTime(headerText(headers[time.header]), at, time.toleranceMs);
    if (late !== undefined) return late;
    // The key is the signed content: the signature does not show where one part ends and the next begins.
    return isKnown ? { ok: true, key: `${header}:${digestOf(createHash("sha256")).toString("hex")}` } : passed;
  };
}

/** `Buffer.from` stops at an unknown character. It would accept a right signature with anything after it. */
function readDigest(text = "", encoding: HmacForm["encoding"]): Buffer | undefined {
  const bytes = Buffer.from(text, encoding);
  const given = encoding === "hex" ? text.toLowerCase() : text.replaceAll("-", "+").replaceAll("_", "/");
  const withoutEnd = (written: string) => written.replace(/={1,2}$/, "");
  return withoutEnd(bytes.toString(encoding)) === withoutEnd(given) ? bytes : undefined;
}

const closingBrace = 0x7d;

export function wants200(rules: readonly CheckRule[]): boolean {
  return rules.some(({ type }) => readySenderOf(type)?.wants200);
}

function authorization(rule: Extract<CheckRule, { type: "basic" | "bearer" }>): SenderCheck {
  const scheme = rule.type === "basic" ? "Basic" : "Bearer";
  const user = rule.type === "basic" ? `${rule.user}:` : "";
  const expected = rule.secrets.map((secret) => `${user}${secret.reveal()}`);
  return ({ headers }) => {
    const sent = headerText(headers.authorization);
    if (sent === "") return fail("no_credentials", "the header authorization is missing");
    const [, kind, given] = /^(\S+) +(\S+)$/.exec(sent) ?? [];
    if (given === undefined || kind?.toLowerCase() !== rule.type)
      return fail("wrong_credentials", `the header authorization is not of the kind ${scheme}`);
    const text = rule.type === "basic" ? Buffer.from(given, "base64").toString() : given;
    if (isOneOf(text, expected)) return passed;
    return fail("wrong_credentials", "the header authorization has other credentials than this source's");
  };
}

/** Called after the check of the signature. Undefined: the time is near enough. */
function judgeTime(text: string, at: number, toleranceMs: number): CheckResult | undefined {
  const signedAt = readSignedTime(text);
  if (signedAt === undefined) return fail("malformed_signature", "the time that was signed cannot be read");
  const behindMs = at - signedAt;
  if (behindMs > toleranceMs) {
    const dated = `its signature is right, but dated ${formatDuration(behindMs)} before it arrived`;
    return fail("too_old", `${dated}: a request that somebody repeats, or clocks that differ`);
  }
  if (-behindMs > toleranceMs)
    return fail(
      "in_future",
      `its signature is right, but dated ${formatDuration(-behindMs)} after it arrived: clocks differ`,
    );
  return undefined;
}

/** Reads seconds or milliseconds since 1970, ISO 8601, an HTTP date, or a time as Go prints it. Epoch milliseconds. */
function readSignedTime(text: string): number | undefined {
  if (/^\d{1,12}$/.test(text)) return Number(text) * 1000;
  if (/^\d{13}$/.test(text)) return Number(text);
  // Go: 2023-10-25 08:30:30.386157172 +0000 UTC m=+3512798.196320121
  const [, day, time, hours, minutes] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?) ?(?:Z|([+-]\d\d):?(\d\d))/.exec(text) ?? [];
  const read =
    day !== undefined
      ? Date.parse(`${day}T${time}${hours === undefined ? "Z" : `${hours}:${minutes}`}`)
      : text.endsWith(" GMT")
        ? Date.parse(text)
        : Number.NaN;
  return Number.isNaN(read) ? undefined : read;
}

function hmac(algorithm: string, key: string | Buffer, before: string, body: Uint8Array): Buffer {
  return createHmac(algorithm, key).update(before).update(body).digest();
}

/** Compares with all, in a time that does not show the place of a difference. */
function isAnyOf(given: Buffer, expected: readonly Buffer[]): boolean {
  let isFound = false;
  for (const one of expected) if (one.length === given.length && timingSafeEqual(one, given)) isFound = true;
  return isFound;
}

/** Compares hashes, whose length is the same for all, so the time does not show a length. */
function isOneOf(given: string, expected: readonly string[]): boolean {
  const digest = (text: string) => hash("sha256", text, "buffer");
  return isAnyOf(digest(given), expected.map(digest));
}
