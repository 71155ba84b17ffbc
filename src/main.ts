import { runCli } from "./cli/program.ts";
import { reportFailure } from "./cli/shell/failure.ts";
import { createProcessContext, loadDotEnv } from "./cli/shell/process-context.ts";

const context = createProcessContext();
const argv = process.argv.slice(2);

const failAtOnce = (thrown: unknown) => {
  void reportFailure(thrown, context, argv.includes("--json")).then(
    (status) => process.exit(status),
    () => process.exit(1),
  );
};
process.on("uncaughtException", failAtOnce);
process.on("unhandledRejection", failAtOnce);

try {
  loadDotEnv(context.cwd);
  // Set instead of exiting, so that what was written is flushed and what is open is closed by its owner.
  process.exitCode = await runCli(argv, context);
} catch (thrown) {
  process.exitCode = await reportFailure(thrown, context, argv.includes("--json"));
}
