import { join, resolve } from "node:path";
import type { StorePlace } from "../core/store-place.ts";
import { Refusal } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import type { EnvReader } from "../vendors/vendor.ts";
import type { Config } from "./config.ts";
import { readVendorsEnv } from "./destinations.ts";
import { howToMakeToken, judgeStrength } from "./generated-secrets.ts";
import { readServer } from "./server-env.ts";
import type { ProblemList } from "./shape/problem-list.ts";
import { readUpstream } from "./upstream-env.ts";
import { type Env, envText, readVariable } from "./variables.ts";

/** Reads the environment alone, before it is joined with the file. */
export function readEnv(env: Env, cwd: string, problems: ProblemList) {
  const server = readServer(env, problems);
  const place = readPlace(env, cwd, problems);
  return {
    server,
    place,
    ...readSpool(env, cwd, place.dataDir, problems),
    ...readTokens(env, server, problems),
    upstream: readUpstream(env, problems.refuseVariable),
    logLevel: readVariable(env, "LOG_LEVEL", problems.refuseVariable),
    vendors: readVendorsEnv(createEnvReader(env, problems)),
  };
}

function readPlace(env: Env, cwd: string, problems: ProblemList): StorePlace {
  const databaseUrl = readVariable(env, "DATABASE_URL", problems.refuseVariable);
  const databaseListenUrl = readVariable(env, "DATABASE_LISTEN_URL", problems.refuseVariable);
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

function readSpool(env: Env, cwd: string, dataDir: string | undefined, problems: ProblemList): Pick<Config, "spool"> {
  const maxBytes = readVariable(env, "SPOOL_SIZE", problems.refuseVariable);
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

/** Refuses a guessable token for an address that others can reach. */
function readTokens(
  env: Env,
  server: Config["server"],
  problems: ProblemList,
): Pick<Config, "webhookSecret" | "adminToken"> {
  const webhookSecret = readVariable(env, "WEBHOOK_SECRET", problems.refuseVariable);
  const adminToken = readVariable(env, "ADMIN_TOKEN", problems.refuseVariable);
  for (const [name, token] of Object.entries({ WEBHOOK_SECRET: webhookSecret, ADMIN_TOKEN: adminToken })) {
    if (token === undefined) continue;
    judgeStrength(token, server, problems.addEnv.bind(problems, name), problems.warn.bind(problems, name));
  }
  if (webhookSecret !== undefined && webhookSecret.reveal() === adminToken?.reveal()) {
    problems.addEnv("ADMIN_TOKEN", "is the same as WEBHOOK_SECRET, which every sender knows", howToMakeToken);
  }
  return { ...(webhookSecret && { webhookSecret }), ...(adminToken && { adminToken }) };
}

export function createEnvReader(env: Env, problems: ProblemList): EnvReader {
  return {
    has: (name) => envText(env, name) !== undefined,
    one: (name, read) => {
      const text = envText(env, name);
      const value = text === undefined ? undefined : read(text);
      if (!(value instanceof Refusal)) return value;
      problems.refuseVariable(name, value);
      return undefined;
    },
    list: (name, read) => readList(env, name, read, problems),
    refuse: (name, message, instead) => problems.addEnv(name, message, instead),
  };
}

/** A repeated entry is reported and counts once. */
function readList(env: Env, name: string, read: (value: unknown) => string | Refusal, problems: ProblemList): string[] {
  const parts = (envText(env, name) ?? "").split(",").map((part) => part.trim());
  const good: string[] = [];
  for (const part of parts.filter((text) => text !== "")) {
    const value = read(part);
    if (value instanceof Refusal) problems.refuseVariable(name, value);
    else if (good.includes(value)) problems.warn(name, `${showValue(value)} is listed twice; it gets each alert once`);
    else good.push(value);
  }
  return good;
}
