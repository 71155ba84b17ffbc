import { suggest } from "../ground/text/suggest.ts";
import type { ProblemList } from "./shape/problem-list.ts";
import { type Env, envText, variables } from "./variables.ts";

const known: ReadonlySet<string> = new Set(Object.keys(variables));
const targets = Object.entries(variables).flatMap(([name, one]) => ("isCommon" in one ? [] : [name]));

/** An unread variable with such a name was most likely meant for Tocsin. */
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

/** Such variables are needless where the file itself names bots, chats and mailboxes. */
const ofDestinations = /^(TELEGRAM|SMTP|EMAIL)_/;

export interface EnvUse {
  /** Names of `${NAME}` references in the file. */
  referenced: ReadonlySet<string>;
  /** The file has destinations of its own. */
  hasWrittenDestinations: boolean;
}

/** Whether Tocsin knows the variable, the file refers to it, or it is nearly a known name. */
export function isRelevantVariable(name: string, { referenced }: Pick<EnvUse, "referenced">): boolean {
  return known.has(name) || referenced.has(name) || ownPrefix.test(name);
}

/**
 * A variable whose name is nearly that of an unset one is a mistake when it begins as only ours do. Otherwise it is a
 * warning, since other programs share the environment.
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

/** Finds the known name at most two edits away. A short name differs in case and dashes only: `EMAIL_TOKEN` is no misspelt `EMAIL_TO`. */
function findSlip(name: string): string | undefined {
  if (name.length > 40) return undefined;
  const near = suggest(name, targets, 2);
  if (near === undefined) return undefined;
  const isSame = simplify(near) === simplify(name);
  return isSame || Math.min(near.length, name.length) >= 8 ? near : undefined;
}

/** `TOCSIN_PORT` for `PORT`: other programs put their name before such variables. */
function withoutOwnPrefix(name: string): string | undefined {
  const [, rest = ""] = /^TOCSIN_(.+)$/i.exec(name) ?? [];
  return known.has(rest.toUpperCase()) ? rest.toUpperCase() : undefined;
}

function simplify(name: string): string {
  return name.toUpperCase().replaceAll("_", "");
}

/** Warns where one variable of a pair is set: somebody who forgets the addresses of a mail server would expect mail. */
export function warnOfHalves(env: Env, hasWrittenDestinations: boolean, problems: ProblemList): void {
  const warn = (given: string, missing: string, effect: string) => {
    if (envText(env, given) === undefined || envText(env, missing) !== undefined) return;
    problems.warn(missing, `is not set, though ${given} is: ${effect}`, `set ${missing}, or unset ${given}`);
  };
  // Written destinations use the server and the bot of these variables, and name mailboxes and chats themselves.
  if (!hasWrittenDestinations) {
    warn("SMTP_URL", "EMAIL_TO", "nobody gets mail");
    warn("TELEGRAM_BOT_TOKEN", "TELEGRAM_CHAT_IDS", "no chat gets anything");
  }
  warn("SPOOL_SIZE", "SPOOL_DIR", "nothing waits on this machine while PostgreSQL is away");
  warn("ALERTING_URL", "ALERTING_API_KEY", "setup cannot reach the account");
  warn("ALERTING_API_KEY", "ALERTING_URL", "setup cannot reach the account");
}
