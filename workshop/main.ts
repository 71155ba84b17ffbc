import { openOutput } from "../src/cli/shell/output.ts";
import type { Workshop } from "../src/cli/workshop.ts";

const widestSetup = 100;

/** The code of `tocsin demo` and `tocsin sandbox`. Each loads only its own part. */
export const { demo, sandbox }: Workshop = {
  /** The demo, or the part of a demo with several relays that this process is. */
  async demo(flags, { context, output }) {
    if (flags.part === "relay") {
      const { serve } = await import("../src/cli/serve/serve.ts");
      context.endWithParent();
      return serve(context, output, { picturesOnThisMachine: true });
    }
    if (flags.part === "postgres") {
      const { keepPostgres } = await import("./demo/postgres-keeper.ts");
      return keepPostgres(context, flags.leftovers);
    }
    const { runDemo } = await import("./demo/run-demo.ts");
    // The text of setup is indented by two columns.
    const columns = Math.min(context.columns ?? widestSetup, widestSetup) - 2;
    await runDemo(flags, context, output, openOutput({ ...context, columns }, output.json));
  },
  async sandbox(flags, run) {
    const { runSandbox } = await import("./service/run-sandbox.ts");
    return runSandbox(flags, run);
  },
};
