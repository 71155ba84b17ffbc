import type { Command } from "commander";
import { addRelayOptions, type RelayFlags } from "../relay/connect-relay.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples } from "../shell/examples.ts";
import { openOutput } from "../shell/output.ts";

/** `tocsin destinations …`: what a person can do about a destination of the running relay. */
export function registerDestinations(program: Command, context: CliContext): void {
  const destinations = program
    .command("destinations")
    .description("ask a destination of the running relay whether it works (their list: tocsin status)");
  addExamples(destinations, "tocsin destinations try desk");
  const command = destinations
    .command("try")
    .description(
      "ask it at once, without sending anything to people; what waits goes out when it works. Exit status 1 when it does not",
    )
    .argument("<name>", "name of the destination")
    .action(async (name: string, flags: RelayFlags, self: Command) => {
      const { tryDestination } = await import("./try-destination.ts");
      await tryDestination({ context, flags, output: openOutput(context, self) }, name);
    });
  addExamples(addRelayOptions(command), "tocsin destinations try desk");
}
