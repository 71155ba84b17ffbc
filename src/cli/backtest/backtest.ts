import { command, type GivenOptions } from "../command.ts";
import { duration, text, whole } from "../options.ts";
import { relayOptions } from "../relay/connect-relay.ts";

const options = {
  config: text("the configuration to try", { of: "file", required: true }),
  last: duration("how far back, e.g. 24h", { default: "7d" }),
  limit: whole("at most this many, the newest", { from: 1 }),
  ...relayOptions,
};
export type BacktestOptions = GivenOptions<typeof options>;

export const backtest = command({
  name: "backtest",
  summary: "try another configuration on the stored alerts",
  says: "route the stored alerts by another configuration, and compare with what happened; changes nothing",
  options,
  examples: ["tocsin backtest --config next.yaml --last 7d"],
  run: async (given, run) => (await import("./run-backtest.ts")).runBacktest(run, given),
});
