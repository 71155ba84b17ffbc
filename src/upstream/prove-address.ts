import { randomBytes } from "node:crypto";
import { describeArrival } from "../core/arrived-body.ts";
import { askForProof, type Proof, readProof } from "../core/hook-proof.ts";
import type { Secret } from "../core/secret.ts";
import { exchangeText } from "../ground/net/exchange-text.ts";
import { networkCodeOf } from "../ground/net/network-code.ts";
import { countOf } from "../ground/text/count-of.ts";

/** The answer at an address where a relay with a known secret may be. */
export type AddressAnswer =
  | ({ kind: "proven" } & Proof)
  /** Another program, or a relay without this secret. `code`: the error code when a relay has answered. */
  | { kind: "other"; status: number; location?: string; code?: string }
  /** Nothing answers. `code`: of the network. */
  | { kind: "none"; code?: string };

interface ProofOptions {
  signal?: AbortSignal;
  /** Sent by POST, as alerts are. Default: GET, without a body. */
  body?: Uint8Array;
  known?: Secret;
}

/** The limit of one question, milliseconds. */
const limitMs = 10_000;
const mostAnswerBytes = 16 * 1024;

/**
 * Asks whether a relay that knows the secret is behind an address. A question replaces the secret in the path of
 * `hookUrl`, so the secret is not sent. Nothing is stored there.
 * @throws only when `signal` is aborted
 */
export async function proveAddress(
  hookUrl: string,
  secret: Secret,
  { signal, body, known }: ProofOptions = {},
): Promise<AddressAnswer> {
  const nonce = randomBytes(32).toString("base64url");
  const question = askForProof(secret, nonce, known);
  const at = hookUrl.lastIndexOf(secret.reveal());
  const url = `${hookUrl.slice(0, at)}${question}${hookUrl.slice(at + secret.reveal().length)}`;
  const answer = await askOnce(url, signal, body);
  if (answer.kind === "none") return answer;
  const { status, text, location } = answer;
  const proof = status === 200 ? readProof(secret, nonce, text) : undefined;
  if (proof !== undefined && (proof.body !== undefined) === (body !== undefined)) return { kind: "proven", ...proof };
  const code = /^\{"error":\{"code":"(\w+)"/.exec(text)?.[1];
  return { kind: "other", status, location, code };
}

type Answer = { kind: "answer"; status: number; text: string; location?: string } | { kind: "none"; code?: string };

/** Follows no redirects. With a body it is a POST. Throws only when `signal` is aborted. */
export async function askOnce(url: string, signal: AbortSignal | undefined, body?: Uint8Array): Promise<Answer> {
  // If a program on the way made an alert of this request, it would be marked as a test.
  const headers = { "content-type": "application/json", "x-tocsin-test": "1" };
  const init = body === undefined ? {} : { method: "POST", headers, body };
  try {
    const limits = { timeoutMs: limitMs, maxBytes: mostAnswerBytes, signal };
    const { status, headers: answered, text = "" } = await exchangeText(url, { ...init, ...limits });
    return { kind: "answer", status, text, location: answered.get("location") ?? undefined };
  } catch (error) {
    signal?.throwIfAborted();
    return { kind: "none", code: networkCodeOf(error) };
  }
}

/**
 * The end of a sentence about an alert: "arrives cut off: …", "of 65,536 bytes is refused there: …". Undefined when the
 * body arrives whole, or when the answer does not show it.
 * @param answer to the body as a question
 */
export function describeSpoiling(body: Uint8Array, answer: AddressAnswer): string | undefined {
  if (answer.kind === "proven") return answer.body && describeArrival(body, answer.body);
  if (answer.kind === "none" || answer.status !== 413) return undefined;
  return `of ${countOf(body.byteLength, "byte")} is refused there: it is too large (413)`;
}

/**
 * An answer without proof counts only when a small question succeeds: then the size is the cause. `maxBodyBytes`: see
 * `writeProbe`.
 * @throws only when `signal` is aborted
 */
export async function findSpoiling(
  hookUrl: string,
  secret: Secret,
  maxBodyBytes: number,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const body = writeProbe(maxBodyBytes);
  const answer = await proveAddress(hookUrl, secret, { signal, body });
  const spoiling = describeSpoiling(body, answer);
  if (spoiling !== undefined || answer.kind === "proven") return spoiling;
  const small = await proveAddress(hookUrl, secret, { signal, body: Buffer.from("{}") });
  if (small.kind !== "proven") return undefined;
  const what = answer.kind === "none" ? "gets no answer there" : `is answered ${answer.status} there`;
  return `of ${countOf(body.byteLength, "byte")} ${what}`;
}

/**
 * Finds the relay behind an address in any spelling. Only an address with one of the secrets in its path is asked.
 * @returns the id of the relay, which is new after each start. Undefined when no relay with that secret answers
 * @throws only when `signal` is aborted
 */
export async function findRelayAt(
  url: string,
  secrets: readonly Secret[],
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (!URL.canParse(url) || !/^https?:\/\//i.test(url)) return undefined;
  const parts = new URL(url).pathname.split("/");
  const secret = secrets.find((one) => parts.includes(one.reveal()));
  if (secret === undefined) return undefined;
  const answer = await proveAddress(url, secret, { signal, body: Buffer.from("{}") });
  return answer.kind === "proven" ? answer.relay : undefined;
}

/** The size of the largest alerts that services send. */
export const probeBytes = 64 * 1024;

/** Has letters of many scripts, which a proxy may spoil. The relay itself would refuse more than `maxBodyBytes`. */
export function writeProbe(maxBodyBytes: number): Buffer {
  const title = "Probe of Tocsin: Prüfung, проверка, 探针, تجربة, 🚨";
  const empty = JSON.stringify({ title, severity: "info", source: "tocsin", text: "" });
  const words = "Σύνολο 24 318 772,1 USD − 3,2 % 漢字 \\n";
  const room = Math.min(probeBytes, maxBodyBytes) - Buffer.byteLength(empty);
  const times = Math.floor(room / Buffer.byteLength(words));
  const text = `${words.repeat(times)}${"x".repeat(room - times * Buffer.byteLength(words))}`;
  return Buffer.from(empty.replace('"text":""', () => `"text":"${text}"`));
}
