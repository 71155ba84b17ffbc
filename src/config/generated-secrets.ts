import { randomBytes as cryptoRandomBytes, randomUUID } from "node:crypto";
import { chmod, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import { Secret } from "../core/secret.ts";
import { makePrivateFolder } from "../ground/files/private-folder.ts";
import { createFile, replaceFile } from "../ground/files/replace-file.ts";

export type SecretName = "webhook-secret" | "admin-token" | `source-${string}`;

export interface GivenSecrets {
  webhookSecret?: Secret;
  adminToken?: Secret;
  /** Default none. */
  sources?: readonly { name: string; secret?: Secret; formerSecrets?: readonly Secret[] }[];
}

export interface ServerSecrets {
  webhookSecret: Secret;
  adminToken: Secret;
  /** What a rotation that has not been seen through was replacing: the service may still send there. Usually empty. */
  previousWebhookSecrets: Secret[];
  /** Of the hooks of sources, by name: the present one, and behind it those that are still taken. */
  sourceSecrets: ReadonlyMap<string, HookSecrets>;
  /** Those that were made just now, for a first greeting. */
  created: SecretName[];
}

/** The present one first. */
export type HookSecrets = readonly [Secret, ...Secret[]];

export interface SecretOptions {
  /** Default: `randomBytes` of node:crypto. */
  randomBytes?: (size: number) => Uint8Array;
}

/** 256 bits; 43 characters that fit into an address. */
const secretBytes = 32;

/**
 * What was given, or what was kept in `<dataDir>/secrets`, or new ones that are kept there: one file each, mode 0600
 * in a folder of mode 0700, on disk before it is used. Of two processes that start together both get the same
 * secrets.
 *
 * Throws `config_invalid` when the folder cannot be written or a file holds no strong secret.
 */
export async function loadOrCreateSecrets(
  dataDir: string,
  given: GivenSecrets,
  options: SecretOptions = {},
): Promise<ServerSecrets> {
  const created: SecretName[] = [];
  const load = (name: SecretName) => loadOrCreate(dataDir, name, options, () => created.push(name));
  const webhookSecret = given.webhookSecret ?? (await load("webhook-secret"));
  const adminToken = given.adminToken ?? (await load("admin-token"));
  const previousWebhookSecrets = given.webhookSecret === undefined ? await readPrevious(dataDir, "webhook-secret") : [];
  const sourceSecrets = await loadSourceSecrets(dataDir, given.sources ?? [], options);
  return { webhookSecret, adminToken, previousWebhookSecrets, sourceSecrets, created };
}

/** Of the hooks of sources alone; by name. */
export async function loadSourceSecrets(
  dataDir: string,
  sources: NonNullable<GivenSecrets["sources"]>,
  options: SecretOptions = {},
): Promise<Map<string, HookSecrets>> {
  const secrets = new Map<string, HookSecrets>();
  for (const { name, secret, formerSecrets = [] } of sources) {
    const file = `source-${name}` as const;
    const present = secret ?? (await loadOrCreate(dataDir, file, options));
    secrets.set(name, [present, ...(secret === undefined ? await readPrevious(dataDir, file) : formerSecrets)]);
  }
  return secrets;
}

async function loadOrCreate(
  dataDir: string,
  name: SecretName,
  options: SecretOptions,
  onCreated?: () => void,
): Promise<Secret> {
  const path = secretPath(dataDir, name);
  const kept = await readSecret(path);
  if (kept !== undefined) return kept;
  if (await createSecret(path, options)) onCreated?.();
  const secret = await readSecret(path);
  if (secret === undefined) throw unusable(path, "it vanished while it was being made");
  return secret;
}

/**
 * Replaces a kept secret by a new one in one step; whoever reads meanwhile gets the old or the new one. The old one is
 * kept beside it until `forgetPreviousSecrets`, because until the service has confirmed the new address its alerts go
 * to the old one, and a relay that starts meanwhile must not refuse them.
 */
export async function rotateSecret(dataDir: string, name: SecretName, options: SecretOptions = {}): Promise<Secret> {
  const path = secretPath(dataDir, name);
  return guard(path, async () => {
    const replaced = await readSecret(path);
    if (replaced !== undefined) {
      const previous = [...(await readPrevious(dataDir, name)), replaced];
      const lines = previous.map((secret) => `${secret.reveal()}\n`).join("");
      await putSecret(previousPath(dataDir, name), lines);
    }
    await putSecret(path, makeSecretLine(options));
    const secret = await readSecret(path);
    if (secret === undefined) throw unusable(path, "it vanished while it was being made");
    return secret;
  });
}

/** Once the service is known to send to the new address. */
export async function forgetPreviousSecrets(dataDir: string, name: SecretName): Promise<void> {
  const path = previousPath(dataDir, name);
  await guard(path, () => rm(path, { force: true }));
}

/**
 * Hands over each webhook secret that another process (`tocsin setup --rotate-secret`) puts in the place of `known`,
 * so that not one alert is refused between the change at the service and a restart. Wake it when the folder has
 * changed; it finds it within a second anyway.
 */
export function followWebhookSecret(
  dataDir: string,
  known: Secret,
  onSecret: (secret: Secret) => void,
  { clock, log }: { clock: Clock; log: Log },
): Poll {
  const path = secretPath(dataDir, "webhook-secret");
  let last = known.reveal();
  return createPoll({
    everyMs: 1_000,
    clock,
    async look() {
      const secret = await readSecret(path);
      if (secret === undefined || secret.reveal() === last) return;
      last = secret.reveal();
      onSecret(secret);
      log.info("hook.secret_added");
    },
    onFailed: (error) => log.error("hook.secret_unread", { error: String(error).slice(0, 300) }),
  });
}

/**
 * Hands over the secrets of a source whenever another process (`tocsin sources --rotate`, `--retire`) has changed which are
 * taken. Only those of `known` are looked at: the others were given.
 */
export function followSourceSecrets(
  dataDir: string,
  known: ReadonlyMap<string, HookSecrets>,
  onSecrets: (source: string, secrets: HookSecrets) => void,
  { clock, log }: { clock: Clock; log: Log },
): Poll {
  const last = new Map([...known].map(([source, secrets]) => [source, textOf(secrets)]));
  return createPoll({
    everyMs: 1_000,
    clock,
    async look() {
      for (const [source, before] of last) {
        const name = `source-${source}` as const;
        const present = await readSecret(secretPath(dataDir, name));
        if (present === undefined) continue;
        const secrets: HookSecrets = [present, ...(await readPrevious(dataDir, name))];
        if (textOf(secrets) === before) continue;
        last.set(source, textOf(secrets));
        onSecrets(source, secrets);
        log.info("hook.secrets_changed", { source, taken: secrets.length });
      }
    },
    onFailed: (error) => log.error("hook.secret_unread", { error: String(error).slice(0, 300) }),
  });
}

function textOf(secrets: HookSecrets): string {
  return secrets.map((secret) => secret.reveal()).join(" ");
}

/** One a line, the oldest first; rotations that failed one after the other leave several. */
async function readPrevious(dataDir: string, name: SecretName): Promise<Secret[]> {
  const path = previousPath(dataDir, name);
  const text = await guard(path, () =>
    readFile(path, "utf8").catch((error: unknown) => {
      if (hasCode(error, "ENOENT")) return "";
      throw error;
    }),
  );
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => findTokenWeakness(line) === undefined).map((line) => new Secret(line));
}

