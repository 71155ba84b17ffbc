import { Argument, type Command, Option } from "commander";
import { AppError } from "../core/errors.ts";
import { type Reader, type Readers, type Settings, Unreadable } from "./options.ts";
import type { CliContext } from "./shell/context.ts";
import { type Output, openOutput } from "./shell/output.ts";
import { nameCommand } from "./shell/own-command.ts";
import { formatFields } from "./shell/table.ts";

/** One command, or a group: adds itself to the command line. */
export type Entry = (parent: Command, context: CliContext) => void;

export interface Run<Flags = unknown> {
  context: CliContext;
  output: Output;
  flags: Flags;
}

/** The values under the names of arguments and options. `undefined` for omitted ones. */
export type Given<A extends Readers, O extends Readers> = {
  [K in keyof A]: A[K] extends Reader<infer T, infer S> ? (S extends { optional: true } ? T | undefined : T) : never;
} & GivenOptions<O>;

export type GivenOptions<O extends Readers> = {
  [K in keyof O]: O[K] extends Reader<infer T, infer S>
    ? S extends { required: true } | { default: string }
      ? T
      : T | undefined
    : never;
};

type Wrong = AppError | string | undefined;

export interface CommandSpec<A extends Readers, O extends Readers> {
  name: string;
  /** A few words for the list of all commands. Default: `says`. */
  summary?: string;
  says: string;
  args?: A;
  /** The options under names in camel case: `dryRun` is typed `--dry-run`. */
  options?: O;
  /** Finds values that are right alone but wrong together. A text gets the hint to look at the help. */
  check?(given: Given<A, O>, run: Run): Wrong | Promise<Wrong>;
  /** Environment variables that only this command reads, with their meanings. */
  environment?: Record<string, string>;
  examples: readonly string[];
  /** Imports heavy modules here, so help starts at once. */
  run(given: Given<A, O>, run: Run<Given<A, O>>): Promise<void>;
}

// biome-ignore lint/complexity/noBannedTypes: what a command without arguments is given
export type None = {};

export function command<A extends Readers = None, O extends Readers = None>(spec: CommandSpec<A, O>): Entry {
  const { name, says, summary = says, args = {}, options = {}, environment = {}, examples } = spec;
  nameCommand(name);
  return (parent, context) => {
    const self = parent.command(name).description(says).summary(summary);
    for (const [key, reader] of Object.entries<Reader<unknown>>(args)) addArgument(self, key, reader, context);
    for (const [key, reader] of Object.entries<Reader<unknown>>(options)) addOption(self, key, reader, context);
    addEnvironment(self, environment, context.columns);
    addExamples(self, examples);
    self.action(async (...values: unknown[]) => {
      const ofArgs = Object.fromEntries(Object.keys(args).map((key, index) => [key, values[index]]));
      const given = { ...ofArgs, ...self.opts() } as Given<A, O>;
      const isJson = self.optsWithGlobals<{ json?: boolean }>().json === true;
      const run = { context, output: openOutput(context, isJson), flags: given };
      const wrong = await spec.check?.(given, run);
      if (wrong !== undefined) throw typeof wrong === "string" ? usageOf(self, wrong) : wrong;
      try {
        await spec.run(given, run);
      } finally {
        // The command's own failure is reported here. A line that cannot be cleared is no further news.
        await run.output.progress.clear().catch(() => {});
      }
    });
  };
}

type GroupSpec = Pick<CommandSpec<None, None>, "name" | "summary" | "says" | "examples">;

export function group(spec: GroupSpec & { commands: readonly Entry[] }): Entry {
  const { name, says, summary = says, examples, commands } = spec;
  nameCommand(name);
  return (parent, context) => {
    const self = parent.command(name).description(says).summary(summary);
    addExamples(self, examples);
    for (const add of commands) add(self, context);
    self.helpCommand(...helpCommand);
  };
}

export function pathOf(self: Command): string {
  return self.parent === null ? self.name() : `${pathOf(self.parent)} ${self.name()}`;
}

/** The hint names the command whose help explains more. */
export function usageOf(self: Command, message: string): AppError {
  return new AppError("usage", message, { hint: `see: ${pathOf(self)} --help` });
}

function addArgument(self: Command, key: string, reader: Reader<unknown>, context: CliContext): void {
  const { says, settings, isMany } = reader;
  const name = `${wordOf(key, reader)}${isMany ? "..." : ""}`;
  const argument = new Argument(settings.optional ? `[${name}]` : `<${name}>`, says);
  self.addArgument(argument.argParser(parserOf(self, `<${wordOf(key, reader)}>`, reader, context)));
}

function addOption(self: Command, key: string, reader: Reader<unknown>, context: CliContext): void {
  const { says, settings, read, choices, isBare, isOff, no } = reader;
  const name = inKebabCase(key);
  const short = settings.short === undefined ? "" : `-${settings.short}, `;
  const word = wordOf(key, reader);
  const value = read === undefined ? "" : isBare ? ` [${word}]` : ` <${word}>`;
  const option = new Option(`${short}--${isOff ? "no-" : ""}${name}${value}`, says).hideHelp(
    settings.isHidden === true,
  );
  option.makeOptionMandatory(settings.required === true);
  if (choices !== undefined) option.choices(choices);
  if (read !== undefined) option.argParser(parserOf(self, `--${name}${value}`, reader, context));
  if (settings.default !== undefined) option.default(read?.(settings.default, context), settings.default);
  self.addOption(option);
  if (no === undefined) return;
  self.option(`--no-${name}`, no);
  const given = new Set<string>();
  for (const one of [name, `no-${name}`])
    self.on(`option:${one}`, () => {
      if (given.add(one).size > 1) throw usageOf(self, `--${name} and --no-${name} do not go together`);
    });
}

function parserOf(self: Command, name: string, { read, isMany }: Reader<unknown>, context: CliContext) {
  return (text: string, before: unknown) => {
    try {
      const value = read?.(text, context);
      return isMany ? [before ?? [], value].flat() : value;
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      throw usageOf(self, `${name} cannot be '${text}': ${error.message}`);
    }
  };
}

function wordOf(key: string, { settings, word }: { settings: Settings; word?: string }): string {
  return settings.of ?? word ?? inKebabCase(key);
}

function inKebabCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function addEnvironment(self: Command, variables: Record<string, string>, columns = widestHelp): void {
  const rows = Object.entries(variables).map(([name, says]): [string, string] => [`  ${name}`, says]);
  if (rows.length > 0) self.addHelpText("after", `\nEnvironment:\n${formatFields(rows, columns).trimEnd()}`);
}

function addExamples(self: Command, examples: readonly string[]): void {
  const lines = examples.map((example) => `  $ ${example}`);
  self.addHelpText("after", `\n${lines.length === 1 ? "Example" : "Examples"}:\n${lines.join("\n")}`);
}

export const helpCommand = ["help [command]", "explain a command, with an example"] as const;

/** Columns of the help where the terminal's width is unknown. */
export const widestHelp = 100;
