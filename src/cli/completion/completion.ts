import { Argument, type Command, Option } from "commander";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** What a script asks for when somebody presses Tab; both are cheap: the configuration alone is read. */
export const askedNames = ["destinations", "sources"] as const;
export type AskedNames = (typeof askedNames)[number];

/** `tocsin completion`: a script that makes a shell complete commands, options and names. */
export function registerCompletion(program: Command, context: CliContext): void {
  const command = program
    .command("completion")
    .description("print a script that makes your shell complete commands, options, and names of destinations")
    .addArgument(new Argument("<shell>", "whose script").choices(shells))
    .addOption(new Option("--names <of>", "print these names of the configuration, for the script").choices(askedNames))
    .addHelpText(
      "after",
      `
Install:
  bash  echo 'source <(tocsin completion bash)' >> ~/.bashrc
  zsh   echo 'source <(tocsin completion zsh)' >> ~/.zshrc     (behind the line with compinit)
  fish  tocsin completion fish > ~/.config/fish/completions/tocsin.fish`,
    )
    .action(async (shell: Shell, { names }: { names?: AskedNames }, self: Command) => {
      const output = openOutput(context, self);
      if (names !== undefined) {
        const { listNames } = await import("./list-names.ts");
        const found = listNames(context, names);
        await output.result(found, () => found.map((name) => `${name}\n`).join(""));
        return;
      }
      const { writeScript } = await import("./write-script.ts");
      const script = writeScript(program, shell);
      await output.result({ shell, script }, () => script);
    });
  addExamples(command, "source <(tocsin completion bash)");
}