function previousPath(dataDir: string, name: SecretName): string {
  return `${secretPath(dataDir, name)}.previous`;
}

export function secretPath(dataDir: string, name: SecretName): string {
  return join(secretFolder(dataDir), name);
}

export function secretFolder(dataDir: string): string {
  return join(dataDir, "secrets");
}

async function readSecret(path: string): Promise<Secret | undefined> {
  return guard(path, async () => {
    const text = await readFile(path, "utf8").catch((error: unknown) => {
      if (hasCode(error, "ENOENT")) return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    const secret = text.trim();
    const weakness = /^[A-Za-z0-9_-]*$/.test(secret)
      ? findTokenWeakness(secret)
      : "holds other characters than letters, digits, - and _";
    if (weakness !== undefined) throw unusable(path, `it ${weakness}`);
    await closeToOthers(path);
    return new Secret(secret);
  });
}

/** Copies and restores often loosen the mode. */
async function closeToOthers(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) await chmod(path, 0o600);
}

/** Whether it was this call that made it. */
async function createSecret(path: string, options: SecretOptions): Promise<boolean> {
  return guard(path, async () => {
    makePrivateFolder(dirname(path));
    return createFile(path, makeSecretLine(options));
  });
}

/** Of two rotations at once each writes beside under a name of its own. */
async function putSecret(path: string, lines: string): Promise<void> {
  makePrivateFolder(dirname(path));
  await replaceFile(path, lines, `${path}.${randomUUID()}.new`);
}

function makeSecretLine({ randomBytes = cryptoRandomBytes }: SecretOptions): string {
  return `${Buffer.from(randomBytes(secretBytes)).toString("base64url")}\n`;
}

async function guard<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const why = error instanceof Error && "code" in error ? String(error.code) : "unknown failure";
    throw unusable(path, `it cannot be read or written (${why})`, error);
  }
}

function unusable(path: string, why: string, cause?: unknown): AppError {
  return new AppError("config_invalid", `The secret in ${path} cannot be used: ${why}.`, {
    hint: "Check that the folder belongs to the user that runs Tocsin, or remove the file: then a new secret is made, and senders need the new address.",
    cause,
  });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** 22 characters of a url-safe alphabet of 64 carry 132 bits. */
export const leastTokenLength = 22;

const placeholders = /change[-_]?me|replace[-_]?(me|this)|your[-_]|example|placeholder|password|default|12345678/i;

/** Why a token could be guessed, in words that go after its name; `undefined` when it is strong enough. */
export function findTokenWeakness(token: string): string | undefined {
  if (token.length < leastTokenLength) {
    return `has ${token.length} characters; ${leastTokenLength} are needed so that nobody can guess it`;
  }
  if (placeholders.test(token)) return "looks like a placeholder out of an example";
  if (new Set(token).size < 8) return "repeats the same few characters";
  return undefined;
}

/** Said wherever a token is refused. */
export const howToMakeToken =
  "make one with `openssl rand -base64 32 | tr '+/' '-_' | tr -d '='`, or leave it out: then one is made and kept";
