import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { type Config, findAccount } from "../../config/config.ts";
import type { SecretName } from "../../config/generated-secrets.ts";
import type { ConfigProblem } from "../../config/shape/problem-list.ts";
import type { Route } from "../../contract/api.ts";
import { AppError } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";
import { isLoopback, localHost } from "../../ground/net/local-host.ts";
import { createRelayCaller, type FoundSecret, type RelayAddress, RelayUnreachable } from "../../http/call-relay.ts";
import type { LeftLog } from "../../start/open-left.ts";
import type { GivenOptions, Run } from "../command.ts";
import { reader, text, Unreadable } from "../options.ts";
import type { CliContext } from "../shell/context.ts";
import { fileFailure } from "../shell/failure.ts";

export const relayOptions = {
  url: reader(parseUrl)("where the relay listens (default: HOST and PORT of the configuration)", { of: "address" }),
  tokenFile: text("file that holds the admin token (default: ADMIN_TOKEN, or the one that the relay has made)", {
    of: "file",
  }),
};

export type RelayFlags = Partial<GivenOptions<typeof relayOptions>>;

export type RelayRun = Run<RelayFlags>;

export type RelayConnection = Awaited<ReturnType<typeof connectRelay>>;

type Surroundings = Pick<CliContext, "env" | "cwd">;

/** The configuration found here. @param fileText the content of its file. Default: it is read. @throws ConfigError */
export async function readConfig({ env, cwd }: Surroundings, fileText?: string): Promise<Config> {
  const { loadConfig } = await import("../../config/load-config.ts");
  return loadConfig({ env, cwd, fileText });
}

/** Only the environment: a mistake in the file must not prevent questions to a relay with an earlier file. */
const readPlace = (context: Surroundings): Promise<Config> => readConfig(context, "");

/** Where only the file has mistakes: these, with the result of `readPlace`. @throws ConfigError */
export async function readConfigOrPlace(
  context: Surroundings,
): Promise<{ config: Config; mistakes: readonly ConfigProblem[] }> {
  const { ConfigError } = await import("../../config/shape/problem-list.ts");
  try {
    return { config: await readConfig(context), mistakes: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const config = await readPlace(context).catch(() => Promise.reject(error));
    return { config, mistakes: error.problems };
  }
}

export function withConfig<R extends Pick<Run, "context">>(run: R, file: string | undefined): R {
  if (file === undefined) return run;
  return { ...run, context: { ...run.context, env: { ...run.context.env, TOCSIN_CONFIG: file } } };
}

/** The relay of `--url` or of the configuration, with its admin token. Asks nothing yet. */
export async function connectRelay({ context, output, flags }: RelayRun) {
  let read: Promise<Config> | undefined;
  const place = () => {
    read ??= readPlace(context);
    return read;
  };
  const url = flags.url ?? localUrlOf(await place());
  if (isInTheClear(url)) {
    await output.note(`warning: ${url} is not https, so secrets travel to it in the clear`);
  }
  /** The secret that the relay here has made, unless `--url` leads to a host that may belong to others. */
  async function findKeptSecret(name: "admin-token" | "webhook-secret"): Promise<FoundSecret | undefined> {
    const config = await place();
    if (!isOwn(url, config)) return undefined;
    return readKeptSecret(config, name).catch(async (error: unknown) => {
      if (!(error instanceof AppError) || config.databaseUrl === undefined) throw error;
      // The relay may not need the secret, so its answer comes first.
      await output.note(`${error.message} So no secret is known of it here.`);
      return undefined;
    });
  }
  const token = (await findGivenToken(context, flags)) ?? (await findKeptSecret("admin-token"));
  const client = await createRelayClient({ url, token, signal: context.signal });
  return {
    client,
    /** `--url` was given: the data in this machine's DATA_DIR may be those of another relay. */
    isElsewhere: flags.url !== undefined,
    place,
    findKeptSecret,
  };
}

/** `http://HOST:PORT` as this machine reaches the relay. */
export function localUrlOf({ server }: Config): string {
  if (server.port === 0) {
    throw new AppError("usage", "PORT is 0, so nobody can know where the relay listens", {
      hint: "say --url with the address that tocsin serve has printed",
    });
  }
  return `http://${localHost(server.host)}:${server.port}`;
}

async function findGivenToken(context: CliContext, { tokenFile }: RelayFlags): Promise<FoundSecret | undefined> {
  if (tokenFile !== undefined) {
    const path = resolve(context.cwd, tokenFile);
    const text = await readFile(path, "utf8").catch(fileFailure("usage", `--token-file ${tokenFile} cannot be read`));
    return toFoundSecret(text, tokenFile);
  }
  const given = context.env.ADMIN_TOKEN?.trim();
  return given ? toFoundSecret(given, "ADMIN_TOKEN") : undefined;
}

/** On this machine, or the public address of the relay here. A mistyped host must not get its secrets. */
function isOwn(url: string, { server }: Config): boolean {
  const { hostname, origin } = new URL(url);
  if (isLoopback(hostname) || hostname === new URL(`http://${localHost(server.host)}`).hostname) return true;
  return server.publicUrl !== undefined && new URL(server.publicUrl).origin === origin;
}

function parseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Unreadable("write an address like http://127.0.0.1:8080");
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new Unreadable("write the base address alone, without user, query or fragment");
  }
  return url.href.replace(/\/+$/, "");
}

function isInTheClear(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopback(hostname);
}

