import type { Scenario } from "../harness/bench.ts";
import { canPin } from "../harness/processes.ts";
import { tocsins } from "../servers/contenders.ts";
import { adminToken } from "../servers/tocsin.ts";

/** The rate of routing under an endless flood. The load waits when more than a second's alerts are unrouted. */
export const routing: Scenario = {
  name: "routing",
  what: "alerts accepted and routed without end, so that the backlog does not grow",
  async run(bench) {
    for (const place of canPin ? (["server", "anywhere"] as const) : (["anywhere"] as const)) {
      const cores = place === "server" ? "one core" : "two cores";
      await bench.compare({
        title: `accept and route without end, ${cores}`,
        contenders: tocsins(bench, { kind: "telegram", place }, ({ target, origin }) => {
          const status = { statusUrl: `${origin}/api/status`, token: adminToken };
          return bench.driver.call("keepBacklog", { target, most: 5_000, ...status, warmUpMs: 2_000, ms: 3_000 });
        }),
        figures: [
          { of: "rate", label: "alerts/s", aim: place === "server" ? "≥ 5,000" : undefined },
          { of: "cpu", label: "CPU an alert", unit: "µs" },
        ],
      });
    }
  },
};
