import type { Command } from "commander";
import type { CliContext } from "../context.ts";

/** `tocsin upstream …`: every read endpoint of the market-data service, and asset registration. */
export function registerUpstream(program: Command, _context: CliContext): void {
  program
    .command("upstream")
    .description("ask the market-data service itself: account, metrics, history, prices");
}
