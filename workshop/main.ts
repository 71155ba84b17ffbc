import type { Workshop } from "../src/cli/workshop.ts";

/** What `tocsin demo` and `tocsin sandbox` run. Each loads only what is its own. */
export const { demo, sandbox }: Workshop = {
  async demo(flags, run) {
    const { startDemo } = await import("./demo/demo.ts");
    return startDemo(flags, run);
  },
  async sandbox(flags, run) {
    const { runSandbox } = await import("./service/run-sandbox.ts");
    return runSandbox(flags, run);
  },
};
