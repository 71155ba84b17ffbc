import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "../../core/secret.ts";

/**
 * How whoever knows the hook's secret finds out whether a relay that knows it too is behind an address, before the
 * secret itself is sent there:
 *
 *     GET /hooks/proof.<nonce>.<mac of the question>  →  200 {"data":{"relay":"<id>","mac":"<mac of the answer>"}}
 *
 * Both are HMACs under the secret: of the nonce, and of the nonce and the relay's id. Only who knows the secret can ask,
 * and only who knows it can answer; a stranger who asks gets the 404 of every unknown path, and a stranger who is asked
 * learns nothing. Nothing is stored or counted. A question costs a hash for each secret that is taken.
 */
const prefix = "proof.";
/** 256 bits in base64url. */
const partLength = 43;
const questionLength = prefix.length + partLength + 1 + partLength;

/** What stands behind `/hooks/`. @param nonce 32 fresh random bytes in base64url */
export function askForProof(secret: Secret, nonce: string): string {
  return `${prefix}${nonce}.${macOf(secret.reveal(), `question ${nonce}`)}`;
}

/** The body of the answer; undefined unless somebody asks who knows one of the secrets. */
export function answerForProof(secrets: readonly Buffer[], given: string, relayId: string): string | undefined {
  if (given.length !== questionLength || !given.startsWith(prefix)) return undefined;
  const nonce = given.slice(prefix.length, prefix.length + partLength);
  const mac = given.slice(-partLength);
  const secret = secrets.find((known) => isSame(macOf(known, `question ${nonce}`), mac));
  if (secret === undefined) return undefined;
  return JSON.stringify({ data: { relay: relayId, mac: macOf(secret, `answer ${nonce} ${relayId}`) } });
}

/** The id of the relay that has answered, another one after each start; undefined for any other answer. */
export function readProof(secret: Secret, nonce: string, body: string): string | undefined {
  try {
    const { relay, mac } = (JSON.parse(body) as { data: Record<string, unknown> }).data;
    if (typeof relay !== "string" || typeof mac !== "string") return undefined;
    return isSame(macOf(secret.reveal(), `answer ${nonce} ${relay}`), mac) ? relay : undefined;
  } catch {
    return undefined;
  }
}

function macOf(secret: string | Buffer, text: string): string {
  return createHmac("sha256", secret).update(`tocsin hook proof: ${text}`).digest("base64url");
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}
