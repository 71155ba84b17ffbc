import type { Command } from "commander";
import { addRelayOptions, type RelayFlags } from "../relay/connect-relay.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";

/** `tocsin doctor`: what is wrong, and how to mend it. */
export function registerDoctor(program: Command, context: CliContext): void {
  const command = program
    .command("doctor")
    .description(
      "look for what is wrong and say how to fix it; sends nothing to people; exit status 1 when there is a problem",
    )
    .action(async (flags: RelayFlags, self: Command) => {
      const { runDoctor } = await import("./run-doctor.ts");
      await runDoctor({ context, flags, output: openOutput(context, self) });
    });
  addExamples(addRelayOptions(command), "tocsin doctor", "tocsin doctor --json");
}
