import type { Command } from "commander";
import { addRelayOptions, type RelayFlags } from "../relay/connect-relay.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";

/** `tocsin status`: what is true now. */
export function registerStatus(program: Command, context: CliContext): void {
  const command = program
    .command("status")
    .description(
      "what is true now: the relay, its log, disk, each destination, as GET /api/status has it; exit status 1 when it does not run or is not ready",
    )
    .action(async (flags: RelayFlags, self: Command) => {
      const { showStatus } = await import("./show-status.ts");
      await showStatus({ context, flags, output: openOutput(context, self) }, program.version() ?? "");
    });
  addExamples(addRelayOptions(command), "tocsin status", "tocsin status --json --url https://alerts.example.com");
}
