import type { Command } from "commander";
import { parseWhole } from "../shell/arguments.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";

export interface DemoOptions {
  port?: number;
  for?: number;
  storm?: number;
}

const widestSetup = 100;

/** `tocsin demo`: the whole job on this machine, with no account anywhere. */
export function registerDemo(program: Command, context: CliContext): void {
  const command = program
    .command("demo")
    .description(
      "show the whole job on this machine: a service, the relay, and stand-ins for Telegram, mail, Slack, Discord and ntfy",
    )
    .option("--port <n>", "port of the log page (default: PORT, 8080, or any free one)", parseWhole)
    .option("--for <seconds>", "end by itself after this many seconds (default: until Ctrl-C)", parseWhole)
    .option("--storm <n>", "also send this many alerts at once, after ten seconds", parseWhole)
    .action(async (options: DemoOptions, self: Command) => {
      const { runDemo } = await import("./run-demo.ts");
      // What setup says stands two columns further right.
      const columns = Math.min(context.columns ?? widestSetup, widestSetup) - 2;
      await runDemo(options, context, openOutput(context, self), openOutput({ ...context, columns }, self));
    });
  addExamples(command, "tocsin demo", "tocsin demo --storm 1000");
}
