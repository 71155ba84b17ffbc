import { randomBytes } from "node:crypto";
import type { ExpiringKey, ExpiringKeyStore } from "../core/ports/shared.ts";
import { hashText, readSigned, type Secret, writeSigned } from "../core/secret.ts";

/** How long a login link is valid, milliseconds. */
export const loginLinkLifetimeMs = 15 * 60 * 1000;

/** Logs one browser in, once. The admin token signs the code, so any process that knows the token can make one. */
export function loginLink(publicUrl: string, adminToken: Secret, now: number): string {
  const [expiry, nonce] = [(now + loginLinkLifetimeMs).toString(36), randomBytes(12).toString("base64url")];
  const code = writeSigned(adminToken, "login-code", expiry, nonce);
  return `${publicUrl.replace(/(?<!\/)\/+$/, "")}/login?code=${code}`;
}

export type LoginCodes = ReturnType<typeof createLoginCodes>;

export interface LoginCodesDeps {
  adminToken: Secret;
  store: Pick<ExpiringKeyStore, "putKeyIfAbsent" | "hasKey">;
  now(): number;
}

/** Checks codes without a record of the issued ones. The store keeps used codes until they expire. */
export function createLoginCodes({ adminToken, store, now }: LoginCodesDeps) {
  /** The store's entry for a used code. Undefined for a code that was not made here, or has expired. */
  function readCode(code: string): ExpiringKey | undefined {
    const [expiry = "", nonce = ""] = readSigned(adminToken, "login-code", code) ?? [];
    const expiresAt = Number.parseInt(expiry, 36);
    return now() < expiresAt ? { key: hashText(`${expiry}.${nonce}`), expiresAt } : undefined;
  }

  return {
    /** Does not use the code up. */
    async isValid(code: string): Promise<boolean> {
      const entry = readCode(code);
      return entry !== undefined && !(await store.hasKey("used-login-code", entry.key, now()));
    },
    /** True once for each valid code, at all relays. @throws AppError `store_unavailable`, and nobody is logged in */
    async use(code: string): Promise<boolean> {
      const entry = readCode(code);
      return entry !== undefined && (await store.putKeyIfAbsent("used-login-code", entry, now()));
    },
  };
}
