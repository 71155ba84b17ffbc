import type { AlertFacts } from "../../core/alert.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { DueDelivery, NextStep } from "../../core/delivery-job.ts";
import type {
  DestinationState,
  DestinationStatus,
  StatusKey,
  Trial,
  UndeliveredSummary,
} from "../../core/destination-status.ts";
import type { Destination } from "../../core/rules.ts";
import { vendorOf } from "../../vendors/index.ts";
import type { EngineContext, LaneStore } from "../lane/context.ts";
import { explainOutcome } from "../plan/explain-reason.ts";
import {
  accountKeyOf,
  isWell,
  judgeOutcome,
  judgeProbe,
  judgeProof,
  keyOf,
  neededNow,
  newStatus,
  stateOf,
  tryAgainNow,
} from "../plan/health.ts";
import { titlesKept } from "../plan/plan-notice.ts";

/** What became of the deliveries of one claim. */
export interface Ending {
  destination: Pick<Destination, "name" | "type">;
  deliveries: readonly (Pick<DueDelivery, "alertId" | "purpose" | "recipient" | "fallbackTo"> & {
    /** Absent when the claim was abandoned. */
    facts?: AlertFacts;
  })[];
  outcome: Outcome;
  next: NextStep | undefined;
}

export interface HealthDeps extends Pick<EngineContext, "clock" | "settings" | "log"> {
  store: Pick<LaneStore, "saveStatus">;
  /** Called when a destination, or its account, has got better or worse. */
  onChange(): void;
}

/** The least time between two notices about a destination. The next one counts all that was not delivered meanwhile. */
const quietMs = 10 * 60_000;

/**
 * The health of one lane group's destinations and their account, as outcomes show it. Memory is the truth while the group is
 * held. The store has a copy for the next holder. Nothing waits for the disk: a change that could not be saved is saved later.
 */
