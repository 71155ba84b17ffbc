import { Command, CommanderError } from "commander";
import { AppError } from "../core/errors.ts";
import { readVersion } from "../ground/version.ts";
import { registerAlerts } from "./alerts/alerts.ts";
import { registerBacktest } from "./backtest/backtest.ts";
import { registerBackup } from "./backup.ts";
import { registerChats } from "./chats/chats.ts";
import { registerCheck } from "./check.ts";
import { registerDemo } from "./demo/demo.ts";
import { registerDestinations } from "./destinations.ts";
import { registerDoctor } from "./doctor/doctor.ts";
import { registerExplain } from "./explain/explain.ts";
import { registerGaps } from "./gaps.ts";
import { registerMove } from "./move.ts";
import { registerMutes } from "./mutes.ts";
import { registerRefused } from "./refused.ts";
import { registerRepair } from "./repair.ts";
import { registerRestore } from "./restore.ts";
import { registerSandbox } from "./sandbox.ts";
import { registerServe } from "./serve/serve.ts";
import { registerSetup } from "./setup/setup.ts";
import { registerShapes } from "./shapes.ts";
import { type CliContext, writeText } from "./shell/context.ts";
import { reportFailure } from "./shell/failure.ts";
import { registerSources } from "./sources.ts";
import { registerStart } from "./start/start.ts";
import { registerStatus } from "./status/status.ts";
import { registerTest } from "./test/test.ts";
import { registerUpstream } from "./upstream/upstream.ts";

/**
 * In the order of `tocsin --help` and of the README. A command's file imports nothing heavy at its top: what does the
 * work is imported inside the action, so that `tocsin --help` starts at once.
 */
const groups: readonly { heading: string; commands: readonly [summary: string, register: Register][] }[] = [
  {
    heading: "Start here:",
    commands: [
      ["the whole job on this machine, with no account anywhere", registerDemo],
      ["from nothing to a message on your phone, without a domain", registerStart],
      ["receive, store, relay and show, until Ctrl-C", registerServe],
      ["make the account send to this relay, proven and undoable", registerSetup],
      ["what is wrong, and how to fix it", registerDoctor],
    ],
  },
  {
    heading: "Every day:",
    commands: [
      ["health of the relay and of each destination", registerStatus],
      ["the log: list, show, tail, resend, release, export", registerAlerts],
      ["silence what matches for a while", registerMutes],
      ["why an alert goes where, and what people read", registerExplain],
      ["send a marked test and wait for each outcome", registerTest],
      ["ask a destination whether it works", registerDestinations],
      ["requests that did not pass their check", registerRefused],
    ],
  },
  {
    heading: "Configuration:",
    commands: [
      ["every mistake of the configuration, with its line", registerCheck],
      ["the chats of the Telegram bot, with their ids", registerChats],
      ["the addresses of the named hooks", registerSources],
      ["what the payloads of alerts are made of", registerShapes],
      ["try another configuration on the stored alerts", registerBacktest],
    ],
  },
  {
    heading: "The market-data service:",
    commands: [
      ["ask it: account, metrics, history, tokens, prices", registerUpstream],
      ["alerts that should have arrived and did not", registerGaps],
      ["a local implementation of it, with a market that moves", registerSandbox],
    ],
  },
  {
    heading: "Care:",
    commands: [
      ["copy the database, running or not", registerBackup],
      ["put a backup in the place of the database", registerRestore],
      ["check the database, and fix a damaged one", registerRepair],
      ["the log from SQLite to PostgreSQL, and back", registerMove],
    ],
  },
];

type Register = (program: Command, context: CliContext) => void;

