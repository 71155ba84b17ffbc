import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Destination, Route, Rules } from "../core/rules.ts";
import { vendorOf } from "../vendors/index.ts";
import { buildDestination, buildEnvDestinations } from "./build-destinations.ts";
import {
  buildCanary,
  buildDelivery,
  buildHeartbeat,
  buildIntake,
  buildMapping,
  buildMarket,
  buildMutes,
  buildRetention,
  buildSilence,
  buildWatch,
} from "./build-sections.ts";
import { buildSources } from "./build-sources.ts";
import type { DataDirProblem } from "./check-data-dir.ts";
import { checkEnvFile } from "./check-env-file.ts";
import type { Config } from "./config.ts";
import { type EnvUse, isRelevantVariable, reportMisspelt, warnOfHalves } from "./env-names.ts";
import { type EnvSettings, readEnv } from "./read-env.ts";
import { buildRoutes, warnOfGaps } from "./routes.ts";
import { defaultsSchema, fileSchema } from "./schema.ts";
import { type Env, envText } from "./server-env.ts";
import {
  ConfigError,
  type ConfigProblem,
  createProblemList,
  maskSecrets,
  type ProblemList,
} from "./shape/problem-list.ts";
import { readShape, refuseKind } from "./shape/read-shape.ts";
import { readYamlFile, type YamlFile } from "./shape/yaml-file.ts";

export interface LoadOptions {
  env: Env;
  /** Relative paths are meant from here. */
  cwd: string;
  /** Returns `undefined` for a file that does not exist. Default: the file system. */
  readFile?: (path: string) => string | undefined;
  /** Why `DATA_DIR`, or `SPOOL_DIR`, cannot be used; default: it is not looked at, since most commands work without it. */
  inspectDataDir?: (path: string) => DataDirProblem | undefined;
}

const defaultFile = "tocsin.yaml";

/**
 * Reads the environment and the YAML file (`TOCSIN_CONFIG`, or `tocsin.yaml` if there is one) and checks them as a
 * whole. Throws one `ConfigError` with all mistakes at once; neither it nor the warnings hold a secret.
 */
export function loadConfig({ env, cwd, readFile = readTextFile, inspectDataDir }: LoadOptions): Config {
  const { path, file, problem } = openFile(env, cwd, readFile);
  const problems = createProblemList(file.locate, [...problem, ...file.problems]);
  const settings = readEnv(env, cwd, problems);
  const sections = readShape(fileSchema, file.value ?? {}, [], problems);
  const {
    defaults,
    destinations,
    routes,
    mutes,
    intake,
    mapping,
    delivery,
    retention,
    watch,
    market,
    heartbeat,
    silence,
    canary,
    sources,
  } = sections ?? {};

  const rules = buildRules({ defaults, destinations, routes, mutes }, file, settings, problems);
  const sign = buildHeartbeat(heartbeat, file.isReference, problems);
  const known = [...rules.destinations.map(({ name }) => name), ...Object.keys(destinations ?? {})];
  const { server, webhookSecret, adminToken } = settings;
  // Its mistakes are reported with the rules.
  const { timeZone } = defaultsSchema.safeParse(defaults ?? {}).data ?? {};
  const canaries = buildCanary(canary, { known, publicUrl: server.publicUrl, timeZone }, problems);
  const otherSecrets = [webhookSecret, adminToken];
  const { alerting } = settings.upstream;
  const hooks = buildSources(sources, { server, otherSecrets, alerting, isReference: file.isReference, problems });
  const config: Config = {
    server: settings.server,
    ...settings.place,
    ...(settings.spool && { spool: settings.spool }),
    ...(settings.webhookSecret && { webhookSecret: settings.webhookSecret }),
    ...(settings.adminToken && { adminToken: settings.adminToken }),
    upstream: settings.upstream,
    rules: canaries === undefined ? rules : { ...rules, canaryTo: canaries.to },
    intake: buildIntake(intake ?? {}, problems),
    mapping: buildMapping(mapping ?? {}, problems),
    sources: hooks,
    silence: buildSilence(silence ?? "off", { routes: rules.routes, sources: hooks }, problems),
    ...(canaries && { canary: canaries.schedule }),
    delivery: buildDelivery(delivery ?? {}, problems),
    retention: buildRetention(retention, problems),
    watch: buildWatch(watch ?? {}, settings.upstream.alerting !== undefined, problems),
    market: buildMarket(market, problems),
    ...(sign && { heartbeat: sign }),
    logLevel: settings.logLevel,
    ...(path === undefined ? {} : { configFile: path }),
    warnings: [],
  };
  const hasWritten = destinations !== undefined && destinations !== null;
  warnOfHalves(env, hasWritten, problems);
  const use = { referenced: file.referencedNames, hasWrittenDestinations: hasWritten };
  reportMisspelt(env, use, problems);
  reportEnvFile(cwd, readFile, use, problems);
  if (config.dataDir !== undefined) reportFolder("DATA_DIR", inspectDataDir?.(config.dataDir), problems);
  if (config.spool !== undefined) reportFolder("SPOOL_DIR", inspectDataDir?.(config.spool.dir), problems);
  const mask = (list: ConfigProblem[]) => maskSecrets(list, env, file.referencedValues);
  if (problems.problems.length > 0) throw new ConfigError(mask(inReadingOrder(problems.problems)));
  return { ...config, warnings: mask(problems.warnings) };
}

