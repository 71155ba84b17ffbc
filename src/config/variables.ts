import { isIP } from "node:net";
import { Secret } from "../core/secret.ts";
import { databasePlace } from "../ground/net/database-place.ts";
import { createIpRanges, isIpRange } from "../ground/net/ip-ranges.ts";
import { readDuration, readHttpUrl, readNumber, readOneOf, readSize, readText } from "../ground/shape/field.ts";
import { Refusal, referTo } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { logLevels } from "./config.ts";
import { howToMakeToken, leastTokenLength } from "./generated-secrets.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** The source for reading, for the search for misspelt names, for `docs/reference.md` and for `.env.example`. */
export interface Variable {
  says: string;
  /** Turns the text into the value, or into a `Refusal`. Absent: the text is the value, or a vendor reads it. */
  read?: (text: string) => unknown;
  default?: unknown;
  /** The text for `default` in the documents. */
  otherwise?: string;
  /** No report repeats the value. */
  secret?: true;
  /** The text after `NAME=` in `.env.example`. Empty: a line to fill in. Absent: not in that file. */
  example?: string;
  /** The name is short, or other programs use it too, so misspelt names are not compared with it. */
  isCommon?: true;
}

export const variables = {
  PUBLIC_URL: {
    says: "how the internet reaches this relay; `setup` needs it",
    read: readPublicUrl,
    otherwise: "on Fly.io from `FLY_APP_NAME`",
    example: "",
  },
  ALERTING_URL: {
    says: "the alerting interface of the market-data service",
    read: readServiceUrl("ALERTING_URL"),
    example: "",
  },
  ALERTING_API_KEY: { says: "key of the alerting interface", read: readKey, secret: true, example: "" },
  PRICING_URL: {
    says: "the pricing interface of the service",
    read: readServiceUrl("PRICING_URL"),
    example: "https://pricing.example.com",
  },
  PRICING_API_KEY: {
    says: "key of the pricing interface",
    read: readKey,
    otherwise: "`ALERTING_API_KEY`",
    secret: true,
    example: "",
  },
  PRICING_EQUITIES_PRICE_PATH: {
    says: "where to ask for equity prices; `{symbols}` is the list",
    read: readPricePath,
    default: "/v1/equities/price",
    example: "/v1/equities/price",
  },
  TELEGRAM_BOT_TOKEN: { says: "the token from @BotFather", secret: true, example: "" },
  TELEGRAM_CHAT_IDS: {
    says: "chats that get every alert, with commas between; each id starts with `-`",
    example: "",
  },
  TELEGRAM_API_ROOT: {
    says: "a Bot API server of your own",
    otherwise: "`https://api.telegram.org`",
    example: "https://api.telegram.org",
  },
  SMTP_URL: {
    says: "`smtps://user:password@host` (port 465) or `smtp://user:password@host` (port 587)",
    secret: true,
    example: "",
  },
  EMAIL_FROM: {
    says: "sender, as `a@b.c` or `Name <a@b.c>`",
    otherwise: "the user of `SMTP_URL`, if it is an address",
    example: "",
  },
  EMAIL_TO: { says: "mailboxes that get every alert, with commas between", example: "" },
  HOST: {
    says: "address to listen on; a container or Fly.io needs 0.0.0.0",
    read: readHost,
    default: "127.0.0.1",
    example: "127.0.0.1",
    isCommon: true,
  },
  PORT: {
    says: "port to listen on; 0 takes any free one",
    read: readNumber({ least: 0, most: 65_535, whole: true }),
    default: 8080,
    example: "8080",
    isCommon: true,
  },
  TRUSTED_PROXIES: {
    says: "addresses and ranges of proxies that may say the client's address, with commas between; `none` for nobody",
    read: readTrustedProxies,
    otherwise: "this machine, when `HOST` is this machine's own",
    example: "10.0.0.3,10.1.0.0/16",
  },
  DATA_DIR: {
    says: "folder of the database and the secrets that are made",
    otherwise: "`./data`; with `DATABASE_URL` none",
    example: "./data",
  },
  DATABASE_URL: {
    says: "a PostgreSQL instead of SQLite: `postgres://user:password@host:5432/database`",
    read: readDatabaseUrl("or unset it for SQLite"),
    secret: true,
    example: "postgres://tocsin:password@db.example.com:5432/tocsin",
  },
  DATABASE_LISTEN_URL: {
    says: "behind a pooler: an address of the same database that leads past it",
    read: readDatabaseUrl("or unset it"),
    otherwise: "`DATABASE_URL`",
    secret: true,
    example: "postgres://tocsin:password@db-direct.example.com:5432/tocsin",
  },
  SPOOL_DIR: {
    says: "this relay's own folder for alerts while PostgreSQL is away",
    otherwise: "none: senders get 503",
    example: "/var/lib/tocsin/spool",
  },
  SPOOL_SIZE: {
    says: "how large it may grow, e.g. `500 MB`; at least 16 MB",
    read: readSize(16 * 2 ** 20),
    default: 2 ** 30,
    otherwise: "1 GB",
    example: "1 GB",
  },
  DRAIN_TIME: {
    says: "how long a stopping relay still takes alerts, with `/readyz` 503, while other relays run",
    read: readDuration("0s", "5m"),
    default: 5_000,
    otherwise: "5s",
    example: "5s",
  },
  RELAY_NAME: {
    says: "how people call this relay among several",
    read: readRelayName,
    otherwise: "the machine's name, with the port where several run there",
    example: "relay-1",
  },
  WEBHOOK_SECRET: {
    says: "the secret in the hook's address: 22 to 256 letters, digits, `-` and `_`",
    read: readHookSecret,
    otherwise: "made and kept",
    secret: true,
    example: "",
  },
  ADMIN_TOKEN: {
    says: "for the page and the API, at least 22 characters",
    read: readToken,
    otherwise: "made and kept",
    secret: true,
    example: "",
  },
  TOCSIN_CONFIG: {
    says: "path of the YAML file",
    otherwise: "`./tocsin.yaml` if it exists",
    example: "./tocsin.yaml",
  },
  LOG_LEVEL: {
    says: "`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`",
    read: readOneOf(logLevels),
    default: "info",
    example: "info",
  },
  FLY_APP_NAME: {
    says: "set by Fly.io: the client's address comes from Fly's proxy",
    isCommon: true,
  },
  LISTEN_FDS: {
    says: "set by systemd: its socket is used instead of `HOST` and `PORT`",
    isCommon: true,
  },
  LISTEN_PID: { says: "set by systemd: whose that socket is", isCommon: true },
  SANDBOX_BOT_TOKEN: { says: "only for `tocsin sandbox`: the bot of its messenger channel" },
  SANDBOX_BOT_API_ROOT: {
    says: "only for `tocsin sandbox`: that bot's API server",
    otherwise: "`https://api.telegram.org`",
  },
  NO_COLOR: { says: "commands print no colours", isCommon: true },
  FORCE_COLOR: { says: "commands print colours everywhere", isCommon: true },
  TERM: { says: "`dumb`: no colours", isCommon: true },
  PATH: {
    says: "where `tocsin` is looked for; without it texts say `npx tocsin`",
    otherwise: "the shell's",
    isCommon: true,
  },
  CHROMIUM_PATH: {
    says: "only for the tests and `npm run pictures`: the browser",
    otherwise: "a Chromium in `/usr/bin`",
    isCommon: true,
  },
} satisfies Record<string, Variable>;

