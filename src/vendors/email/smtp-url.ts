import { Secret } from "../../core/secret.ts";
import { Refusal } from "../../ground/shape/refusal.ts";
import { suggestOrList } from "../../ground/text/suggest.ts";
import type { EmailAccount } from "./vendor.ts";

const example = "smtps://user:password@smtp.example.com or smtp://user:password@smtp.example.com:587";
const options = ["allowInsecureAuth", "rejectUnauthorized"];

/**
 * Reads `smtp://` (port 587, STARTTLS where offered) and `smtps://` (port 465, TLS from the first byte).
 * A refusal never repeats any part of the address, since the password can be anywhere in one that cannot be read.
 */
export function readSmtpUrl(text: string): EmailAccount | Refusal {
  if (!/^smtps?:\/\//i.test(text))
    return new Refusal("does not begin with smtp:// or smtps://", `write ${example}`);
  if (!URL.canParse(text)) return unreadable();
  const url = new URL(text);
  if (url.hostname === "") return new Refusal("names no mail server", `write ${example}`);
  // An unescaped / or # in the password ends the host early and leaves a path or a fragment behind.
  if ((url.pathname !== "" && url.pathname !== "/") || url.hash !== "") return unreadable();

  const unknown = [...url.searchParams.keys()].find((key) => !options.includes(key));
  if (unknown !== undefined) {
    return new Refusal("has an unknown option after the ?", suggestOrList(unknown, options));
  }
  const allowInsecureAuth = readFlag(url, "allowInsecureAuth", false);
  const rejectUnauthorized = readFlag(url, "rejectUnauthorized", true);
  const user = decode(url.username);
  const password = decode(url.password);
  if (allowInsecureAuth === undefined || rejectUnauthorized === undefined) {
    return new Refusal("has an option that is neither true nor false", "write ?rejectUnauthorized=false");
  }
  if (user === undefined || password === undefined) return unreadable();
  if (password !== "" && user === "") return new Refusal("has a password and no user", `write ${example}`);

  const secure = url.protocol === "smtps:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = url.port === "" ? (secure ? 465 : 587) : Number(url.port);
  return {
    id: `${user === "" ? "" : `${user}@`}${host}:${port}`,
    host,
    port,
    secure,
    ...(user === "" ? {} : { user }),
    ...(password === "" ? {} : { password: new Secret(password) }),
    allowInsecureAuth,
    rejectUnauthorized,
  };
}

function unreadable(): Refusal {
  return new Refusal(
    "cannot be read as an address (it is not shown, since it holds a password)",
    `write ${example}, and in user and password %40 for @, %3A for :, %2F for /, %23 for #, %25 for %`,
  );
}

function readFlag(url: URL, name: string, otherwise: boolean): boolean | undefined {
  const value = url.searchParams.get(name);
  if (value === null) return otherwise;
  return value === "true" ? true : value === "false" ? false : undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