/** The whole command line, not yet run. Nothing of it touches `process`: see `CliContext`. */
export function buildProgram(context: CliContext, onHelp: (written: Promise<void>) => void = () => {}): Command {
  const program = new Command("tocsin")
    .description("Receives webhook alerts, stores them before it answers, and relays them to chats and mailboxes.")
    .version(readVersion(), "-V, --version", "print the version")
    .option("--json", "print one JSON document on stdout, its content under `data`; all else goes to stderr")
    .helpOption("-h, --help", "explain a command, with an example")
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => onHelp(writeText(context.stdout, text)),
      // Help for wrong usage: its status says it where this cannot be written.
      writeErr: (text) => void context.stderr.write(text, () => {}),
      // Printed by `reportFailure`, in the same form as every other failure.
      outputError: () => {},
      getOutHelpWidth: () => context.columns ?? 100,
      getErrHelpWidth: () => context.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText(
      "after",
      "\nExamples:\n  $ tocsin demo\n  $ tocsin start\n  $ tocsin alerts tail\n\nExit status: 0 done, 1 it failed, 2 wrong usage or configuration.",
    );
  for (const { heading, commands } of groups) {
    program.commandsGroup(heading);
    for (const [summary, register] of commands) {
      register(program, context);
      program.commands.at(-1)?.summary(summary);
    }
  }
  program.helpCommand("help [command]", "explain a command, with an example");
  return program;
}

/** Runs one command line (without `node` and the script's name) to its exit status. Never throws. */
export async function runCli(argv: readonly string[], context: CliContext): Promise<0 | 1 | 2> {
  let status: 0 | 1 | 2 = 0;
  let help: Promise<void> | undefined;
  const program = buildProgram(
    {
      ...context,
      setExitStatus: (next) => {
        status = next;
        context.setExitStatus(next);
      },
    },
    (written) => {
      help = Promise.all([help, written]).then(() => {});
      help.catch(() => {});
    },
  );
  try {
    await program.parseAsync(argv, { from: "user" });
    return status;
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) return reportFailure(thrown, context, wantsJson(argv));
    if (!isHelpOrVersion(thrown)) return reportFailure(usageError(thrown, argv, program), context, wantsJson(argv));
    const failure = await help?.then(
      () => undefined,
      (error: unknown) => error,
    );
    return failure === undefined ? 0 : reportFailure(failure, context, wantsJson(argv));
  }
}

function isHelpOrVersion(error: CommanderError): boolean {
  return error.exitCode === 0;
}

/** Commander's complaints in our form; the hint names the command whose help says more. */
function usageError(error: CommanderError, argv: readonly string[], program: Command): AppError {
  const path = commandPath(argv, program);
  const hint = `see: ${path} --help`;
  if (error.code === "commander.help") return new AppError("usage", `${path} needs a command`, { hint });
  return new AppError("usage", inOurWords(error.message.replace(/^error: /, "")), { hint });
}

/**
 * `option '--limit <n>' argument '0' is invalid. give a …` → `--limit <n> cannot be '0': give a …`, and the same of an
 * argument that has no name in front of it.
 */
function inOurWords(message: string): string {
  const value = between(message, "command-argument value '", "' is invalid for argument '");
  const name = between(message, "' is invalid for argument '", "'. ");
  if (value !== undefined && name !== undefined) return `<${name}> cannot be '${value}': ${restBehind(message, "'. ")}`;
  const option = between(message, "option '", "' argument '");
  const given = between(message, "' argument '", "' is invalid. ");
  if (option === undefined || given === undefined) return message;
  return `${option} cannot be '${given}': ${restBehind(message, "' is invalid. ")}`;
}

function between(text: string, before: string, after: string): string | undefined {
  const start = text.indexOf(before);
  const end = text.indexOf(after, start + before.length);
  return start === -1 || end === -1 ? undefined : text.slice(start + before.length, end);
}

function restBehind(text: string, mark: string): string {
  return text.slice(text.indexOf(mark) + mark.length);
}

function commandPath(argv: readonly string[], program: Command): string {
  let command = program;
  const names = [program.name()];
  for (const word of argv) {
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (next === undefined) continue;
    command = next;
    names.push(word);
  }
  return names.join(" ");
}

/** Read from the words themselves, since a command line that cannot be parsed is to be refused as JSON too. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return (end === -1 ? argv : argv.slice(0, end)).includes("--json");
}