export class HealthMemory {
  readonly #deps: HealthDeps;
  readonly #statuses = {
    destination: new Map<string, DestinationStatus>(),
    account: new Map<string, DestinationStatus>(),
  };
  readonly #unsaved = { destination: new Set<string>(), account: new Set<string>() };
  /** When each destination last got a message, as the store has it. */
  readonly #savedSentAt = new Map<string, number>();

  /** @param saved the statuses that came with the lane group. A shut destination is tried again at once */
  constructor(deps: HealthDeps, saved: DestinationStatus[]) {
    this.#deps = deps;
    for (const status of saved) {
      const { kind, name, lastSentAt } = status;
      this.#statuses[kind].set(name, tryAgainNow(status, deps.clock.now()));
      if (kind === "destination" && lastSentAt !== undefined) this.#savedSentAt.set(name, lastSentAt);
    }
  }

  stateOf(destination: Destination): DestinationState {
    return stateOf(destination, (key) => this.#read(key), this.#deps.clock.now());
  }

  of(destination: Pick<Destination, "name">): DestinationStatus {
    return this.#read(keyOf(destination));
  }

  /** Undefined when the destination has no account. */
  ofAccount(destination: Destination): DestinationStatus | undefined {
    const account = accountKeyOf(destination);
    return account && this.#read(account);
  }

  /** Whether the destination takes messages, as far as is known, and is not paused. */
  isWell = (destination: Destination): boolean => isWell(this.stateOf(destination));

  observe(destination: Destination, outcome: Outcome): void {
    const account = accountKeyOf(destination);
    const own = keyOf(destination);
    const now = this.#deps.clock.now();
    const judgeBy = (key: StatusKey, said: Outcome) =>
      this.#judge(key, (status) => judgeOutcome(status, said, this.#deps.settings, now));
    if (outcome.kind === "rejected" && outcome.scope === "account") {
      judgeBy(account ?? own, outcome);
      return;
    }
    if (account && (outcome.kind === "sent" || outcome.kind === "rejected")) judgeBy(account, { kind: "sent" });
    judgeBy(own, outcome);
  }

  observeProbe(destination: Destination, outcome: Outcome): void {
    const now = this.#deps.clock.now();
    for (const key of [accountKeyOf(destination), keyOf(destination)]) {
      if (key === undefined) continue;
      const { health } = this.#read(key);
      if (health !== "dead" && health !== "paused" && health !== "down") continue;
      this.#judge(key, (status) => {
        const proves = isProof(destination, status);
        const isYes = proves && isOnlyAboutMailbox(key, outcome);
        return judgeProbe(status, isYes ? { kind: "sent" } : outcome, proves, now);
      });
    }
    if (outcome.kind === "sent") this.#judge(keyOf(destination), (status) => ({ ...status, lastProvenAt: now }));
  }

  /** For an unasked probe of a destination that seemed well. A message that got through since `askedAt` outweighs a refusal. */
  observeProof(destination: Destination, outcome: Outcome, askedAt: number): void {
    const own = keyOf(destination);
    const now = this.#deps.clock.now();
    if (outcome.kind !== "sent" && (this.#read(own).lastSentAt ?? Number.NEGATIVE_INFINITY) >= askedAt) return;
    const isOfAccount = outcome.kind === "rejected" && outcome.scope === "account";
    const key = (isOfAccount && accountKeyOf(destination)) || own;
    const { probeProves } = vendorOf(destination.type);
    this.#judge(key, (status) => judgeProof(status, outcome, probeProves, now));
  }

  /** Called when the first alert waits for a dead destination, see `neededNow`. */
  noteNeeded(destination: Destination): void {
    this.#judge(keyOf(destination), (status) => neededNow(status, this.#deps.clock.now()));
  }

  noteMove(destination: Destination, from: string, to: string): void {
    this.#write(keyOf(destination), { moved: { from, to } });
  }

  /** Pauses the destination, or resumes it (`by` undefined). Rejects as the store does, without a change. */
  async setPause(destination: Destination, by: string | undefined): Promise<void> {
    const key = keyOf(destination);
    const before = this.#read(key);
    if ((before.paused !== undefined) === (by !== undefined)) return;
    const now = this.#deps.clock.now();
    this.#write(key, by === undefined ? { paused: undefined, resumedAt: now } : { paused: { at: now, by } });
    try {
      await this.save();
    } catch (error) {
      this.#write(key, { paused: before.paused, resumedAt: before.resumedAt });
      throw error;
    }
    this.#deps.log.info(by === undefined ? "destination.resumed" : "destination.paused", { destination: key.name, by });
    this.#deps.onChange();
  }

  noteTrial(destination: Pick<Destination, "name">, trial: Trial): void {
    this.#write(keyOf(destination), { tried: { at: this.#deps.clock.now(), trial } });
  }

  noteNotice(about: StatusKey, notice: DestinationStatus["notice"]): void {
    this.#write(about, { notice });
  }

  /** Remembers alerts that nobody got although their destination works (a refused mail, a used-up schedule), for a notice. */
  noteEnding(ending: Ending): void {
    const key = keyOf(ending.destination);
    const { undelivered } = this.#read(key);
    const pending = addUndelivered(undelivered?.pending, ending);
    if (pending) this.#write(key, { undelivered: { ...undelivered, pending } });
  }

  /** Undelivered alerts that need a notice, until `noteNotified`. */
  listUndelivered(now: number): UndeliveredSummary[] {
    return [...this.#statuses.destination.values()].flatMap(({ undelivered = {} }) => {
      const { pending, notifiedAt = Number.NEGATIVE_INFINITY } = undelivered;
      const sinceMs = now - notifiedAt;
      return pending !== undefined && (sinceMs < 0 || sinceMs >= quietMs) ? [pending] : [];
    });
  }

  noteNotified(summary: UndeliveredSummary, now: number): void {
    const key: StatusKey = { kind: "destination", name: summary.destination };
    const { pending } = this.#read(key).undelivered ?? {};
    // Deliveries that have failed since the list was made belong to the next notice.
    const left = pending === summary ? {} : { pending };
    this.#write(key, { undelivered: { ...left, notifiedAt: now } });
  }

  /** Writes the changes since the last call. Rejects as the store does. The next call tries again. */
  async save(): Promise<void> {
    for (const kind of ["destination", "account"] as const)
      for (const name of [...this.#unsaved[kind]]) {
        this.#unsaved[kind].delete(name);
        const status = this.#read({ kind, name });
        try {
          await this.#deps.store.saveStatus(status);
        } catch (error) {
          this.#unsaved[kind].add(name);
          throw error;
        }
        if (kind === "destination" && status.lastSentAt !== undefined) this.#savedSentAt.set(name, status.lastSentAt);
      }
  }

  /** For a group that is given up: also saves the exact times of the last messages. */
  async saveAll(): Promise<void> {
    for (const { name, lastSentAt } of this.#statuses.destination.values())
      if (lastSentAt !== this.#savedSentAt.get(name)) this.#unsaved.destination.add(name);
    await this.save();
  }

  #read({ kind, name }: StatusKey): DestinationStatus {
    return this.#statuses[kind].get(name) ?? newStatus({ kind, name }, this.#deps.clock.now());
  }

  #write(key: StatusKey, changes: Partial<DestinationStatus>): void {
    this.#statuses[key.kind].set(key.name, { ...this.#read(key), ...changes });
    this.#unsaved[key.kind].add(key.name);
  }

  #judge(key: StatusKey, change: (status: DestinationStatus) => DestinationStatus): void {
    const before = this.#read(key);
    const after = change(before);
    if (after === before) return;
    this.#statuses[key.kind].set(key.name, after);
    if (isWorthSaving(before, after) || this.#isSentLongSince(after)) this.#unsaved[key.kind].add(key.name);
    if (after.health === before.health) return;
    this.#deps.log.warn("destination.health", { destination: key.name, health: after.health, reason: after.reason });
    this.#deps.onChange();
  }

  /** Whether the saved time of the last message is old. A commit for each message would be too many. */
  #isSentLongSince({ kind, name, lastSentAt = 0 }: DestinationStatus): boolean {
    return kind === "destination" && Math.abs(lastSentAt - (this.#savedSentAt.get(name) ?? 0)) > 60_000;
  }
}

/** Whether a successful probe counts like a delivered message, or is enough for a refused account. */
function isProof({ type }: Destination, status: DestinationStatus): boolean {
  const { probeProves } = vendorOf(type);
  return probeProves === "delivery" || (probeProves === "account" && status.health === "paused");
}

/** Whether the outcome concerns the mailbox alone. A server refuses a mailbox only after it has accepted account and sender. */
function isOnlyAboutMailbox({ kind }: StatusKey, outcome: Outcome): boolean {
  if (outcome.kind === "rejected") return outcome.scope === "recipient" || outcome.scope === "message";
  const isPutOff = outcome.kind === "retry" && outcome.reason === "temporary_refusal" && outcome.scope === undefined;
  return isPutOff && kind === "account";
}

function isWorthSaving(before: DestinationStatus, after: DestinationStatus): boolean {
  return (
    before.health !== after.health ||
    before.failures !== after.failures ||
    before.openUntil !== after.openUntil ||
    before.probeAt !== after.probeAt ||
    before.lastProvenAt !== after.lastProvenAt
  );
}

/** Undefined when the ending adds no undelivered alert. */
function addUndelivered(
  before: UndeliveredSummary | undefined,
  { destination: { name, type }, deliveries, outcome, next }: Ending,
): UndeliveredSummary | undefined {
  if (next === undefined || outcome.kind === "sent" || !isUnheard(outcome, next)) return undefined;
  const lost = deliveries.filter((delivery) => isLost(delivery, next));
  if (lost.length === 0) return undefined;
  const recipients = [...(before?.recipients ?? []), ...lost.map(({ recipient }) => recipient)];
  const titles = [...(before?.titles ?? []), ...lost.map(({ facts, alertId }) => facts?.title ?? alertId)];
  return {
    destination: name,
    failed: (before?.failed ?? 0) + (next.state === "failed" ? lost.length : 0),
    held: (before?.held ?? 0) + (next.state === "held" ? lost.length : 0),
    recipients: [...new Set(recipients)],
    titles: [...new Set(titles)].slice(0, titlesKept),
    reason: explainOutcome(outcome, type),
  };
}

/** False where the whole destination or account is refused. It has a notice of its own. */
function isUnheard(outcome: Outcome, next: NextStep): boolean {
  if (next.state !== "failed" && next.state !== "held") return false;
  return outcome.kind !== "rejected" || outcome.scope === "message" || outcome.scope === "recipient";
}

/** Not lost: a test or a single resend (a person waits), a notice, and what a fallback delivers. */
function isLost({ purpose, fallbackTo }: Ending["deliveries"][number], next: NextStep): boolean {
  const isFallingBack = next.state === "failed" && fallbackTo !== undefined;
  const isWatched = purpose === "resend" || purpose === "test" || purpose === "notice";
  return !isWatched && !isFallingBack;
}
