import type { Outcome } from "../../core/delivery.ts";
import type { Trial } from "../../core/destination-status.ts";
import { recipientsOf } from "../../vendors/index.ts";
import type { LaneContext, LaneStore } from "../lane/context.ts";
import { paceKeysOf } from "../plan/accounts.ts";

export type ProberDeps = Pick<
  LaneContext,
  "destination" | "channel" | "calls" | "pace" | "health" | "settings" | "clock" | "log"
> & { store: Pick<LaneStore, "savePaces"> };

const timeoutMs = 20_000;

/** Asks a destination whether delivery could work now. Nothing is sent to people. */
export class Prober {
  readonly #recipient: string;
  #running: Promise<Trial> | undefined;

  constructor(private readonly deps: ProberDeps) {
    const { destination } = deps;
    [this.#recipient = destination.name] = recipientsOf(destination);
  }

  /** Callers who ask at the same time share one call. Rejects as the store does. */
  probe(stop: AbortSignal): Promise<Trial> {
    return this.#share(stop, true);
  }

  /**
   * The same without having been asked, to know that a destination is well: in a slot of the pace that messages are
   * sent with, which it does not use up, so that it delays none.
   */
  prove(stop: AbortSignal): Promise<Trial> {
    return this.#share(stop, false);
  }

  #share(stop: AbortSignal, isAsked: boolean): Promise<Trial> {
    this.#running ??= this.#try(stop, isAsked).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #try(stop: AbortSignal, isAsked: boolean): Promise<Trial> {
    const { store, destination, pace, health, settings, clock, log } = this.deps;
    const recipient = this.#recipient;
    const now = clock.now();
    const { at, why } = pace.nextSlot(paceKeysOf(destination, recipient, settings), now);
    // Without a reason it is only our own pace, which is about messages.
    if (at > now && (why !== undefined || !isAsked)) return { kind: "parked", until: at, why: why ?? "the pace" };
    const outcome = await this.#askWhereItIs(stop);
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

  async #askWhereItIs(stop: AbortSignal): Promise<Outcome> {
    const outcome = await this.#ask(stop);
    if (outcome.kind !== "retry" || outcome.movedTo === undefined) return outcome;
    this.deps.health.noteMove(this.deps.destination, this.#recipient, outcome.movedTo);
    return this.#ask(stop);
  }

  #ask(stop: AbortSignal): Promise<Outcome> {
    const { destination, channel, calls, health } = this.deps;
    const { moved } = health.of(destination);
    const address = moved?.from === this.#recipient ? moved.to : this.#recipient;
    return calls.make((signal) => channel.probe(address, signal), { timeoutMs, stop });
  }
}
