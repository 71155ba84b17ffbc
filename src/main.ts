import { runCli } from "./cli/program.ts";
import { untilTaken } from "./cli/shell/context.ts";
import { reportFailure } from "./cli/shell/failure.ts";
import { createProcessContext, loadDotEnv } from "./cli/shell/process-context.ts";

const context = createProcessContext();
const argv = process.argv.slice(2);

/** Ends the process when its output is written. Foreign handles, such as pm2's channel, would keep it running. */
async function end(status: number): Promise<void> {
  await Promise.all([untilTaken(context.stdout), untilTaken(context.stderr)]);
  process.exit(status);
}

const failAtOnce = (thrown: unknown) => {
  void reportFailure(thrown, context, argv.includes("--json")).then(end, () => end(1));
};
process.on("uncaughtException", failAtOnce);
process.on("unhandledRejection", failAtOnce);

async function main(): Promise<void> {
  try {
    loadDotEnv(context.cwd);
    await end(await runCli(argv, context));
  } catch (thrown) {
    await end(await reportFailure(thrown, context, argv.includes("--json")));
  }
}

void main();
