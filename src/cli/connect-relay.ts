import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import type { Config } from "../config/config.ts";
import { AppError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import type { CliContext } from "./context.ts";
import type { Output } from "./output.ts";
import { createRelayClient, type RelayClient } from "./relay-client.ts";

/** Options of every command that talks to a relay. */
export interface RelayFlags {
  url?: string;
  tokenFile?: string;
}

/** What a command works with that talks to a relay. */
export interface RelayRun {
  context: CliContext;
  output: Output;
  flags: RelayFlags;
}

export interface RelayConnection {
  client: RelayClient;
  /** `--url` was given: what this machine has in its DATA_DIR need not be that relay's. */
  isElsewhere: boolean;
  /** The configuration found here. Throws `ConfigError`. */
  loadConfig(): Promise<Config>;
}

export function addRelayOptions(command: Command): Command {
  return command
    .option(
      "--url <address>",
      "where the relay listens (default: HOST and PORT of the configuration)",
      parseUrl,
    )
    .option(
      "--token-file <file>",
      "file that holds the admin token (default: ADMIN_TOKEN, or DATA_DIR/secrets)",
    );
}

/** The relay of `--url` or of the configuration, and the admin token that this machine knows. Asks nothing yet. */
export async function connectRelay({ context, output, flags }: RelayRun): Promise<RelayConnection> {
  let loaded: Promise<Config> | undefined;
  const loadConfig = () => {
    loaded ??= import("../config/load-config.ts").then((module) =>
      module.loadConfig({ env: context.env, cwd: context.cwd }),
    );
    return loaded;
  };
  const url = flags.url ?? localUrlOf(await loadConfig());
  if (sendsTokenInTheClear(url)) {
    await output.note(`warning: ${url} is not https, so the admin token travels in the clear`);
  }
  const token = await findToken(context, flags, loadConfig);
  const client = createRelayClient({ url, token, signal: context.signal });
  return { client, isElsewhere: flags.url !== undefined, loadConfig };
}

/** `http://HOST:PORT` as this machine reaches it. */
export function localUrlOf({ server }: Config): string {
  if (server.port === 0) {
    throw new AppError("usage", "PORT is 0, so nobody can know where the relay listens", {
      hint: "say --url with the address that tocsin serve has printed",
    });
  }
  return `http://${localHost(server.host)}:${server.port}`;
}

function localHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

async function findToken(
  context: CliContext,
  { tokenFile }: RelayFlags,
  loadConfig: () => Promise<Config>,
): Promise<{ secret: Secret; from: string } | undefined> {
  if (tokenFile !== undefined) {
    const text = await readFile(resolve(context.cwd, tokenFile), "utf8").catch(
      (error: NodeJS.ErrnoException) => {
        throw new AppError("usage", `--token-file ${tokenFile} cannot be read (${error.code ?? "unknown"})`);
      },
    );
    return { secret: toToken(text, tokenFile), from: tokenFile };
  }
  const given = context.env.ADMIN_TOKEN?.trim();
  if (given) return { secret: toToken(given, "ADMIN_TOKEN"), from: "ADMIN_TOKEN" };
  const { dataDir } = await loadConfig();
  return readKeptSecret(dataDir, "admin-token");
}

/** A secret that the relay made and keeps in its DATA_DIR. Makes none: a relay that finds one takes it for its own. */
export async function readKeptSecret(
  dataDir: string,
  name: "admin-token" | "webhook-secret",
): Promise<{ secret: Secret; from: string } | undefined> {
  const { secretPath } = await import("../config/generated-secrets.ts");
  const path = secretPath(dataDir, name);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new AppError("failed", `${path} cannot be read (${error.code ?? "unknown"})`, {
      hint: "run this as the user that the relay runs as",
    });
  });
  return text === undefined ? undefined : { secret: toToken(text, path), from: path };
}

function toToken(text: string, from: string): Secret {
  const token = text.trim();
  if (/^[\x21-\x7e]{1,512}$/.test(token)) return new Secret(token);
  throw new AppError("config_invalid", `${from} holds no token that a header can carry`, {
    hint: "it must be one line of visible ASCII characters",
  });
}

function parseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError("write an address like http://127.0.0.1:8080");
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new InvalidArgumentError("write the base address alone, without user, query or fragment");
  }
  return url.href.replace(/\/+$/, "");
}

function sendsTokenInTheClear(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
