import { join, resolve } from "node:path";
import { AppError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import type { StorePlace } from "../core/store-place.ts";
import { databasePlace } from "../ground/net/database-place.ts";
import { readOneOf, readSize } from "../ground/shape/field.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import type { EnvReader } from "../vendors/vendor.ts";
import { type LogLevel, logLevels, type ServerSettings, type SpoolSettings } from "./config.ts";
import { readVendorsEnv, type VendorsEnv } from "./destinations.ts";
import { findTokenWeakness, howToMakeToken, leastTokenLength } from "./generated-secrets.ts";
import { type Env, envText, readServer, readVariable } from "./server-env.ts";
import type { ProblemList } from "./shape/problem-list.ts";
import { readUpstreamEnv, type UpstreamSettings } from "./upstream-env.ts";

/** What the environment says, before it is joined with the file. */
export interface EnvSettings {
  server: ServerSettings;
  place: StorePlace;
  spool?: SpoolSettings;
  webhookSecret?: Secret;
  adminToken?: Secret;
  upstream: UpstreamSettings;
  logLevel: LogLevel;
  vendors: VendorsEnv;
}

export function readEnv(env: Env, cwd: string, problems: ProblemList): EnvSettings {
  const server = readServer(env, problems);
  const place = readPlace(env, cwd, problems);
  return {
    server,
    place,
    ...readSpool(env, cwd, place.dataDir, problems),
    ...readTokens(env, server, problems),
    upstream: readUpstream(env, problems),
    logLevel: readVariable(env, "LOG_LEVEL", readOneOf(logLevels), problems) ?? "info",
    vendors: readVendorsEnv(createEnvReader(env, problems)),
  };
}

const pgAddress =
  "write postgres://user:password@host:5432/database, with @ : / # ? of the password as %40 %3A %2F %23 %3F";

function readPlace(env: Env, cwd: string, problems: ProblemList): StorePlace {
  const databaseUrl = readAddress(env, "DATABASE_URL", "or unset it for SQLite", problems);
  const databaseListenUrl = readAddress(env, "DATABASE_LISTEN_URL", "or unset it", problems);
  const folder = envText(env, "DATA_DIR");
  const onDisk = { dataDir: resolve(cwd, folder ?? "data") };
  if (databaseUrl !== undefined)
    return { databaseUrl, ...(databaseListenUrl && { databaseListenUrl }), ...(folder !== undefined && onDisk) };
  if (databaseListenUrl !== undefined && envText(env, "DATABASE_URL") === undefined) {
    const message = "is where relays hear each other when DATABASE_URL leads through a pooler, and that is not set";
    problems.addEnv("DATABASE_LISTEN_URL", message, "unset it, or set DATABASE_URL");
  }
  return onDisk;
}

/** What is wrong with one is said without repeating it, since it holds a password. */
function readAddress(env: Env, name: string, orElse: string, problems: ProblemList): Secret | undefined {
  const url = envText(env, name);
  if (url === undefined) return undefined;
  if (databasePlace(url) !== undefined) return new Secret(url);
  problems.addEnv(name, "is not the address of a PostgreSQL database", `${pgAddress}; ${orElse}`);
  return undefined;
}

const defaultSpoolBytes = 1024 * 1024 * 1024;
const leastSpoolBytes = 16 * 1024 * 1024;

function readSpool(
  env: Env,
  cwd: string,
  dataDir: string | undefined,
  problems: ProblemList,
): Pick<EnvSettings, "spool"> {
  const maxBytes = readVariable(env, "SPOOL_SIZE", readSize(leastSpoolBytes), problems) ?? defaultSpoolBytes;
  const folder = envText(env, "SPOOL_DIR");
  if (folder === undefined) return {};
  const dir = resolve(cwd, folder);
  if (envText(env, "DATABASE_URL") === undefined) {
    const message =
      "is for alerts that wait while PostgreSQL is away, and DATABASE_URL is not set: SQLite is never away";
    problems.addEnv(
      "SPOOL_DIR",
      message,
      "unset it; what still waits there is handed over by a start with DATABASE_URL",
    );
  }
  if (dir === dataDir) {
    const message = "is the same as DATA_DIR, and has to be a folder of its own";
    problems.addEnv("SPOOL_DIR", message, `write e.g. SPOOL_DIR=${join(folder, "spool")}`);
  }
  return { spool: { dir, maxBytes } };
}

/** Item 17 of the security list: nothing that can be guessed guards an address that others can reach. */
function readTokens(
  env: Env,
  server: ServerSettings,
  problems: ProblemList,
): Pick<EnvSettings, "webhookSecret" | "adminToken"> {
  const webhookSecret = envText(env, "WEBHOOK_SECRET");
  const adminToken = envText(env, "ADMIN_TOKEN");
  if (webhookSecret !== undefined && !/^[A-Za-z0-9_-]{1,256}$/.test(webhookSecret)) {
    const found = `is part of an address, so it may only have letters, digits, - and _, ${leastTokenLength} to 256 of them`;
    problems.addEnv("WEBHOOK_SECRET", found, howToMakeToken);
  } else if (webhookSecret !== undefined) {
    judgeStrength("WEBHOOK_SECRET", webhookSecret, server, problems);
  }
  if (adminToken !== undefined && !/^[\x21-\x7e]{1,512}$/.test(adminToken)) {
    problems.addEnv("ADMIN_TOKEN", "holds a space or a character that a header cannot carry", howToMakeToken);
  } else if (adminToken !== undefined) {
    judgeStrength("ADMIN_TOKEN", adminToken, server, problems);
  }
  if (webhookSecret !== undefined && webhookSecret === adminToken) {
    problems.addEnv("ADMIN_TOKEN", "is the same as WEBHOOK_SECRET, which every sender knows", howToMakeToken);
  }
  return {
    ...(webhookSecret === undefined ? {} : { webhookSecret: new Secret(webhookSecret) }),
    ...(adminToken === undefined ? {} : { adminToken: new Secret(adminToken) }),
  };
}

function judgeStrength(name: string, token: string, server: ServerSettings, problems: ProblemList): void {
  const weakness = findTokenWeakness(token);
  if (weakness === undefined) return;
  if (server.isPublic) problems.addEnv(name, `${weakness}, and others can reach this server`, howToMakeToken);
  else problems.warn(name, `${weakness}; it is taken only because nobody else can reach this server`, howToMakeToken);
}

const upstreamVariables = [
  "ALERTING_URL",
  "ALERTING_API_KEY",
  "PRICING_URL",
  "PRICING_API_KEY",
  "PRICING_EQUITIES_PRICE_PATH",
] as const;

/** One at a time, since the reader stops at the first mistake. */
function readUpstream(env: Env, problems: ProblemList): UpstreamSettings {
  const good: Record<string, string | undefined> = {};
  for (const name of upstreamVariables) {
    try {
      readUpstreamEnv({ [name]: env[name] });
      good[name] = env[name];
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      problems.addEnv(name, error.message.replace(`${name} `, ""), error.hint);
    }
  }
  return readUpstreamEnv(good);
}

/** For a vendor's `environment`. */
export function createEnvReader(env: Env, problems: ProblemList): EnvReader {
  return {
    has: (name) => envText(env, name) !== undefined,
    one: (name, read) => readVariable(env, name, read, problems),
    list: (name, read) => readList(env, name, read, problems),
    refuse: (name, message, instead) => problems.addEnv(name, message, instead),
  };
}

/** Comma-separated; one that is named twice is reported and counts once. */
function readList(env: Env, name: string, read: (value: unknown) => string | Refusal, problems: ProblemList): string[] {
  const parts = (envText(env, name) ?? "").split(",").map((part) => part.trim());
  const good: string[] = [];
  for (const part of parts.filter((text) => text !== "")) {
    const value = read(part);
    if (value instanceof Refusal) problems.addEnv(name, value.message, value.instead);
    else if (good.includes(value)) problems.warn(name, `${showValue(value)} is listed twice; it gets each alert once`);
    else good.push(value);
  }
  return good;
}
