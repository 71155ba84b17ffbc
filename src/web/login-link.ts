import { randomBytes } from "node:crypto";
import type { Secret } from "../core/secret.ts";
import { isSameText, signText } from "./keyed-hash.ts";

/** How long a login link is good for, milliseconds. */
export const loginLinkLifetimeMs = 15 * 60 * 1000;

/**
 * An address that logs one browser in, once, within 15 minutes. It holds no admin token, only a code signed with it, so any
 * process that knows the token can make one.
 */
export function loginLink(
  publicUrl: string,
  adminToken: Secret,
  now: number,
  nonce: string = randomBytes(12).toString("base64url"),
): string {
  const text = `${(now + loginLinkLifetimeMs).toString(36)}.${nonce}`;
  return `${publicUrl.replace(/\/+$/, "")}/login?code=${text}.${signText(adminToken, "login-code", text)}`;
}

export interface LoginCodes {
  /** Whether the code would log in now. Uses nothing up. */
  isValid(code: string): boolean;
  /** True once for each valid code. */
  use(code: string): boolean;
}

/** Checks codes without any record of those that were made; those that were used are remembered until they run out. */
export function createLoginCodes(deps: { adminToken: Secret; now(): number }): LoginCodes {
  const used = new Map<string, number>();

  function readExpiry(code: string): number | undefined {
    const [expiry, nonce, signature, ...rest] = code.split(".");
    if (!expiry || !nonce || !signature || rest.length > 0) return undefined;
    if (!isSameText(signature, signText(deps.adminToken, "login-code", `${expiry}.${nonce}`)))
      return undefined;
    const expiresAt = Number.parseInt(expiry, 36);
    return deps.now() < expiresAt ? expiresAt : undefined;
  }

  function isValid(code: string): boolean {
    return readExpiry(code) !== undefined && !used.has(code);
  }

  return {
    isValid,
    use(code) {
      const expiresAt = readExpiry(code);
      if (expiresAt === undefined || used.has(code)) return false;
      for (const [earlier, until] of used) if (until <= deps.now()) used.delete(earlier);
      used.set(code, expiresAt);
      return true;
    },
  };
}
