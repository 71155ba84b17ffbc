import { suggest } from "../ground/text/suggest.ts";
import { type Env, envText } from "./server-env.ts";
import type { ProblemList } from "./shape/problem-list.ts";

/** Every variable that Tocsin reads: its meaning and its default, `""` for none. A test writes the table of `docs/reference.md`. */
export const variables = {
  PORT: ["port to listen on; 0 takes any free one", "8080"],
  HOST: ["address to listen on; a container or Fly.io needs 0.0.0.0", "127.0.0.1"],
  LISTEN_FDS: ["set by systemd with `deploy/tocsin.socket`: its socket is used instead of `HOST` and `PORT`", ""],
  LISTEN_PID: ["set by systemd: whose that socket is", ""],
  DATA_DIR: ["folder of the database and the secrets that are made", "`./data`; with `DATABASE_URL` none"],
  DATABASE_URL: ["a PostgreSQL instead of SQLite: `postgres://user:password@host:5432/database`", ""],
  DATABASE_LISTEN_URL: ["behind a pooler: an address of the same database that leads past it", "`DATABASE_URL`"],
  SPOOL_DIR: ["this relay's own folder for alerts while PostgreSQL is away", "none: senders get 503"],
  SPOOL_SIZE: ["how large it may grow, e.g. `500 MB`; at least 16 MB", "1 GB"],
  DRAIN_TIME: ["how long a stopping relay still takes alerts, with `/readyz` 503, while other relays run", "5s"],
  RELAY_NAME: ["how people call this relay among several", "the machine's name, with the port where several run there"],
  PUBLIC_URL: ["how the internet reaches this relay; `setup` needs it", "on Fly.io from `FLY_APP_NAME`"],
  TRUSTED_PROXIES: [
    "addresses and ranges of proxies that may say the client's address, with commas between; `none` for nobody",
    "this machine, when `HOST` is this machine's own",
  ],
  FLY_APP_NAME: ["set by Fly.io: the client's address comes from Fly's proxy", ""],
  WEBHOOK_SECRET: ["the secret in the hook's address: 22 to 256 letters, digits, `-` and `_`", "made and kept"],
  ADMIN_TOKEN: ["for the page and the API, at least 22 characters", "made and kept"],
  ALERTING_URL: ["the alerting interface of the market-data service", ""],
  ALERTING_API_KEY: ["its key", ""],
  PRICING_URL: ["its pricing interface", ""],
  PRICING_API_KEY: ["key of the pricing interface", "`ALERTING_API_KEY`"],
  PRICING_EQUITIES_PRICE_PATH: ["where to ask for equity prices; `{symbols}` is the list", "`/v1/equities/price`"],
  TELEGRAM_BOT_TOKEN: ["the token from @BotFather", ""],
  TELEGRAM_CHAT_IDS: ["chats that get every alert, with commas between; each id starts with `-`", ""],
  TELEGRAM_API_ROOT: ["a Bot API server of your own", "`https://api.telegram.org`"],
  SMTP_URL: ["`smtps://user:password@host` (port 465) or `smtp://user:password@host` (port 587)", ""],
  EMAIL_FROM: ["sender, as `a@b.c` or `Name <a@b.c>`", "the user of `SMTP_URL`, if it is an address"],
  EMAIL_TO: ["mailboxes that get every alert, with commas between", ""],
  TOCSIN_CONFIG: ["path of the YAML file", "`./tocsin.yaml` if it exists"],
  LOG_LEVEL: ["`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`", "info"],
  SANDBOX_BOT_TOKEN: ["only for `tocsin sandbox`: the bot of its messenger channel", ""],
  SANDBOX_BOT_API_ROOT: ["only for `tocsin sandbox`: that bot's API server", "`https://api.telegram.org`"],
  NO_COLOR: ["commands print no colours", ""],
  FORCE_COLOR: ["commands print colours, also elsewhere than on a terminal", ""],
  TERM: ["`dumb`: no colours", ""],
  PATH: ["where a `tocsin` is looked for: without one, texts write commands as `npx tocsin`", "the shell's"],
  CHROMIUM_PATH: ["only for the tests and `npm run pictures`: the browser", "a Chromium in `/usr/bin`"],
} as const satisfies Record<string, readonly [says: string, otherwise: string]>;

export const knownVariables = Object.keys(variables) as readonly (keyof typeof variables)[];
const known: ReadonlySet<string> = new Set(knownVariables);

/** Too short, or too common on any machine, to be missed by a slip of the pen. */
const unmistakable = new Set([
  "PORT",
  "HOST",
  "LISTEN_FDS",
  "LISTEN_PID",
  "TERM",
  "NO_COLOR",
  "FORCE_COLOR",
  "PATH",
  "CHROMIUM_PATH",
  "FLY_APP_NAME",
]);
const targets = knownVariables.filter((name) => !unmistakable.has(name));

/** A name that begins so and is read by nobody was most likely meant for Tocsin. */
const ownPrefix = /^(TELEGRAM|SMTP|EMAIL|ALERTING|PRICING|TOCSIN)_/i;

