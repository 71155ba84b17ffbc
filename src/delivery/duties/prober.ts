import type { Outcome } from "../../core/delivery.ts";
import type { Trial } from "../../core/destination-status.ts";
import type { Destination } from "../../core/rules.ts";
import { errorText } from "../../ground/text/error-text.ts";
import { recipientsOf } from "../../vendors/index.ts";
import type { EngineContext, LaneContext, LaneStore } from "../lane/context.ts";
import type { Lane } from "../lane/lane.ts";
import type { HealthMemory } from "../memory/health.ts";
import { paceKeysOf } from "../plan/accounts.ts";
import { isFoundByProbes } from "../plan/health.ts";

export type ProberDeps = Pick<
  LaneContext,
  "destination" | "channel" | "calls" | "pace" | "health" | "settings" | "clock" | "log"
> & { store: Pick<LaneStore, "savePaces"> };

const timeoutMs = 20_000;

/** Asks a destination whether delivery would work now. Sends nothing to people. */
export class Prober {
  readonly #recipient: string;
  #running: Promise<Trial> | undefined;

  constructor(private readonly deps: ProberDeps) {
    const { destination } = deps;
    [this.#recipient = destination.name] = recipientsOf(destination);
  }

  /** For a person. Callers at the same time share one call. Rejects as the store does. */
  probe(stop: AbortSignal): Promise<Trial> {
    return this.#share(stop, true);
  }

  /** A probe that no person asked for. It waits for a free slot of the pace and does not use it, so it delays no message. */
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
    // A wait without a reason is the lane's own pace, which is for messages.
    if (at > now && (why !== undefined || !isAsked)) return { kind: "parked", until: at, why: why ?? "the pace" };
    const outcome = await this.#askWhereItIs(stop);
    if (stop.aborted) return { kind: "probed", outcome };
    const isNews = isAsked || outcome.kind !== "sent";
    log[isNews ? "info" : "debug"]("destination.probed", { destination: destination.name, outcome: outcome.kind });
    if (isAsked) health.observeProbe(destination, outcome);
    else health.observeProof(destination, outcome, now);
    // A probe may call a page that messages do not use. An unasked one says nothing about messages, except by a 429.
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

interface Proven {
  destination: Destination;
  lane: Pick<Lane, "isIdle">;
  prober: Pick<Prober, "prove">;
}

interface ProvingDeps extends Pick<EngineContext, "clock" | "random" | "log"> {
  proven: Proven[];
  health: Pick<HealthMemory, "of" | "ofAccount" | "isWell">;
}

const minute = 60_000;
/** Overdue probes of the start are spread over this time. */
const spreadMs = 10 * minute;
/** The wait after a probe without an answer, and while only probes have found the destination down. */
const againMs = 3 * minute;
/** The wait while the destination is being called. */
const busyMs = minute;
const gapMs = 1_000;
/** A changed clock is noticed within this time. */
const longestSleepMs = 10 * minute;

/**
 * Probes the idle destinations of one lane group that seem well, so that a dead one is known before an alert needs it. Sends
 * nothing to people.
 *
 *     well, nothing delivered or proven for `proveEveryMs` ──▶ probe ──yes──▶ proven; again after about as long
 *                                                               └──no answer──▶ again in some minutes (`judgeProof`)
 *     found down by such probes alone ──▶ probed every few minutes until it answers
 *     dead, paused, or down since a delivery failed ──▶ left to the lane, which tries it by itself
 *
 * Probes run one at a time, a second apart. None runs while the destination is called, its pace is used up, or it has asked for a
 * wait. Ends when `stop` is aborted. Never rejects.
 */
export async function proveAll({ proven, health, clock, random, log }: ProvingDeps, stop: AbortSignal): Promise<void> {
  const around = (ms: number) => ms * (0.9 + 0.2 * random());

  /** When a message or a probe last got through. Undefined: never. A time in the future comes from a clock that was set back. */
  function lastKnownAt({ destination }: Proven, now: number): number | undefined {
    const { lastSentAt, lastProvenAt } = health.of(destination);
    const times = [lastSentAt, lastProvenAt].filter((at) => at !== undefined && at <= now) as number[];
    return times.length === 0 ? undefined : Math.max(...times);
  }

  function firstAt(one: Proven, everyMs: number, now: number): number {
    const soon = now + Math.min(spreadMs, everyMs) * (0.1 + 0.9 * random());
    const knownAt = lastKnownAt(one, now);
    return knownAt === undefined ? soon : Math.max(knownAt + around(everyMs), soon);
  }

  /** Returns when to look at this destination again. */
  async function look(one: Proven, everyMs: number): Promise<number> {
    const { destination, lane, prober } = one;
    const now = clock.now();
    const isFound = isFoundByProbes(health.of(destination)) && (health.ofAccount(destination)?.health ?? "ok") === "ok";
    if (!isFound && !health.isWell(destination)) return now + around(everyMs);
    const dueAt = (lastKnownAt(one, now) ?? 0) + 0.9 * everyMs;
    if (!isFound && !hasFailed(one) && dueAt > now) return dueAt + 0.2 * everyMs * random();
    if (!lane.isIdle()) return now + busyMs;
    const trial = await prober.prove(stop).catch((error: unknown) => {
      log.error("destination.not_proven", { destination: destination.name, error: errorText(error) });
      return undefined;
    });
    if (trial?.kind === "parked") return Math.max(trial.until, now);
    return clock.now() + around(hasFailed(one) ? Math.min(againMs, everyMs) : everyMs);
  }

  function hasFailed({ destination }: Proven): boolean {
    return health.of(destination).failedProbes !== undefined;
  }

  const plans = proven.flatMap((one) => {
    const { proveEveryMs: everyMs } = one.destination;
    return everyMs === undefined ? [] : [{ one, everyMs, at: firstAt(one, everyMs, clock.now()) }];
  });
  while (plans.length > 0 && !stop.aborted) {
    const plan = plans.reduce((a, b) => (b.at < a.at ? b : a));
    const now = clock.now();
    // A plan this far ahead comes from a clock that was set back.
    if (plan.at > now + 2 * plan.everyMs) plan.at = now + plan.everyMs;
    if (plan.at > now) await clock.sleep(Math.min(plan.at - now, longestSleepMs), stop);
    else {
      plan.at = await look(plan.one, plan.everyMs);
      await clock.sleep(gapMs, stop);
    }
  }
}
