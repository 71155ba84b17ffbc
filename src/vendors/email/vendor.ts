import { z } from "zod";
import type { Destination } from "../../core/rules.ts";
import { Secret } from "../../core/secret.ts";
import { field, listOf, optional, secretly, text, textLike } from "../../ground/shape/field.ts";
import { Refusal, referTo } from "../../ground/shape/refusal.ts";
import { showValue } from "../../ground/shape/show-value.ts";
import { isMailAddress, parseMailAddress } from "../../ground/text/mail-address.ts";
import { suggestOrList } from "../../ground/text/suggest.ts";
import type { BuildContext, EnvReader, Vendor } from "../vendor.ts";
import { createPatience } from "./patience.ts";
import { type EmailMessage, renderEmail } from "./render.tsx";

export interface EmailAccount {
  /** `user@host:port`. A further password of the same login adds ` (password 2)`. */
  id: string;
  host: string;
  port: number;
  /** TLS from the first byte (`smtps://`). */
  secure: boolean;
  user?: string;
  password?: Secret;
  /** Allows a password without TLS (`?allowInsecureAuth=true`). Default false. */
  allowInsecureAuth: boolean;
  /** False skips the check of certificates (`?rejectUnauthorized=false`). Default true. */
  rejectUnauthorized: boolean;
}

export interface EmailDestination extends Destination {
  type: "email";
  to: string[];
  from: string;
  account: EmailAccount;
}

interface Shared {
  account?: EmailAccount;
  from?: string;
  known: EmailAccount[];
}

const options = z.object({
  to: listOf(field(readAddress("write e.g. ops@example.com"), textLike(".+@.+")), "[ops@example.com]").describe(
    "mailboxes; each is a delivery of its own",
  ),
  from: optional(field(readSender, textLike(".+@.+")), "sender, `a@b.c` or `Name <a@b.c>`", "`EMAIL_FROM`"),
  smtpUrl: optional(
    secretly(text(referTo("SMTP_URL"))),
    `a reference such as \`${referTo("TREASURY_SMTP_URL")}\``,
    "`SMTP_URL`",
  ),
});
type Options = z.infer<typeof options>;

export const email = {
  type: "email",
  can: { edits: false, answers: true, plainForm: true, joinsByKey: false, pictures: "inline" },
  words: {
    otherSide: "the mail server",
    repairs: {
      no_rights:
        "let the mail server take mail of this sender (EMAIL_FROM, or from) and of this machine, or change them",
      tls_failed:
        "check the name and the port; for a certificate of an authority of your own set NODE_EXTRA_CA_CERTS to its file, " +
        "or write ?rejectUnauthorized=false behind the address (SMTP_URL, or smtpUrl) on a network that you trust",
      temporary_refusal:
        "wait: a greylist takes the same mail after some minutes; if it lasts, ask who runs the mail server",
    },
  },
  options: options.shape,
  environment: readEmailEnv,
  complete: findSender,
  build: ({ to }: Options) => ({ to: [...new Set(to)] }),
  recipients: ({ to }: EmailDestination) => [...new Set(to)],
  hasSeveralRecipients: true,
  addresses: ({ to }: EmailDestination) => to.map((address) => `email ${address.toLowerCase()}`),
  shownRecipients: ({ to }: EmailDestination) => [...new Set(to)],
  describe: ({ to, account }: EmailDestination) => `${to.join(", ")}, by ${account.id}`,
  describeProbe: ({ account }: EmailDestination) =>
    `${account.host}:${account.port}: the mail server takes login, sender and recipient`,
  secrets: ({ account }: EmailDestination) => [account.password],
  account: ({ account }: EmailDestination) => `email:${account.id}`,
  pace: {},
  concurrency: 4,
  settings: ({ ambiguousEmail, emailSendTimeoutMs }) => ({
    ambiguous: ambiguousEmail,
    sendTimeoutMs: emailSendTimeoutMs,
  }),
  makesSound: () => false,
  probeProves: "delivery",
  render: (document, times, options) => [renderEmail(document, times, options)],
  readableText: ({ subject, text }: EmailMessage) => `${subject}\n\n${text}`,
  open: async (destination: EmailDestination, { now, drawPicture }) =>
    (await import("./send.ts")).createEmailChannel(destination, {
      waitForPicture: drawPicture && createPatience(drawPicture, now),
    }),
} satisfies Vendor;

function readAddress(instead: string) {
  return (value: unknown): string | Refusal => {
    if (typeof value === "string" && isMailAddress(value.trim())) return value.trim();
    return new Refusal(`${showValue(value)} is not a mail address`, instead);
  };
}

