import type { Scenario } from "../harness/bench.ts";
import { relayContenders } from "./relay.ts";

/** What a lone alert waits, from the first byte of its POST to the last of its message. */
export function createLatencyScenario(kind: "webhook" | "telegram"): Scenario {
  const name = kind === "webhook" ? "a webhook" : "a Telegram chat";
  return {
    name: `latency-${kind}`,
    what: `one alert each 50 ms, from the POST to the arrival at ${name}`,
    run: (bench) =>
      bench.compare({
        title: `one alert each 50 ms, POST to ${name}`,
        contenders: relayContenders(bench, kind, ({ target }) =>
          bench.driver.call("pacedAlerts", { target, everyMs: 50, warmUp: 500, count: 80 }),
        ),
        figures: [
          { of: "p50", label: "p50", unit: "ms", aim: "≤ 3.2 ms" },
          { of: "p99", label: "p99", unit: "ms", aim: "≤ 8 ms" },
        ],
      }),
  };
}
