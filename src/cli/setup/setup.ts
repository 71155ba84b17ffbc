import type { Command } from "commander";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";

export interface SetupOptions {
  dryRun?: boolean;
  restore?: boolean;
  takeOver?: boolean;
  /** An id, `false` for `--no-channel`, absent when neither was given. */
  channel?: string | boolean;
  rotateSecret?: boolean;
  webhookOff?: boolean;
  skipProof?: boolean;
  /** Whose own account it is about. Default: that of `ALERTING_URL`. */
  source?: string;
  yes?: boolean;
}

/** `tocsin setup`: proves the way of an alert, registers this relay's own hook with the account, and tests it. */
export function registerSetup(program: Command, context: CliContext): void {
  const command = program
    .command("setup")
    .description(
      "prove that alerts would arrive, make the account send them to this relay, and send a marked test to every destination",
    )
    .option("--dry-run", "show what would change, and change nothing")
    .option("--restore", "put back what the account had before setup")
    .option("--take-over", "replace, or turn off, a webhook address that is not this relay's")
    .option("--channel <id>", "also set the account's messenger channel (starts with -)")
    .option("--no-channel", "also clear the account's messenger channel")
    .option("--rotate-secret", "make a new secret for the hook and register the new address")
    .option("--webhook-off", "let the account send to no webhook, instead of to this relay")
    .option("--skip-proof", "change the account without looking whether alerts would arrive, and without a test")
    .option("--source <name>", "all of this for the account of a source and its hook, instead of ALERTING_URL's")
    .option("-y, --yes", "do not ask")
    .action(async (_options: SetupOptions, self: Command) => {
      const options = self.opts<SetupOptions>();
      // Commander presents a `--no-x` option as true when nothing was said.
      if (self.getOptionValueSource("channel") === "default") delete options.channel;
      const { runSetup } = await import("./run-setup.ts");
      await runSetup(options, context, openOutput(context, self));
    });
  addExamples(
    command,
    "tocsin setup --dry-run",
    "tocsin setup --channel -1001234567890",
    "tocsin setup --restore",
    "tocsin setup --webhook-off --no-channel",
  );
}