/** `.env` was read by the process before; this only reports what it made of it. */
function reportEnvFile(
  cwd: string,
  readFile: (path: string) => string | undefined,
  use: EnvUse,
  problems: ProblemList,
): void {
  const text = readFile(join(cwd, ".env"));
  if (text === undefined) return;
  const found = checkEnvFile(text, (name) => isRelevantVariable(name, use));
  for (const { where, message, instead } of found.problems) problems.addEnv(where, message, instead);
  for (const { where, message, instead } of found.warnings) problems.warn(where, message, instead);
}

/** Whoever checks is perhaps not the user of the relay. */
function reportFolder(name: "DATA_DIR" | "SPOOL_DIR", found: DataDirProblem | undefined, problems: ProblemList): void {
  if (found === undefined) return;
  const instead = found.instead.replaceAll("DATA_DIR", name).replaceAll("/var/lib/tocsin", exampleFolders[name]);
  if (found.isOfUser) problems.warn(name, found.message, instead);
  else problems.addEnv(name, found.message, instead);
}

const exampleFolders = { DATA_DIR: "/var/lib/tocsin", SPOOL_DIR: "/var/lib/tocsin/spool" };

/** The environment first (`.env` by its lines), then the file from top to bottom. */
function inReadingOrder(problems: ConfigProblem[]): ConfigProblem[] {
  const position = ({ where }: ConfigProblem): number => {
    const [, envLine] = /^\.env:(\d+)$/.exec(where) ?? [];
    if (envLine !== undefined) return Number(envLine) - 1_000_000_000;
    const [, line, column] = /:(\d+):(\d+)$/.exec(where) ?? [];
    return line === undefined ? -1 : Number(line) * 100_000 + Number(column);
  };
  return [...problems].sort((a, b) => position(a) - position(b));
}

