import type { Command } from "commander";

/** Appends examples to a command's help: `addExamples(command, "tocsin check --json")`. */
export function addExamples(command: Command, ...examples: string[]): Command {
  const lines = examples.map((example) => `  $ ${example}`);
  return command.addHelpText(
    "after",
    `\n${lines.length === 1 ? "Example" : "Examples"}:\n${lines.join("\n")}`,
  );
}
