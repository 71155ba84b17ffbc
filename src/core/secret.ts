import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { inspect } from "node:util";

/** In logs, JSON and string templates the value is `***`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "***";
  }

  toJSON(): string {
    return "***";
  }

  [inspect.custom](): string {
    return "***";
  }
}

/** A signature for one purpose is invalid for the others. */
type KeyPurpose = "session" | "form" | "login-code" | "picture";

/** HMAC-SHA-256 of `text` as base64url. A new admin token makes all signatures invalid. */
export function signText(adminToken: Secret, purpose: KeyPurpose, text: string): string {
  const key = createHmac("sha256", adminToken.reveal()).update(`tocsin ${purpose}`).digest();
  return createHmac("sha256", key).update(text).digest("base64url");
}

/** The parts and their signature: `a.b.signature`. No part may have a dot. */
export function writeSigned(adminToken: Secret, purpose: KeyPurpose, ...parts: string[]): string {
  const text = parts.join(".");
  return `${text}.${signText(adminToken, purpose, text)}`;
}

/** The parts of a text by `writeSigned`. Undefined for any other. The time does not depend on where it differs. */
export function readSigned(adminToken: Secret, purpose: KeyPurpose, signed: string): string[] | undefined {
  const parts = signed.split(".");
  const signature = parts.pop() ?? "";
  return isSameText(signature, signText(adminToken, purpose, parts.join("."))) ? parts : undefined;
}

/** SHA-256 as base64url. */
export function hashText(text: string): string {
  return hash("sha256", text, "base64url");
}

/** The time does not depend on where the texts differ. */
export function isSameText(given: string, wanted: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", wanted, "buffer"));
}
