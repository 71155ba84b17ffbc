import type { Scenario } from "../harness/bench.ts";
import { relayDigests, storm } from "./digests.ts";
import { memory, startUp } from "./footprint.ts";
import { intake } from "./intake.ts";
import { createLatencyScenario } from "./latency.ts";
import { pages } from "./pages.ts";
import { recovery } from "./recovery.ts";
import { createRelayScenario, growth } from "./relay.ts";
import { routing } from "./routing.ts";
import { sandbox } from "./sandbox.ts";
import { shapes } from "./shapes.ts";

/** In the order of the table. */
export const scenarios: Scenario[] = [
  createRelayScenario("webhook"),
  createRelayScenario("telegram"),
  createRelayScenario("mail"),
  growth,
  relayDigests,
  createLatencyScenario("webhook"),
  createLatencyScenario("telegram"),
  storm,
  intake,
  routing,
  shapes,
  pages,
  startUp,
  memory,
  recovery,
  sandbox,
];
