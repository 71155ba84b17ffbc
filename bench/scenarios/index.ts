import type { Scenario } from "../harness/bench.ts";
import { memory, startUp } from "./footprint.ts";
import { intake, routing } from "./intake.ts";
import { pages } from "./pages.ts";
import { relaying } from "./relay.ts";
import { relays } from "./relays.ts";

/** In the order of the table. */
export const scenarios: Scenario[] = [...relaying, intake, routing, pages, startUp, memory, relays];