function readTextFile(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

interface OpenedFile {
  path?: string;
  file: YamlFile;
  /** Why there is no file to read although one was named. */
  problem: ConfigProblem[];
}

function openFile(env: Env, cwd: string, readFile: (path: string) => string | undefined): OpenedFile {
  const named = envText(env, "TOCSIN_CONFIG");
  const path = resolve(cwd, named ?? defaultFile);
  const shownPath = relative(cwd, path).startsWith("..") ? path : relative(cwd, path);
  const nothing = readYamlFile("", shownPath, env);
  try {
    const text = readFile(path);
    if (text !== undefined) return { path, file: readYamlFile(text, shownPath, env), problem: [] };
    if (named === undefined) return { file: nothing, problem: [] };
    const problem = {
      where: "TOCSIN_CONFIG",
      message: `there is no file ${shownPath}`,
      instead: "correct the path (in TOCSIN_CONFIG or after --config), or leave it out",
    };
    return { file: nothing, problem: [problem] };
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    const problem = {
      where: shownPath,
      message: `the file cannot be read (${why})`,
      instead: "check its permissions",
    };
    return { file: nothing, problem: [problem] };
  }
}

interface RuleSections {
  defaults: unknown;
  destinations: unknown;
  routes: unknown;
  mutes: unknown;
}

function buildRules(sections: RuleSections, file: YamlFile, env: EnvSettings, problems: ProblemList): Rules {
  const defaults = readShape(defaultsSchema, sections.defaults ?? {}, ["defaults"], problems) ?? {};
  const fromEnv = buildEnvDestinations(env.vendors, defaults);
  const written = readWritten(sections.destinations, problems);
  refuseSameNames(written, fromEnv, problems);
  const context = { defaults, env: env.vendors, problems, isReference: file.isReference };
  const fromFile = written.flatMap(([name, value]) => buildDestination(name, value, context) ?? []);
  const destinations = [...fromEnv, ...fromFile];

  const known = [...fromEnv.map(({ name }) => name), ...written.map(([name]) => name)];
  const hasRoutes = sections.routes !== undefined && sections.routes !== null;
  const routes = hasRoutes
    ? buildRoutes(sections.routes, known, problems)
    : routeEverything(fromEnv, fromFile, file.locate([], "key"));
  if (hasRoutes && problems.problems.length === 0) warnOfGaps(routes, destinations, problems);
  warnOfSharedAddresses(destinations, problems);
  if (destinations.length === 0 && written.length === 0) {
    problems.warn(
      "TELEGRAM_CHAT_IDS",
      "there is no destination: alerts are kept and shown on the page, and sent to nobody",
      "set TELEGRAM_BOT_TOKEN and TELEGRAM_CHAT_IDS, or SMTP_URL and EMAIL_TO, or write destinations",
    );
  }
  const mutes = buildMutes(sections.mutes ?? [], problems);
  return { destinations, routes, mutes };
}

function readWritten(value: unknown, problems: ProblemList): [string, unknown][] {
  if (value === undefined || value === null) return [];
  if (typeof value === "object" && !Array.isArray(value)) return Object.entries(value);
  const example = "write a map: a name, a colon, and below it the destination";
  const { message, instead } = refuseKind("map", "destinations", value, example);
  problems.add(["destinations"], message, instead);
  return [];
}

function refuseSameNames(written: [string, unknown][], fromEnv: Destination[], problems: ProblemList): void {
  for (const [name] of written) {
    const twin = fromEnv.find((destination) => destination.name === name);
    if (twin === undefined) continue;
    problems.add(
      ["destinations", name],
      `is also the name of what ${twin.definedAt} makes`,
      `give it another name, or unset ${twin.definedAt}`,
      "key",
    );
  }
}

/** Where messages end up; two destinations that share one deliver an alert twice to the same readers. */
function addressesOf(destination: Destination): string[] {
  return vendorOf(destination.type).addresses(destination);
}

/** Without routes every alert goes everywhere; a chat or mailbox that the file names as well gets it once. */
function routeEverything(fromEnv: Destination[], fromFile: Destination[], definedAt: string): Route[] {
  const named = new Set(fromFile.flatMap(addressesOf));
  const others = fromEnv.filter((destination) => !addressesOf(destination).every((address) => named.has(address)));
  const to = [...others, ...fromFile].map(({ name }) => name);
  if (to.length === 0) return [];
  const where = fromFile.length > 0 ? definedAt : (fromEnv[0]?.definedAt ?? definedAt);
  return [
    {
      name: "everything",
      matchers: [],
      to,
      continue: false,
      isDefault: false,
      updates: "auto",
      definedAt: where,
    },
  ];
}

function warnOfSharedAddresses(destinations: Destination[], problems: ProblemList): void {
  const owners = new Map<string, Destination>();
  for (const destination of destinations) {
    for (const address of addressesOf(destination)) {
      const owner = owners.get(address);
      if (owner === undefined) owners.set(address, destination);
      else {
        const message = `${owner.name} and ${destination.name} reach the same readers: an alert routed to both is sent twice`;
        problems.warn(destination.definedAt, message, "keep one of the two");
        break;
      }
    }
  }
}
