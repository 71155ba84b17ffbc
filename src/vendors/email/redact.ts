import { createRedactor, type Redact } from "../../ground/text/redact.ts";
import type { EmailAccount } from "./vendor.ts";

/** Hides an account's password, alone and as `AUTH PLAIN` carries it: a server may echo what it was sent in its refusal. */
export function createAccountRedactor({ user = "", password }: EmailAccount): Redact {
  const secret = password?.reveal() ?? "";
  return createRedactor(secret === "" ? [] : [secret, `\0${user}\0${secret}`], { leastLength: 1 });
}
