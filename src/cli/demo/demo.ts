import { type Command, Option } from "commander";
import { parseWhole, wholeWithin } from "../shell/arguments.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";

export interface DemoOptions {
  port?: number;
  for?: number;
  storm?: number;
  relays?: number;
  onDatabaseUrl?: true;
  /** What this process is of a demo with several relays; absent: the demo itself. */
  part?: "relay" | "postgres";
  /** A folder that the keeper of PostgreSQL removes when the demo cannot. */
  leftovers?: string;
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
    .option(
      "--relays <n>",
      "2 to 5 relays on a PostgreSQL that is made for it, behind a small balancer, and how to kill one of them",
      wholeWithin(2, 5),
    )
    .option(
      "--on-database-url",
      "with --relays: in a database that is made, and removed, on the server of DATABASE_URL",
    )
    // What a demo with --relays starts this program anew for.
    .addOption(new Option("--part <name>").choices(["relay", "postgres"]).hideHelp())
    .addOption(new Option("--leftovers <folder>").hideHelp())
    .action(async (options: DemoOptions, self: Command) => {
      const output = openOutput(context, self);
      if (options.part === "relay") {
        const { serve } = await import("../serve/serve.ts");
        context.endWithParent();
        return serve(context, output, { picturesOnThisMachine: true });
      }
      if (options.part === "postgres") {
        const { keepPostgres } = await import("./postgres-keeper.ts");
        return keepPostgres(context, options.leftovers);
      }
      const { runDemo } = await import("./run-demo.ts");
      // What setup says stands two columns further right.
      const columns = Math.min(context.columns ?? widestSetup, widestSetup) - 2;
      await runDemo(options, context, output, openOutput({ ...context, columns }, self));
    });
  addExamples(command, "tocsin demo", "tocsin demo --storm 1000", "tocsin demo --relays 3");
}
