import { createHash } from "node:crypto";
import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { Destination, Mute, Route, Rules, SilenceRule } from "../core/rules.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { vendorOf } from "../vendors/index.ts";
import type { DataDirProblem } from "./check-data-dir.ts";
import { checkEnvFile } from "./check-env-file.ts";
import type { Config, SourceSettings } from "./config.ts";
import { buildDestination, buildEnvDestinations, type VendorsEnv } from "./destinations.ts";
import { fileSchema } from "./file.ts";
import { buildInhibit } from "./grouping.ts";
import { type EnvUse, isRelevantVariable, reportMisspelt, warnOfHalves } from "./misspelt.ts";
import { readEnv } from "./read-env.ts";
import { buildRoutes, destinationName, warnOfGaps } from "./routes.ts";
import { canarySchema, type Defaults, muteSchema } from "./sections.ts";
import { type ConfigProblem, createProblemList, lineOf, maskSecrets, type ProblemList } from "./shape/problem-list.ts";
import { listEntries, mapEntries, readShape } from "./shape/read-shape.ts";
import { YamlFile } from "./shape/yaml-file.ts";
import { buildSources } from "./sources.ts";
import type { Env } from "./variables.ts";

export interface Written {
  env: Env;
  cwd: string;
  /** The YAML file: its text, its absolute path, and its name in mistakes. Absent: there is no file. */
  file?: { text: string; path: string; name: string };
  /** The text of `.env`. The process has already read it into `env`: here only unexpected readings are reported. */
  envFile?: string;
  /** Why `DATA_DIR`, or `SPOOL_DIR`, cannot be used. Default: not checked, since most commands do not need it. */
  inspectDataDir?: (path: string) => DataDirProblem | undefined;
  /** Mistakes that are already known. Default: none. */
  mistakes?: ConfigProblem[];
}

/** The mistakes have line and column, or a variable. Their words hold no secret. */
export type ReadConfig = { config: Config; mistakes?: undefined } | { config?: undefined; mistakes: ConfigProblem[] };

/** Reads a configuration and checks it as a whole. Changes nothing, so a running relay can call it again. */
export function readConfig({ env, cwd, file: given, envFile, inspectDataDir, mistakes = [] }: Written): ReadConfig {
  const file = new YamlFile(given?.text ?? "", given?.name ?? "tocsin.yaml", env);
  const problems = createProblemList(file.locate, [...mistakes, ...file.problems], file.isReference);
  const settings = readEnv(env, cwd, problems);
  const { server, webhookSecret, adminToken, upstream } = settings;
  const sections = readShape(sectionNames, file.value ?? {}, [], problems) ?? {};
  const read = <N extends SectionName>(name: N) => readSection(sections, name, problems);

  const defaults = read("defaults");
  const rules = buildRules(sections, settings.vendors, defaults, problems);
  const canary = buildCanary(sections, { rules, server, problems });
  const { alerting } = upstream;
  const sources = buildSources(sections.sources, {
    server,
    otherSecrets: [webhookSecret, adminToken],
    alerting,
    problems,
  });
  const watch = read("watch");
  if (watch.putBack && !(watch.enabled && alerting)) {
    problems.warn(
      problems.whereIs(["watch", "putBack"]),
      "nothing is put back, since the account is not watched",
      "set ALERTING_URL and ALERTING_API_KEY and enabled: true, or leave putBack out",
    );
  }
  // `heartbeat: false` means no heartbeat.
  const heartbeat = readShape(shapes.heartbeat, sections.heartbeat || undefined, ["heartbeat"], problems);
  const config: Config = {
    server,
    ...settings.place,
    ...(settings.spool && { spool: settings.spool }),
    ...(webhookSecret && { webhookSecret }),
    ...(adminToken && { adminToken }),
    upstream,
    rules: canary === undefined ? rules : { ...rules, canaryTo: canary.to },
    intake: read("intake"),
    mapping: read("mapping"),
    sources,
    silence: buildSilence(read("silence"), rules.routes, sources, problems),
    ...(canary && { canary: canary.schedule(defaults.timeZone) }),
    delivery: read("delivery"),
    retention: read("retention"),
    watch,
    market: read("market"),
    ...(heartbeat && { heartbeat }),
    logLevel: settings.logLevel,
    ...(given && { configFile: given.path, configHash: hashOfFile(given.text) }),
    warnings: [],
  };
  const hasWritten = sections.destinations !== undefined && sections.destinations !== null;
  warnOfHalves(env, hasWritten, problems);
  const use = { referenced: file.referencedNames, hasWrittenDestinations: hasWritten };
  reportMisspelt(env, use, problems);
  reportEnvFile(envFile, use, problems);
  if (config.dataDir !== undefined) reportFolder("DATA_DIR", inspectDataDir?.(config.dataDir), problems);
  if (config.spool !== undefined) reportFolder("SPOOL_DIR", inspectDataDir?.(config.spool.dir), problems);
  const mask = (list: ConfigProblem[]) => maskSecrets(list, env, file.referencedValues);
  if (problems.problems.length > 0) return { mistakes: mask(inReadingOrder(problems.problems)) };
  return { config: { ...config, warnings: mask(problems.warnings) } };
}

