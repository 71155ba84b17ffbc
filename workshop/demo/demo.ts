import type { Run } from "../../src/cli/command.ts";
import { openOutput } from "../../src/cli/shell/output.ts";
import type { DemoFlags } from "../../src/cli/workshop.ts";

const widestSetup = 100;

/** The demo, or the part of one with several relays that this process is. */
export async function startDemo(flags: DemoFlags, { context, output }: Run): Promise<void> {
  if (flags.part === "relay") {
    const { serve } = await import("../../src/cli/serve/serve.ts");
    context.endWithParent();
    return serve(context, output, { picturesOnThisMachine: true });
  }
  if (flags.part === "postgres") {
    const { keepPostgres } = await import("./postgres-keeper.ts");
    return keepPostgres(context, flags.leftovers);
  }
  const { runDemo } = await import("./run-demo.ts");
  // What setup says stands two columns further right.
  const columns = Math.min(context.columns ?? widestSetup, widestSetup) - 2;
  await runDemo(flags, context, output, openOutput({ ...context, columns }, output.json));
}
