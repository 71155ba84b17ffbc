import { randomBytes } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { type Log, logFailure } from "../core/log.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import type { KeptRecords } from "../core/ports/kept-records.ts";
import { Secret } from "../core/secret.ts";

export type SecretName = "webhook-secret" | "admin-token" | `source-${string}`;

export interface GivenSecrets {
  webhookSecret?: Secret;
  adminToken?: Secret;
  sources?: readonly { name: string; secret?: Secret; formerSecrets?: readonly Secret[] }[];
}

export interface ServerSecrets {
  webhookSecret: Secret;
  adminToken: Secret;
  /** Secrets that an unfinished rotation was replacing: the service may still send there. Usually empty. */
  previousWebhookSecrets: Secret[];
  /** The secrets of sources' hooks, by name: the present one, then those that are still accepted. */
  sourceSecrets: ReadonlyMap<string, HookSecrets>;
  /** The secrets that were made just now, for the first greeting. */
  created: SecretName[];
}

/** The present one first. */
export type HookSecrets = readonly [Secret, ...Secret[]];

/** 256 bits; 43 characters that fit into an address. */
const secretBytes = 32;

/**
 * Returns the given secrets, or the kept ones, or new ones, which are on disk before their first use. Processes that
 * start together get the same secrets. Throws `config_invalid` and `store_unavailable`.
 */
export async function loadOrCreateSecrets(kept: KeptRecords, given: GivenSecrets): Promise<ServerSecrets> {
  const created: SecretName[] = [];
  const load = (name: SecretName, secret?: Secret) =>
    secret === undefined ? loadOrCreate(kept, name, () => created.push(name)) : ([secret] as const);
  const [webhookSecret, ...previousWebhookSecrets] = await load("webhook-secret", given.webhookSecret);
  const [adminToken] = await load("admin-token", given.adminToken);
  const sourceSecrets = await loadSourceSecrets(kept, given.sources ?? []);
  return { webhookSecret, adminToken, previousWebhookSecrets, sourceSecrets, created };
}

/** Undefined when a secret has to be looked for. */
export function givenSecrets({ webhookSecret, adminToken, sources = [] }: GivenSecrets): ServerSecrets | undefined {
  if (webhookSecret === undefined || adminToken === undefined) return undefined;
  const sourceSecrets = new Map<string, HookSecrets>();
  for (const { name, secret, formerSecrets = [] } of sources) {
    if (secret === undefined) return undefined;
    sourceSecrets.set(name, [secret, ...formerSecrets]);
  }
  return { webhookSecret, adminToken, previousWebhookSecrets: [], sourceSecrets, created: [] };
}

export async function loadSourceSecrets(
  kept: KeptRecords,
  sources: NonNullable<GivenSecrets["sources"]>,
): Promise<Map<string, HookSecrets>> {
  const secrets = new Map<string, HookSecrets>();
  for (const { name, secret, formerSecrets = [] } of sources) {
    secrets.set(name, secret === undefined ? await loadOrCreate(kept, `source-${name}`) : [secret, ...formerSecrets]);
  }
  return secrets;
}

async function loadOrCreate(kept: KeptRecords, name: SecretName, onCreated?: () => void): Promise<HookSecrets> {
  const known = await readKept(kept, name);
  if (known.present !== undefined) return [known.present, ...known.previous];
  const record = secretRecord(name);
  const made = { name: record, from: undefined, to: makeSecretLine() };
  if (await guard(kept, record, () => kept.change([made]))) onCreated?.();
  const { present, previous } = await readKept(kept, name);
  if (present === undefined) throw unusable(kept, record, "it vanished while it was being made");
  return [present, ...previous];
}

/** How often a rotation starts again because of another one at the same time. */
const mostTries = 5;

/**
 * The old secret is accepted until `forgetPreviousSecrets`, also by a relay that starts meanwhile: alerts come with it
 * until the service has confirmed the new address. When several rotations run at once, each of their secrets is accepted.
 */
export async function rotateSecret(kept: KeptRecords, name: SecretName): Promise<Secret> {
  const [record, previousRecord] = [secretRecord(name), previousOf(name)];
  for (let tries = 1; tries <= mostTries; tries += 1) {
    const { present, previous, texts } = await readKept(kept, name);
    const [presentText, previousText] = texts;
    const line = makeSecretLine();
    const former = present === undefined ? previous : [...previous, present];
    const lines = former.map((secret) => `${secret.reveal()}\n`).join("");
    const isDone = await guard(kept, record, () =>
      kept.change([
        { name: previousRecord, from: previousText, to: former.length === 0 ? previousText : lines },
        { name: record, from: presentText, to: line },
      ]),
    );
    // Returns its own secret: the record may already hold that of another rotation.
    if (isDone) return new Secret(line.trim());
  }
  throw new AppError("conflict", `The secret in ${kept.placeOf(record)} is being changed by others all the time.`, {
    hint: "Rotate it from one place.",
  });
}

/** Called when the service is known to send to the new address. */
export async function forgetPreviousSecrets(kept: KeptRecords, name: SecretName): Promise<void> {
  const record = previousOf(name);
  await guard(kept, record, () => kept.write(record, undefined));
}

/**
 * Passes on the secrets of a hook when another process changes them. Looks each second, and earlier when it is woken.
 * `known`: the secrets of the watched hooks, without those of the configuration.
 */
