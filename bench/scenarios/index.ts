import type { Scenario } from "../harness/bench.ts";
import { memory, startUp } from "./footprint.ts";
import { intake } from "./intake.ts";
import { pages } from "./pages.ts";
import { createLatencyScenario, createRelayScenario, growth } from "./relay.ts";
import { relays } from "./relays.ts";
import { routing } from "./routing.ts";

/** In the order of the table. */
export const scenarios: Scenario[] = [
  createRelayScenario("webhook"),
  createRelayScenario("telegram"),
  createRelayScenario("mail"),
  growth,
  createLatencyScenario("webhook"),
  createLatencyScenario("telegram"),
  intake,
  routing,
  pages,
  startUp,
  memory,
  relays,
];