/** `a@b` or `Name <a@b>`. */
function readSender(value: unknown): string | Refusal {
  if (typeof value === "string" && parseMailAddress(value) !== undefined) return value.trim();
  return new Refusal(
    `${showValue(value)} is not a mail address`,
    'write e.g. tocsin@example.com or "Tocsin <tocsin@example.com>"',
  );
}

function readEmailEnv(env: EnvReader) {
  const known: EmailAccount[] = [];
  const account = env.one("SMTP_URL", (text) => readAccount(String(text), known));
  const given = env.one("EMAIL_FROM", readSender);
  const to = env.list("EMAIL_TO", readAddress("write e.g. EMAIL_TO=ops@example.com,desk@example.com"));
  const user = account?.user;
  const from = given ?? (user !== undefined && isMailAddress(user) ? user : undefined);
  if (to.length > 0 && !env.has("SMTP_URL")) {
    const instead = "set SMTP_URL, e.g. smtps://user:password@smtp.example.com";
    env.refuse("EMAIL_TO", "there is no mail server to send by", instead);
  }
  if (to.length > 0 && account !== undefined && from === undefined && !env.has("EMAIL_FROM")) {
    const instead = "set it, e.g. EMAIL_FROM=tocsin@example.com";
    env.refuse("EMAIL_FROM", "is missing, and the user of SMTP_URL is not an address", instead);
  }
  const shared: Shared = { known, account, from };
  const isWhole = account !== undefined && from !== undefined && to.length > 0;
  const own = { to, from, account };
  return { shared, destinations: isWhole ? [{ name: "email", definedAt: "EMAIL_TO", own }] : [] };
}

function findSender(given: Partial<Options>, context: BuildContext): Required<Omit<Shared, "known">> | undefined {
  const shared = context.shared as Shared;
  const account = given.smtpUrl === undefined ? shared.account : readAccount(given.smtpUrl, shared.known);
  const from = given.from ?? shared.from;
  if (account instanceof Refusal) context.refuse(["smtpUrl"], account);
  if (account === undefined && !context.wasRefused("SMTP_URL")) {
    const instead = `set SMTP_URL, or write smtpUrl: ${referTo("NAME_OF_A_VARIABLE")}`;
    context.refuse(["smtpUrl"], new Refusal("there is no mail server to send by", instead));
  }
  if (from === undefined && !context.wasRefused("EMAIL_FROM")) {
    const instead = "set EMAIL_FROM, or write from: tocsin@example.com";
    context.refuse(["from"], new Refusal("there is no sender address", instead));
  }
  if (account === undefined || account instanceof Refusal || from === undefined) return undefined;
  return { account, from };
}

const example = "smtps://user:password@smtp.example.com or smtp://user:password@smtp.example.com:587";
const urlOptions = ["allowInsecureAuth", "rejectUnauthorized"];

/** The same login with another password is another account: one password may be wrong and the other right. */
function readAccount(text: string, known: EmailAccount[]): EmailAccount | Refusal {
  const account = readSmtpUrl(text);
  if (account instanceof Refusal) return account;
  const { host, port, user, password } = account;
  const same = known.filter((other) => other.host === host && other.port === port && other.user === user);
  const twin = same.find((other) => other.password?.reveal() === password?.reveal());
  if (twin !== undefined) return { ...account, id: twin.id };
  const passwords = new Set(same.map(({ id }) => id)).size;
  const told = passwords === 0 ? account : { ...account, id: `${account.id} (password ${passwords + 1})` };
  known.push(told);
  return told;
}

/** A refusal repeats no part of the address: in an unreadable address the password can be anywhere. */
function readSmtpUrl(text: string): EmailAccount | Refusal {
  if (!/^smtps?:\/\//i.test(text)) return new Refusal("does not begin with smtp:// or smtps://", `write ${example}`);
  if (!URL.canParse(text)) return unreadable();
  const url = new URL(text);
  if (url.hostname === "") return new Refusal("names no mail server", `write ${example}`);
  // An unescaped / or # in the password ends the host early and leaves a path or a fragment behind.
  if ((url.pathname !== "" && url.pathname !== "/") || url.hash !== "") return unreadable();

  const unknown = [...url.searchParams.keys()].find((key) => !urlOptions.includes(key));
  if (unknown !== undefined) {
    return new Refusal("has an unknown option after the ?", suggestOrList(unknown, urlOptions));
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
