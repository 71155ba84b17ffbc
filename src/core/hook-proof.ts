import { createHmac, timingSafeEqual } from "node:crypto";
import type { ArrivedBody } from "./arrived-body.ts";
import type { Secret } from "./secret.ts";

/**
 * Before a program sends the hook's secret to an address, it asks whether a relay there knows the secret too. It also
 * learns whether a body arrives there whole:
 *
 *     GET  /hooks/proof.<nonce>.<mac of the question>  →  200 {"data":{"relay":"<id>","mac":"<mac of the answer>"}}
 *     POST the same, with a body                       →  200 and in `data` also "body":{"bytes":…,"sha256":"…"}
 *
 * The macs are HMACs under the secret: of the nonce, and of the nonce, the relay's id and the body's hash. A stranger
 * who asks gets the 404 of every unknown path. A stranger who is asked learns nothing. The relay stores and counts
 * nothing. A question costs it one hash for each accepted secret and one of the body.
 */
const prefix = "proof.";
/** 256 bits in base64url. */
const partLength = 43;
const questionForm = /^proof\.([\w-]{43})\.([\w-]{43})(?:\.([\w-]{43}))?$/;
const longestQuestion = prefix.length + 3 * partLength + 2;

export interface Proof {
  /** The id of the relay. It is new after each start. */
  relay: string;
  /** Size and hash of the question's body as it arrived. Absent after GET. */
  body?: ArrivedBody;
}

/**
 * The part of the path after `/hooks/`. `nonce`: 32 fresh random bytes in base64url.
 * @param known another secret that the relay surely accepts. If it does not know `secret`, that then counts as no guess
 */
export function askForProof(secret: Secret, nonce: string, known?: Secret): string {
  const macs = [secret, known].flatMap((one) => (one ? macOf(one.reveal(), `question ${nonce}`) : []));
  return `${prefix}${nonce}.${macs.join(".")}`;
}

/** A question by a program that knows one of the secrets. */
export interface ProofQuestion {
  nonce: string;
  /** The secret that the question is about. Absent: the relay does not accept it. */
  secret?: Buffer;
}

/** @returns undefined for a stranger's question, and for any other text */
export function readQuestion(secrets: readonly Buffer[], given: string): ProofQuestion | undefined {
  if (given.length > longestQuestion) return undefined;
  const [, nonce, asked, known] = questionForm.exec(given) ?? [];
  if (nonce === undefined || asked === undefined) return undefined;
  const find = (mac: string) => secrets.find((secret) => isSame(macOf(secret, `question ${nonce}`), mac));
  const secret = find(asked);
  if (secret !== undefined) return { nonce, secret };
  return known !== undefined && find(known) !== undefined ? { nonce } : undefined;
}

export function answerQuestion(nonce: string, secret: Buffer, proof: Proof): string {
  return JSON.stringify({ data: { ...proof, mac: macOf(secret, answerText(nonce, proof)) } });
}

/** @returns undefined for anything but the answer of a relay that knows the secret */
export function readProof(secret: Secret, nonce: string, answer: string): Proof | undefined {
  try {
    const { relay, body, mac } = (JSON.parse(answer) as { data: Proof & { mac: string } }).data;
    if (typeof relay !== "string" || typeof mac !== "string") return undefined;
    return isSame(macOf(secret.reveal(), answerText(nonce, { relay, body })), mac) ? { relay, body } : undefined;
  } catch {
    return undefined;
  }
}

function answerText(nonce: string, { relay, body }: Proof): string {
  const words = ["answer", nonce, relay];
  if (body !== undefined) words.push("body", String(body.bytes), body.sha256, body.encoding ?? "");
  return words.join(" ");
}

function macOf(secret: string | Buffer, text: string): string {
  return createHmac("sha256", secret).update(`tocsin hook proof: ${text}`).digest("base64url");
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}
