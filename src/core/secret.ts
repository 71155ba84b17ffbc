import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { inspect } from "node:util";

/** A value that only `reveal` shows. In logs, JSON and string templates it is `***`. */
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

/** The purpose of a key that is derived from the admin token. A signature for one purpose is invalid for the others. */
type KeyPurpose = "session" | "form" | "login-code" | "picture";

/** HMAC-SHA-256 of `text` under a key for this purpose, as base64url. A new admin token invalidates all signatures. */
export function signText(adminToken: Secret, purpose: KeyPurpose, text: string): string {
  const key = createHmac("sha256", adminToken.reveal()).update(`tocsin ${purpose}`).digest();
  return createHmac("sha256", key).update(text).digest("base64url");
}

/** SHA-256 as base64url, to recognise a text without keeping it. */
export function hashText(text: string): string {
  return hash("sha256", text, "base64url");
}

/** Compares in a time that does not depend on where, or whether, the texts differ. */
export function isSameText(given: string, wanted: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", wanted, "buffer"));
}
