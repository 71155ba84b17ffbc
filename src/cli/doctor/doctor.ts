import { command } from "../command.ts";
import { relayOptions } from "../relay/connect-relay.ts";

export const doctor = command({
  name: "doctor",
  summary: "what is wrong, and how to fix it",
  says: "look for what is wrong and say how to fix it; sends nothing to people; exit status 1 when there is a problem",
  options: relayOptions,
  examples: ["tocsin doctor", "tocsin doctor --json"],
  run: async (_, run) => (await import("./run-doctor.ts")).runDoctor(run),
});
