import { command } from "../command.ts";
import { relayOptions } from "../relay/connect-relay.ts";

/** `tocsin status`: what is true now. */
export const status = command({
  name: "status",
  summary: "health of the relay and of each destination",
  says: "what is true now: the relay, its log, disk, each destination, as GET /api/status has it; exit status 1 when it does not run or is not ready",
  options: relayOptions,
  examples: ["tocsin status", "tocsin status --json --url https://alerts.example.com"],
  run: async (_, run) => (await import("./show-status.ts")).showStatus(run),
});
