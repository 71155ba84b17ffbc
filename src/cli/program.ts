import { Command, CommanderError, type Help } from "commander";
import { readVersion } from "../ground/version.ts";
import { alerts } from "./alerts/alerts.ts";
import { backtest } from "./backtest/backtest.ts";
import { backup, repair, restore } from "./care.ts";
import { chats } from "./chats/chats.ts";
import { check } from "./check.ts";
import { type Entry, helpCommand, pathOf, usageOf, widestHelp } from "./command.ts";
import { destinations } from "./destinations.ts";
import { doctor } from "./doctor/doctor.ts";
import { explain } from "./explain/explain.ts";
import { gaps } from "./gaps.ts";
import { move } from "./move.ts";
import { mutes } from "./mutes.ts";
import { refused } from "./refused.ts";
import { schema } from "./schema.ts";
import { serveCommand } from "./serve/serve.ts";
import { setup } from "./setup/setup.ts";
import { shapes } from "./shapes.ts";
import { type CliContext, writeText } from "./shell/context.ts";
import { reportFailure } from "./shell/failure.ts";
import { hangText } from "./shell/output.ts";
import { formatFields } from "./shell/table.ts";
import { sources } from "./sources.ts";
import { start } from "./start/start.ts";
import { status } from "./status.ts";
import { test } from "./test/test.ts";
import { upstream } from "./upstream/upstream.ts";
import { demo, sandbox } from "./workshop.ts";

/** In the order of the help and of the README. A command's file imports nothing heavy at its top: help is quick. */
const table: Readonly<Record<string, readonly Entry[]>> = {
  "Start here:": [demo, start, serveCommand, setup, doctor],
  "Every day:": [status, alerts, mutes, explain, test, destinations, refused],
  "Configuration:": [check, schema, chats, sources, shapes, backtest],
  "The market-data service:": [upstream, gaps, sandbox],
  "Care:": [backup, restore, repair, move],
};

/** Never uses `process`: see `CliContext`. */
export function buildProgram(context: CliContext, onHelp: (text: string) => void = () => {}): Command {
  const program = new Command("tocsin")
    .description("Receives webhook alerts, stores them before it answers, and relays them to chats and mailboxes.")
    .version(readVersion(), "-V, --version", "print the version")
    .option("--json", "print one JSON document on stdout, its content under `data`; all else goes to stderr")
    .helpOption("-h, --help", "explain a command, with an example")
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 1, formatItem })
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: onHelp,
      // Help for wrong usage. If it cannot be written, the exit status is enough.
      writeErr: (text) => void context.stderr.write(text, () => {}),
      // `reportFailure` prints it, in the form of every other failure.
      outputError: () => {},
      getOutHelpWidth: () => context.columns ?? widestHelp,
      getErrHelpWidth: () => context.columns ?? widestHelp,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText(
      "after",
      `\nExamples:\n  $ tocsin demo\n  $ tocsin start\n  $ tocsin alerts tail\n\n${hangText(exitStatuses, context.columns, 0)}`,
    );
  for (const [heading, entries] of Object.entries(table)) {
    program.commandsGroup(heading);
    for (const add of entries) add(program, context);
  }
  program.helpCommand(...helpCommand);
  throwFrom(program);
  return program;
}

const exitStatuses = "Exit status: 0 done, 1 it failed, 2 wrong usage or configuration.";

/** A name and its meaning: next to each other, or one below the other in a narrow terminal. */
function formatItem(term: string, termWidth: number, says: string, { helpWidth = widestHelp }: Help): string {
  const lines = formatFields([[term.padEnd(termWidth), says]], helpWidth - 2)
    .trimEnd()
    .split("\n");
  return lines.map((line) => `  ${line.trimEnd()}`).join("\n");
}

/** Turns commander's errors into ours, except those at the end of help or version. */
function throwFrom(self: Command): void {
  self.exitOverride((error) => {
    if (error.exitCode === 0) throw error;
    if (error.code === "commander.help") throw usageOf(self, `${pathOf(self)} needs a command`);
    throw usageOf(self, error.message.replace(/^error: /, ""));
  });
  for (const each of self.commands) throwFrom(each);
}

/** Runs one command line (without `node` and the script's name), and gives its exit status. Never throws. */
export async function runCli(argv: readonly string[], context: CliContext): Promise<0 | 1 | 2> {
  let status: 0 | 1 | 2 = 0;
  let help = "";
  const setExitStatus = (next: 0 | 1 | 2) => {
    status = next;
    context.setExitStatus(next);
  };
  try {
    const program = buildProgram({ ...context, setExitStatus }, (text) => {
      help += text;
    });
    await program.parseAsync(argv, { from: "user" }).catch((thrown: unknown) => {
      if (!(thrown instanceof CommanderError)) throw thrown;
      return writeText(context.stdout, help);
    });
    return status;
  } catch (thrown) {
    return reportFailure(thrown, context, wantsJson(argv));
  }
}

/** Reads the words themselves: a command line that cannot be parsed is also refused as JSON. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return (end === -1 ? argv : argv.slice(0, end)).includes("--json");
}
