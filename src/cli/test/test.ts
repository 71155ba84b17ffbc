import { severities } from "../../core/alert.ts";
import { command } from "../command.ts";
import { choice, duration, list, many } from "../options.ts";
import { relayOptions } from "../relay/connect-relay.ts";

export const test = command({
  name: "test",
  summary: "send a marked test and wait for each outcome",
  says: "send one marked test alert as a sender would, or straight to one destination, and wait for the outcomes",
  options: {
    to: many(
      list(
        "straight to this one, whatever the routes, mutes and quiet hours say; may be repeated, or name several with commas",
        { of: "destination" },
      ),
    ),
    severity: choice(severities, "what the test alert says of itself", { default: "info" }),
    timeout: duration("wait at most this long", { default: "60s" }),
    ...relayOptions,
  },
  examples: ["tocsin test", "tocsin test --severity critical --timeout 2m", "tocsin test --to desk --to risk-mail"],
  run: async ({ to, ...given }, run) => {
    const { sendDirectTests, sendTest } = await import("./run-test.ts");
    await (to === undefined ? sendTest(run, given) : sendDirectTests(run, { ...given, to }));
  },
});
