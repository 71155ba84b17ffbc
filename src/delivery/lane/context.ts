import type { Clock, Random } from "../../core/clock.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { NewId } from "../../core/id.ts";
import type { Log } from "../../core/log.ts";
import type { Channel } from "../../core/ports/channel.ts";
import type { ClaimJournal } from "../../core/ports/claim-journal.ts";
import type { Destination } from "../../core/rules.ts";
import type { LaneStore } from "../lane-store.ts";
import type { HealthMemory } from "../memory/health.ts";
import type { PaceMemory } from "../memory/pace.ts";
import type { Calls } from "./call-channel.ts";

/** What all parts of the engine work with. */
export interface EngineContext {
  /** Absent: each delivery is claimed by itself, and nothing is offered. */
  journal?: ClaimJournal;
  settings: DeliverySettings;
  clock: Clock;
  newId: NewId;
  random: Random;
  log: Log;
}

/** What the parts of one lane work with. Pace and health are those of its group. */
export interface LaneContext extends EngineContext {
  store: LaneStore;
  destination: Destination;
  channel: Channel;
  calls: Calls;
  pace: PaceMemory;
  health: HealthMemory;
}