type Variables = typeof variables;
type VariableName = keyof Variables;
type Value<N extends VariableName> = Variables[N] extends { read: (text: never) => infer T }
  ? Exclude<T, Refusal>
  : string;
export type RefuseVariable = (name: string, refusal: Refusal) => void;

/** An empty variable counts as unset: deployment tools write "nothing" in this way. */
export function envText(env: Env, name: string): string | undefined {
  const text = env[name]?.trim();
  return text === undefined || text === "" ? undefined : text;
}

/** The default where the variable is unset or refused. */
export function readVariable<N extends VariableName>(
  env: Env,
  name: N,
  refuse: RefuseVariable,
): Value<N> | (Variables[N] extends { default: unknown } ? never : undefined) {
  const { read, default: byDefault }: Variable = variables[name];
  const text = envText(env, name);
  if (text === undefined) return byDefault as Value<N>;
  const value = read === undefined ? text : read(text);
  if (!(value instanceof Refusal)) return value as Value<N>;
  refuse(name, value);
  return byDefault as Value<N>;
}

function readHost(text: string): string | Refusal {
  if (/^[A-Za-z0-9._:%-]+$/.test(text)) return text;
  return new Refusal(`${showValue(text)} is not an address`, "write 0.0.0.0 for every interface, or 127.0.0.1");
}

function readRelayName(text: string): string | Refusal {
  if (/^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,58}[A-Za-z0-9])?$/.test(text)) return text;
  return new Refusal(
    `${showValue(text)} is not a name`,
    "write up to 60 letters, digits, spaces and . _ -, e.g. relay-1",
  );
}