/** Bytes. A larger file would keep a relay from its work during reading. */
const mostOfOther = 64 * 1024;

/**
 * References are not resolved: people who may see the page need not know the machine's variables.
 * @throws AppError `invalid_request` with each mistake and its line
 */
export function readOtherRules(text: string, { destinations }: Pick<Rules, "destinations">): Rules {
  if (Buffer.byteLength(text) > mostOfOther)
    throw new AppError("too_large", `The file is larger than ${groupThousands(mostOfOther)} bytes.`, {
      hint: "Compare it with tocsin backtest --config FILE.",
    });
  const file = new YamlFile(text, "file");
  const found = file.problems.filter(({ path = "routes" }) => /^(?:routes|mutes|inhibit|defaults)\b/.test(path));
  const problems = createProblemList(file.locate, found, file.isReference);
  const sections = readShape(sectionNames, file.value ?? {}, [], problems) ?? {};
  const { routes: written, mutes, inhibit } = sections;
  const known = destinations.map(({ name }) => name);
  const { timeZone } = readSection(sections, "defaults", problems);
  if (found.length === 0 && (written === undefined || written === null))
    problems.add(["routes"], "is missing", `write e.g. routes: [{ to: ${known[0] ?? "desk"} }]`);
  const routes = buildRoutes(written ?? [], { known, timeZone, problems });
  const rules = {
    destinations: [...destinations],
    routes,
    mutes: buildMutes(mutes ?? [], problems),
    inhibit: buildInhibit(inhibit ?? [], problems),
  };
  const mistakes = inReadingOrder(problems.problems).map(lineOf);
  if (mistakes.length > 0) throw new AppError("invalid_request", `The file has mistakes: ${mistakes.join("; ")}`);
  return rules;
}

/** Distinguishes texts of a file: 12 digits of the SHA-256. */
export const hashOfFile = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 12);

/** Each section has its own shape, so a mistake in one hides no mistake in another. */
const shapes = fileSchema().shape;
const sectionNames = z.strictObject(
  Object.fromEntries(Object.keys(shapes).map((name) => [name, z.unknown().optional()])),
);
type Sections = z.infer<typeof sectionNames>;
type SectionName = keyof typeof shapes;
type Section<N extends SectionName> = NonNullable<z.output<(typeof shapes)[N]>>;

/** Returns the defaults without the section, or where it is refused. */
function readSection<N extends SectionName>(sections: Sections, name: N, problems: ProblemList): Section<N> {
  const shape: z.ZodType = shapes[name];
  return (readShape(shape, sections[name] ?? {}, [name], problems) ?? shape.parse({})) as Section<N>;
}

function buildCanary(
  sections: Sections,
  { rules, server, problems }: Pick<Config, "rules" | "server"> & { problems: ProblemList },
) {
  const { canary: value, destinations } = sections;
  if (value === undefined || value === "off" || value === false) return undefined;
  const known = [...new Set([...rules.destinations.map(({ name }) => name), ...Object.keys(destinations ?? {})])];
  if (server.publicUrl === undefined) {
    const message = "needs the address by which senders reach Tocsin, and PUBLIC_URL is not set";
    problems.add(["canary"], message, "set PUBLIC_URL, or remove canary", "key");
  }
  return readShape(canarySchema(destinationName(known)), value, ["canary"], problems);
}

/** The page names an entry by its position, so the position is its id: `configuration:1` is the first. */
function buildMutes(values: unknown, problems: ProblemList): Mute[] {
  return listEntries(values, "mutes", "mute", problems).flatMap((value, index) => {
    const mute = readShape(muteSchema, value, ["mutes", index], problems);
    return mute === undefined ? [] : [{ id: `configuration:${index + 1}`, ...mute }];
  });
}

