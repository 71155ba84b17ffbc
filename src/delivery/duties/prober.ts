import type { Clock } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { Log } from "../../core/log.ts";
import type { Channel } from "../../core/ports/channel.ts";
import type { Destination } from "../../core/rules.ts";
import { recipientsOf } from "../../vendors/index.ts";
import type { Calls } from "../lane/call-channel.ts";
import type { LaneStore } from "../lane-store.ts";
import type { HealthMemory } from "../memory/health.ts";
import type { PaceMemory } from "../memory/pace.ts";
import { paceKeysOf } from "../plan/accounts.ts";

/** What came of a probe. `parked`: the other side has asked for silence until then, and was not called. */
export type Trial = { kind: "probed"; outcome: Outcome } | { kind: "parked"; until: number; why: string };

/** Asks a destination whether delivery could work now. Nothing is sent to people. */
export interface Prober {
  /** Those who ask at the same time share one call. Rejects as the store does. */
  probe(stop: AbortSignal): Promise<Trial>;
  /**
   * The same without having been asked, to know that a destination is well: in a slot of the pace that messages are
   * sent with, which it does not use up, so that it delays none.
   */
  prove(stop: AbortSignal): Promise<Trial>;
}

export interface ProberDeps {
  store: Pick<LaneStore, "savePaces">;
  destination: Destination;
  channel: Channel;
  calls: Calls;
  pace: PaceMemory;
  health: HealthMemory;
  settings: DeliverySettings;
  clock: Clock;
  log: Log;
}

const timeoutMs = 20_000;

export function createProber(deps: ProberDeps): Prober {
  const { store, destination, channel, calls, pace, health, settings, clock, log } = deps;
  const [recipient = destination.name] = recipientsOf(destination);
  let running: Promise<Trial> | undefined;

  function ask(stop: AbortSignal): Promise<Outcome> {
    const { moved } = health.of(destination);
    const address = moved?.from === recipient ? moved.to : recipient;
    return calls.make((signal) => channel.probe(address, signal), { timeoutMs, stop });
  }

  async function askWhereItIs(stop: AbortSignal): Promise<Outcome> {
    const outcome = await ask(stop);
    if (outcome.kind !== "retry" || outcome.movedTo === undefined) return outcome;
    health.noteMove(destination, recipient, outcome.movedTo);
    return ask(stop);
  }

  async function probe(stop: AbortSignal, isAsked: boolean): Promise<Trial> {
    const now = clock.now();
    const { at, why } = pace.nextSlot(paceKeysOf(destination, recipient, settings), now);
    // Without a reason it is only our own pace, which is about messages.
    if (at > now && (why !== undefined || !isAsked)) return { kind: "parked", until: at, why: why ?? "the pace" };
    const outcome = await askWhereItIs(stop);
    if (stop.aborted) return { kind: "probed", outcome };
    const isNews = isAsked || outcome.kind !== "sent";
    log[isNews ? "info" : "debug"]("destination.probed", { destination: destination.name, outcome: outcome.kind });
    if (isAsked) health.observeProbe(destination, outcome);
    else health.observeProof(destination, outcome, now);
    // Messages have not been asked to wait by a page that only we have looked at.
    const isAboutMessages = isAsked || (outcome.kind === "retry" && outcome.reason === "rate_limited");
    const parked = isAboutMessages ? pace.parkAfter(outcome, destination, recipient, clock.now()) : [];
    if (parked.length > 0) await store.savePaces(parked);
    return { kind: "probed", outcome };
  }

  function share(stop: AbortSignal, isAsked: boolean): Promise<Trial> {
    running ??= probe(stop, isAsked).finally(() => {
      running = undefined;
    });
    return running;
  }

  return {
    probe: (stop) => share(stop, true),
    prove: (stop) => share(stop, false),
  };
}