/** Names that other programs use for the same thing. */
const usualElsewhere: Readonly<Record<string, string>> = {
  TELEGRAM_TOKEN: "TELEGRAM_BOT_TOKEN",
  TELEGRAM_CHANNEL_ID: "TELEGRAM_CHAT_IDS",
  TELEGRAM_CHANNEL: "TELEGRAM_CHAT_IDS",
  TELEGRAM_CHATS: "TELEGRAM_CHAT_IDS",
  SMTP_HOST: "SMTP_URL",
  SMTP_SERVER: "SMTP_URL",
  SMTP_USER: "SMTP_URL",
  SMTP_USERNAME: "SMTP_URL",
  SMTP_PASSWORD: "SMTP_URL",
  SMTP_PASS: "SMTP_URL",
  SMTP_PORT: "SMTP_URL",
  SMTP_FROM: "EMAIL_FROM",
  SMTP_TO: "EMAIL_TO",
  EMAIL_RECIPIENTS: "EMAIL_TO",
  ALERTING_KEY: "ALERTING_API_KEY",
  PRICING_KEY: "PRICING_API_KEY",
  TRUSTED_PROXY: "TRUSTED_PROXIES",
  TRUST_PROXY: "TRUSTED_PROXIES",
  DATA_DIRECTORY: "DATA_DIR",
};

/** These are needless, and may be left over, where the file itself names bots, chats and mailboxes. */
const ofDestinations = /^(TELEGRAM|SMTP|EMAIL)_/;

export interface EnvUse {
  /** Names that the file refers to as `${NAME}`. */
  referenced: ReadonlySet<string>;
  /** The file has destinations of its own. */
  hasWrittenDestinations: boolean;
}

/** Whether a variable means something here: known, referred to by the file, or nearly a known one. */
export function isRelevantVariable(name: string, { referenced }: Pick<EnvUse, "referenced">): boolean {
  return known.has(name) || referenced.has(name) || ownPrefix.test(name);
}

/**
 * Variables that are read by nobody and were probably meant for Tocsin. It is a mistake when the name is a slip or
 * two from one of ours that is not set, and begins as only ours do; else a warning, since other programs share the
 * environment.
 */
export function reportMisspelt(env: Env, use: EnvUse, problems: ProblemList): void {
  for (const name of Object.keys(env).sort()) {
    if (envText(env, name) === undefined || known.has(name) || use.referenced.has(name)) continue;
    const slip = findSlip(name);
    const meant = slip ?? usualElsewhere[name.toUpperCase()] ?? withoutOwnPrefix(name);
    const isOwn = ownPrefix.test(name);
    if (meant === undefined && !/^(TELEGRAM|TOCSIN|ALERTING|PRICING)_/i.test(name)) continue;
    const message = "is set, but Tocsin reads no variable of this name";
    const isSet = meant !== undefined && envText(env, meant) !== undefined;
    if (isSet && !isOwn) continue;
    const mayBeLeft = use.hasWrittenDestinations && ofDestinations.test(name);
    if (slip !== undefined && isOwn && !isSet && !mayBeLeft) {
      problems.addEnv(name, message, `did you mean ${slip}? Otherwise unset it`);
      continue;
    }
    const instead =
      meant === undefined
        ? "unset it, or refer to it in the file"
        : isSet
          ? `${meant} is set as well; unset this one`
          : adviseOn(meant);
    problems.warn(name, message, instead);
  }
}

function adviseOn(meant: string): string {
  return meant === "SMTP_URL"
    ? "Tocsin takes server, user and password together: SMTP_URL=smtps://user:password@smtp.example.com"
    : `did you mean ${meant}?`;
}

/** Only what keeps most of the name: `EMAIL_TOKEN` is no slip for `EMAIL_TO`. */
function findSlip(name: string): string | undefined {
  if (name.length > 40) return undefined;
  const near = suggest(name, targets, 2);
  if (near === undefined) return undefined;
  const isSame = simplify(near) === simplify(name);
  return isSame || Math.min(near.length, name.length) >= 8 ? near : undefined;
}

/** `TOCSIN_PORT` for `PORT`: names that other programs put theirs before. */
function withoutOwnPrefix(name: string): string | undefined {
  const [, rest = ""] = /^TOCSIN_(.+)$/i.exec(name) ?? [];
  return known.has(rest.toUpperCase()) ? rest.toUpperCase() : undefined;
}

function simplify(name: string): string {
  return name.toUpperCase().replaceAll("_", "");
}

/**
 * Pairs of variables of which one alone does nothing. Somebody who sets a mail server and forgets the addresses
 * believes that mail will come, and finds out when it does not.
 */
export function warnOfHalves(env: Env, hasWrittenDestinations: boolean, problems: ProblemList): void {
  const warn = (given: string, missing: string, effect: string) => {
    if (envText(env, given) === undefined || envText(env, missing) !== undefined) return;
    problems.warn(missing, `is not set, though ${given} is: ${effect}`, `set ${missing}, or unset ${given}`);
  };
  // Written destinations take server and bot from these variables, and name mailboxes and chats themselves.
  if (!hasWrittenDestinations) {
    warn("SMTP_URL", "EMAIL_TO", "nobody gets mail");
    warn("TELEGRAM_BOT_TOKEN", "TELEGRAM_CHAT_IDS", "no chat gets anything");
  }
  warn("SPOOL_SIZE", "SPOOL_DIR", "nothing waits on this machine while PostgreSQL is away");
  warn("ALERTING_URL", "ALERTING_API_KEY", "setup cannot reach the account");
  warn("ALERTING_API_KEY", "ALERTING_URL", "setup cannot reach the account");
}