export function followSecrets(
  kept: KeptRecords,
  known: ReadonlyMap<SecretName, HookSecrets>,
  onSecrets: (name: SecretName, secrets: HookSecrets) => void,
  { clock, log }: { clock: Clock; log: Log },
): Poll {
  const last = new Map([...known].map(([name, secrets]) => [name, textOf(secrets)]));
  return createPoll({
    everyMs: 1_000,
    clock,
    async look() {
      const texts = await readTexts(kept, [...last.keys()]);
      for (const [index, [name, before]] of [...last].entries()) {
        const { present, previous } = await toKept(kept, name, texts[2 * index], texts[2 * index + 1]);
        if (present === undefined) continue;
        // A rotation first copies the present secret to the previous ones, which changes nothing.
        const secrets: HookSecrets = [present, ...previous.filter((one) => one.reveal() !== present.reveal())];
        if (textOf(secrets) === before) continue;
        last.set(name, textOf(secrets));
        onSecrets(name, secrets);
        log.info("hook.secrets_changed", { hook: name, taken: secrets.length });
      }
    },
    onFailed: logFailure(log, "hook.secret_unread"),
  });
}

function textOf(secrets: HookSecrets): string {
  return secrets.map((secret) => secret.reveal()).join(" ");
}

async function readKept(kept: KeptRecords, name: SecretName) {
  const [present, previous] = await readTexts(kept, [name]);
  return toKept(kept, name, present, previous);
}

/** The present secret of each name, then its previous ones, in one read. */
async function readTexts(kept: KeptRecords, names: readonly SecretName[]): Promise<(string | undefined)[]> {
  const records = names.flatMap((name) => [secretRecord(name), previousOf(name)]);
  try {
    return await kept.read(...records);
  } catch (error) {
    const { path } = error as NodeJS.ErrnoException;
    const failed = records.find((record) => kept.placeOf(record) === path) ?? records[0] ?? "";
    return guard(kept, failed, () => Promise.reject(error));
  }
}

async function toKept(kept: KeptRecords, name: SecretName, present?: string, previous?: string) {
  return {
    present: present === undefined ? undefined : await toSecret(kept, secretRecord(name), present),
    /** Failed rotations leave several, the oldest first. */
    previous: toPrevious(previous ?? ""),
    texts: [present, previous],
  };
}

/** One secret a line. */
function toPrevious(text: string): Secret[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => findTokenWeakness(line) === undefined).map((line) => new Secret(line));
}

async function toSecret(kept: KeptRecords, record: string, text: string): Promise<Secret> {
  const secret = text.trim();
  const weakness = /^[A-Za-z0-9_-]*$/.test(secret)
    ? findTokenWeakness(secret)
    : "holds other characters than letters, digits, - and _";
  if (weakness !== undefined) throw unusable(kept, record, `it ${weakness}`);
  await guard(kept, record, async () => kept.closeToOthers?.(record));
  return new Secret(secret);
}

export function secretRecord(name: SecretName): string {
  return `secrets/${name}`;
}

function previousOf(name: SecretName): string {
  return `${secretRecord(name)}.previous`;
}

function makeSecretLine(): string {
  return `${randomBytes(secretBytes).toString("base64url")}\n`;
}

async function guard<T>(kept: KeptRecords, record: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const why = error instanceof Error && "code" in error ? String(error.code) : "unknown failure";
    throw unusable(kept, record, `it cannot be read or written (${why})`, error);
  }
}

function unusable(kept: KeptRecords, record: string, why: string, cause?: unknown): AppError {
  return new AppError("config_invalid", `The secret in ${kept.placeOf(record)} cannot be used: ${why}.`, {
    hint:
      "Check that the folder belongs to the user that runs Tocsin, or remove the file (in PostgreSQL: " +
      "the row of kept_records): then a new secret is made, and senders need the new address.",
    cause,
  });
}

/** 22 characters of a url-safe alphabet of 64 carry 132 bits. */
export const leastTokenLength = 22;

const placeholders = /change[-_]?me|replace[-_]?(me|this)|your[-_]|example|placeholder|password|default|12345678/i;

/** Why a token could be guessed, in words after its name. Undefined for a strong token. */
function findTokenWeakness(token: string): string | undefined {
  if (token.length < leastTokenLength) {
    return `has ${token.length} characters; ${leastTokenLength} are needed so that nobody can guess it`;
  }
  if (placeholders.test(token)) return "looks like a placeholder out of an example";
  if (new Set(token).size < 8) return "repeats the same few characters";
  return undefined;
}

/** A weak token is a mistake where others can reach the server, and otherwise a warning. */
export function judgeStrength(
  token: Secret,
  { isPublic }: { isPublic: boolean },
  refuse: (message: string, instead: string) => void,
  warn: (message: string, instead: string) => void,
): void {
  const weakness = findTokenWeakness(token.reveal());
  if (weakness === undefined) return;
  if (isPublic) refuse(`${weakness}, and others can reach this server`, howToMakeToken);
  else warn(`${weakness}; it is taken only because nobody else can reach this server`, howToMakeToken);
}

export const howToMakeToken =
  "make one with `openssl rand -base64 32 | tr '+/' '-_' | tr -d '='`, or leave it out: then one is made and kept";