function readPublicUrl(written: string): string | Refusal {
  const example = "write the base address alone, e.g. https://alerts.example.com";
  const text = readHttpUrl(written);
  if (text instanceof Refusal) {
    const isBare = /^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[^\s?#]*)?$/i.test(written);
    const scheme = /^(?:localhost|127\.)/i.test(written) ? "http" : "https";
    return new Refusal(text.message, isBare ? `write ${scheme}://${withoutHook(written)}` : example);
  }
  if (/\s/.test(text)) return new Refusal("holds a space", example);
  // The rest may be the secret itself, and is not repeated.
  if (withoutHook(text) !== text) {
    return new Refusal("holds /hooks, which Tocsin adds by itself", `write ${withoutHook(text)}`);
  }
  const { search, hash } = new URL(text);
  if (search === "" && hash === "") return text;
  return new Refusal("has a query or fragment", example);
}

/** The address without a last part `hooks` or `hooks/<secret>`. */
function withoutHook(address: string): string {
  return address.replace(/\/+hooks(\/[^/]*)?\/*$/i, "");
}

/** `none` is an empty list. */
function readTrustedProxies(text: string): string[] | Refusal {
  if (text.toLowerCase() === "none") return [];
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  const ranges = (parts.length > 0 ? parts : [text]).map(readProxyRange);
  return ranges.find((range) => range instanceof Refusal) ?? ranges.filter((range) => typeof range === "string");
}

function readProxyRange(text: string): string | Refusal {
  const instead = "write the proxies' addresses or ranges, e.g. TRUSTED_PROXIES=127.0.0.1,10.0.0.0/8, or none";
  if (!isIpRange(text)) return new Refusal(`${showValue(text)} is neither an address nor a range`, instead);
  const [address = "", bits = isIP(address) === 6 ? "128" : "32"] = text.split("/");
  const range = `${address}/${bits}`;
  if (!isEverybody(range)) return range;
  return new Refusal(`${showValue(text)} is everybody, who could then make up any address`, instead);
}

/** Whether the range is all of IPv4, also mapped into IPv6 (`::ffff:0:0/96`). */
function isEverybody(range: string): boolean {
  const ranges = createIpRanges([range]);
  return ["0.0.0.0", "255.255.255.255"].every((end) => ranges.includes(end));
}

/** @param name the variable, for the example */
function readServiceUrl(name: string) {
  return (text: string): string | Refusal => {
    const refuse = (what: string) => new Refusal(what, `write it like ${name}=https://api.example.com`);
    if (!URL.canParse(text)) return refuse("is not an address");
    const url = new URL(text);
    if (url.protocol !== "https:" && url.protocol !== "http:") return refuse("does not begin with https:// or http://");
    if (url.username !== "" || url.password !== "")
      return refuse("holds a user name or password; the key goes into its own variable");
    if (url.search !== "" || url.hash !== "") return refuse("has a query or fragment; give the base address alone");
    return url.href.replace(/\/+$/, "");
  };
}

/** A key travels as a header's value, so it must be visible ASCII. The usual mistake is a pasted line break. */
export function readKey(value: unknown): Secret | Refusal {
  const text = readText(referTo("OTHER_API_KEY"))(value);
  if (text instanceof Refusal) return text;
  if (/^[\x21-\x7e]+$/.test(text)) return new Secret(text);
  const message = "holds a space, a line break or a character that no key has";
  return new Refusal(message, "copy the key again, without quotes and line breaks");
}

function readPricePath(text: string): string | Refusal {
  // A query is possible only together with a place for the list in it.
  if (/^\/[^\s#]*$/.test(text) && (!text.includes("?") || text.includes("{symbols}"))) return text;
  const name = "PRICING_EQUITIES_PRICE_PATH";
  const instead = `write it like ${name}=/v1/equities/price or ${name}=/v1/equities/{symbols}/price`;
  return new Refusal('must be a path that begins with "/"', instead);
}

/** A refusal does not repeat the address, since it holds a password. */
function readDatabaseUrl(orElse: string) {
  const example =
    "write postgres://user:password@host:5432/database, with @ : / # ? of the password as %40 %3A %2F %23 %3F";
  return (url: string): Secret | Refusal => {
    if (databasePlace(url) !== undefined) return new Secret(url);
    return new Refusal("is not the address of a PostgreSQL database", `${example}; ${orElse}`);
  };
}

export function readHookSecret(value: unknown): Secret | Refusal {
  const text = readText(referTo("HOOK_SECRET"))(value);
  if (text instanceof Refusal) return text;
  if (/^[A-Za-z0-9_-]{1,256}$/.test(text)) return new Secret(text);
  const found = `is part of an address, so it may only have letters, digits, - and _, ${leastTokenLength} to 256 of them`;
  return new Refusal(found, howToMakeToken);
}

function readToken(text: string): Secret | Refusal {
  if (/^[\x21-\x7e]{1,512}$/.test(text)) return new Secret(text);
  return new Refusal("holds a space or a character that a header cannot carry", howToMakeToken);
}