/** Joins the section `silence:` with the silence options of routes and sources. */
function buildSilence(
  { hook, sources }: Section<"silence">,
  routes: Route[],
  hooks: SourceSettings[],
  problems: ProblemList,
): SilenceRule[] {
  for (const { name, silence } of hooks) {
    if (silence === undefined || sources[name] === undefined) continue;
    problems.add(["silence", "sources", name], `is said below sources.${name} already`, "remove one of the two", "key");
  }
  type Setting = Omit<SilenceRule, "after"> & { after: SilenceRule["after"] | "off" };
  const settings: Setting[] = [
    { of: "hook", after: hook },
    ...routes.map(({ name, silence }): Setting => ({ of: "route", name, after: silence ?? "off" })),
    ...hooks.map(({ name, silence }): Setting => ({ of: "source", name, after: silence ?? "off" })),
    ...Object.entries(sources).map(([name, after]): Setting => ({ of: "source", name, after })),
  ];
  return settings.flatMap(({ after, ...rule }) => (after === "off" ? [] : [{ ...rule, after }]));
}

function buildRules(sections: Sections, env: VendorsEnv, defaults: Defaults, problems: ProblemList): Rules {
  const fromEnv = buildEnvDestinations(env, defaults);
  const written = mapEntries(sections.destinations ?? {}, "destinations", "destination", problems);
  refuseSameNames(written, fromEnv, problems);
  const context = { defaults, env, problems };
  const fromFile = written.flatMap(([name, value]) => buildDestination(name, value, context) ?? []);
  const destinations = [...fromEnv, ...fromFile];

  const known = [...fromEnv.map(({ name }) => name), ...written.map(([name]) => name)];
  const hasRoutes = sections.routes !== undefined && sections.routes !== null;
  const routes = hasRoutes
    ? buildRoutes(sections.routes, { known, timeZone: defaults.timeZone, problems })
    : routeEverything(fromEnv, fromFile, problems.whereIs([]));
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
  const inhibit = buildInhibit(sections.inhibit ?? [], problems);
  return { destinations, routes, mutes, ...(inhibit.length > 0 && { inhibit }) };
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

/** Destinations that share an address deliver an alert twice to the same readers. */
function addressesOf(destination: Destination): string[] {
  return vendorOf(destination.type).addresses(destination);
}

/** Without routes every alert goes everywhere. A chat or mailbox that the file names too gets it once. */
function routeEverything(fromEnv: Destination[], fromFile: Destination[], definedAt: string): Route[] {
  const named = new Set(fromFile.flatMap(addressesOf));
  const others = fromEnv.filter((destination) => !addressesOf(destination).every((address) => named.has(address)));
  const to = [...others, ...fromFile].map(({ name }) => name);
  if (to.length === 0) return [];
  const where = fromFile.length > 0 ? definedAt : (fromEnv[0]?.definedAt ?? definedAt);
  const everything = { name: "everything", matchers: [], to, continue: false, isDefault: false };
  return [{ ...everything, updates: "auto", definedAt: where }];
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

/** The process has already read `.env`. Here only unexpected readings are reported. */
function reportEnvFile(text: string | undefined, use: EnvUse, problems: ProblemList): void {
  if (text === undefined) return;
  const found = checkEnvFile(text, (name) => isRelevantVariable(name, use));
  for (const { where, message, instead } of found.problems) problems.addEnv(where, message, instead);
  for (const { where, message, instead } of found.warnings) problems.warn(where, message, instead);
}

/** A warning where another user could write: the relay may run as another user. */
function reportFolder(name: "DATA_DIR" | "SPOOL_DIR", found: DataDirProblem | undefined, problems: ProblemList): void {
  if (found === undefined) return;
  const instead = found.instead.replaceAll("DATA_DIR", name).replaceAll("/var/lib/tocsin", exampleFolders[name]);
  if (found.isOfUser) problems.warn(name, found.message, instead);
  else problems.addEnv(name, found.message, instead);
}

const exampleFolders = { DATA_DIR: "/var/lib/tocsin", SPOOL_DIR: "/var/lib/tocsin/spool" };

/** Sorts: the environment first (`.env` by its lines), then the file from top to bottom. */
function inReadingOrder(problems: ConfigProblem[]): ConfigProblem[] {
  const position = ({ where }: ConfigProblem): number => {
    const [, envLine] = /^\.env:(\d+)$/.exec(where) ?? [];
    if (envLine !== undefined) return Number(envLine) - 1_000_000_000;
    const [, line, column] = /:(\d+):(\d+)$/.exec(where) ?? [];
    return line === undefined ? -1 : Number(line) * 100_000 + Number(column);
  };
  return [...problems].sort((a, b) => position(a) - position(b));
}