/** Only reads: a relay would take over a secret that is made here. @throws AppError `store_unavailable` */
export async function readKeptSecret(config: Config, name: SecretName): Promise<FoundSecret | undefined> {
  const [{ secretRecord }, { withKept }] = await Promise.all([
    import("../../config/generated-secrets.ts"),
    import("../../store/with-kept.ts"),
  ]);
  return withKept(config, async (kept) => {
    const place = kept.placeOf(secretRecord(name));
    const hint = "run this as the user that the relay runs as";
    const [text] = await kept.read(secretRecord(name)).catch(fileFailure("failed", `${place} cannot be read`, hint));
    return text === undefined ? undefined : toFoundSecret(text, place);
  });
}

/** @throws AppError `config_invalid` for a text that cannot be in a header or an address. */
function toFoundSecret(text: string, from: string): FoundSecret {
  const secret = text.trim();
  if (/^[\x21-\x7e]{1,512}$/.test(secret)) return { secret: new Secret(secret), from };
  throw new AppError("config_invalid", `${from} holds no token that a header can carry`, {
    hint: "it must be one line of visible ASCII characters",
  });
}

/**
 * The API for a command that reads. Where no relay answers, the database of the stopped relay answers as far as its log
 * can, and a note on stderr says so. All other routes then fail with `relay_unreachable`. Without a database every
 * route fails, as with `--url`: the database here may be another relay's.
 * @param work `database`: the configuration of the database that is read. Undefined: only the API is used
 * @param options `readsMuch`: also reads the database of a running relay here, where this user may. Default false
 */
export async function withClient<T>(
  run: RelayRun,
  work: (client: RelayClient, database: LeftLog | undefined) => Promise<T>,
  { readsMuch = false } = {},
): Promise<T> {
  const relay = await connectRelay(run);
  const left = await relay.client.isReady().then(
    () => (readsMuch && !relay.isElsewhere ? openLeftHere(run, relay).catch(() => undefined) : undefined),
    (error: unknown) => {
      if (relay.isElsewhere || !(error instanceof RelayUnreachable)) throw error;
      return openDatabase(run, relay, error);
    },
  );
  try {
    return await work({ ...relay.client, ...left?.answers }, left);
  } finally {
    await left?.close();
  }
}

async function openDatabase(run: RelayRun, relay: RelayConnection, failure: RelayUnreachable): Promise<LeftLog> {
  const { DatabaseMissing } = await import("../../store/open-read-only.ts");
  const config = await readConfig(run.context);
  const left = await openLeftHere(run, relay).catch((reason: unknown) => {
    // Without a database no relay has ever run here, so the news is that nothing answers.
    throw reason instanceof DatabaseMissing ? failure : reason;
  });
  const place = config.databaseUrl === undefined ? `in ${config.dataDir}` : "of DATABASE_URL";
  await run.output.note(`${failure.message}; reading the database ${place} instead`);
  return left;
}

async function openLeftHere({ context }: RelayRun, { client }: RelayConnection): Promise<LeftLog> {
  const [{ openLeft }, { requireAlerting }] = await Promise.all([
    import("../../start/open-left.ts"),
    import("../../config/upstream-env.ts"),
  ]);
  const config = await readConfig(context);
  const accountOf = (source?: string) =>
    source === undefined ? requireAlerting(context.env) : findAccount(config, source).account;
  const publicUrl = config.server.publicUrl ?? client.url;
  return openLeft(config, { ...context, publicUrl, accountOf });
}

export type RelayClient = Awaited<ReturnType<typeof createRelayClient>>;

const hooked = z.object({ data: z.object({ id: z.string() }) });

/**
 * Throws as `createRelayCaller`, and `failed` for an old relay without the route. The contract is loaded on first use.
 */
export async function createRelayClient(address: RelayAddress) {
  const { url } = address;
  const { createClient } = await import("../../contract/client.ts");
  const { read, isReady, openStream } = createRelayCaller(address);
  const api = createClient(({ route, ...call }, schema) =>
    read({ ...call, timeoutMs: route.timeoutMs }, schema).catch((error: unknown) => {
      throw isUnknownRoute(error) ? tooOld(url, route) : error;
    }),
  );
  return {
    ...api,
    ...{ url, isReady, openStream },
    /** Posts JSON to the relay's own hook. Gives the id of the stored alert. */
    async postToHook(hookSecret: Secret, body: unknown, headers: Record<string, string>): Promise<string> {
      const call = { path: `/hooks/${hookSecret.reveal()}`, method: "POST" as const, body, headers, needsToken: false };
      const said = await unlessMissing(read(call, hooked));
      if (said !== undefined) return said.data.id;
      throw new AppError("not_found", `the relay at ${url} does not know the hook secret found here`, {
        hint: "run this with the WEBHOOK_SECRET, DATA_DIR or DATABASE_URL that the relay runs with",
      });
    },
  };
}

/** Undefined for a missing thing: it may have been removed meanwhile. */
export function unlessMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
}

function isNotFound(error: unknown): boolean {
  return error instanceof AppError && error.code === "not_found";
}

/** The relay is older than the route. Every other 404 is about a missing thing. */
function isUnknownRoute(error: unknown): boolean {
  return isNotFound(error) && (error as AppError).message.includes("no such page");
}

function tooOld(url: string, { path, instead }: Route): AppError {
  const lacks = path.replace(/:(\w+)/g, (_, name: string) => name.toUpperCase());
  const message = `the relay at ${url} is older than this command: it has no ${lacks}`;
  const hint =
    "restart it with this version, or run the command of its own version; /readyz and /metrics answer meanwhile";
  return new AppError("failed", instead === undefined ? message : `${message}; ${instead}`, { hint });
}
