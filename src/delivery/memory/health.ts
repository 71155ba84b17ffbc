import type { AlertFacts } from "../../core/alert.ts";
import type { Clock } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { DueDelivery, NextStep } from "../../core/delivery-job.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type {
  DestinationState,
  DestinationStatus,
  StatusKey,
  UndeliveredSummary,
} from "../../core/destination-status.ts";
import type { Log } from "../../core/log.ts";
import type { Destination } from "../../core/rules.ts";
import { vendorOf } from "../../vendors/index.ts";
import type { LaneStore } from "../lane-store.ts";
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

/** What came of the deliveries of one claim or of one that was abandoned. */
export interface Ending {
  destination: Pick<Destination, "name" | "type">;
  deliveries: readonly (Pick<DueDelivery, "alertId" | "purpose" | "recipient" | "fallbackTo"> & {
    /** Absent when the claim was abandoned. */
    facts?: AlertFacts;
  })[];
  outcome: Outcome;
  next: NextStep | undefined;
}

/**
 * What outcomes say about the destinations of one lane group and the account that they share. Memory is the truth while
 * the group is held and the store its copy for the next holder, so nothing here waits for the disk or fails with it:
 * what could not be saved is saved later.
 */
export interface HealthMemory {
  stateOf(destination: Destination): DestinationState;
  of(destination: Destination): DestinationStatus;
  /** Of the account that the destination shares; `undefined` when it has none. */
  ofAccount(destination: Destination): DestinationStatus | undefined;
  /** It takes messages, as far as is known, and nobody has paused it. */
  isWell(destination: Destination): boolean;
  observe(destination: Destination, outcome: Outcome): void;
  observeProbe(destination: Destination, outcome: Outcome): void;
  /**
   * Of a probe that nobody asked for, of a destination that seemed well.
   * @param askedAt a message that got through since says more than a no
   */
  observeProof(destination: Destination, outcome: Outcome, askedAt: number): void;
  /** An alert waits for it since now, after a time in which none did; see `neededNow`. */
  noteNeeded(destination: Destination): void;
  noteMove(destination: Destination, from: string, to: string): void;
  /**
   * Nothing is to be sent there until somebody says otherwise; undefined: again. On record when it resolves; rejects as the
   * store does, and nothing has changed then.
   */
  setPause(destination: Destination, by: string | undefined): Promise<void>;
  noteNotice(about: StatusKey, notice: DestinationStatus["notice"]): void;
  /**
   * Remembers the alerts that ended without a message for certain while their destination goes on working: a refused
   * mail, an unknown recipient, a schedule that is used up, a call without an answer that a person has to judge.
   * Nothing else would say so.
   */
  noteEnding(ending: Ending): void;
  /** The undelivered that a notice is due about; it stays due until `noteNotified`. */
  listUndelivered(now: number): UndeliveredSummary[];
  noteNotified(summary: UndeliveredSummary, now: number): void;
  /** Writes what has changed since. Rejects as the store does; the next call tries it again. */
  save(): Promise<void>;
  /** The same, and when the last messages got through to the very time: the group is given up. */
  saveAll(): Promise<void>;
}

export interface HealthDeps {
  store: Pick<LaneStore, "saveStatus">;
  clock: Clock;
  settings: DeliverySettings;
  log: Log;
  /** A destination, or the account that it shares, has got better or worse. */
  onChange(): void;
}

/** After a notice about a destination the next one waits this long and counts what has come together. */
const quietMs = 10 * 60_000;

/** @param saved what the lane group was granted with; whatever is shut is tried again at once */
export function createHealthMemory(deps: HealthDeps, saved: DestinationStatus[]): HealthMemory {
  const { store, clock, settings, log } = deps;
  const statuses = {
    destination: new Map<string, DestinationStatus>(),
    account: new Map<string, DestinationStatus>(),
  };
  for (const status of saved) statuses[status.kind].set(status.name, tryAgainNow(status, clock.now()));
  const unsaved = { destination: new Set<string>(), account: new Set<string>() };
  /** Of the destinations, as the store has it. */
  const savedSentAt = new Map<string, number>();
  for (const { kind, name, lastSentAt } of saved)
    if (kind === "destination" && lastSentAt !== undefined) savedSentAt.set(name, lastSentAt);

  function read({ kind, name }: StatusKey): DestinationStatus {
    return statuses[kind].get(name) ?? newStatus({ kind, name }, clock.now());
  }

  function write(key: StatusKey, changes: Partial<DestinationStatus>): void {
    statuses[key.kind].set(key.name, { ...read(key), ...changes });
    unsaved[key.kind].add(key.name);
  }

  function judge(key: StatusKey, change: (status: DestinationStatus) => DestinationStatus): void {
    const before = read(key);
    const after = change(before);
    if (after === before) return;
    statuses[key.kind].set(key.name, after);
    if (isWorthSaving(before, after) || isSentLongSince(after)) unsaved[key.kind].add(key.name);
    if (after.health === before.health) return;
    log.warn("destination.health", { destination: key.name, health: after.health, reason: after.reason });
    deps.onChange();
  }

  /** The time of the last message changes with each, and is not worth a commit of its own. */
  function isSentLongSince({ kind, name, lastSentAt = 0 }: DestinationStatus): boolean {
    return kind === "destination" && Math.abs(lastSentAt - (savedSentAt.get(name) ?? 0)) > 60_000;
  }

  async function save(): Promise<void> {
    for (const kind of ["destination", "account"] as const)
      for (const name of [...unsaved[kind]]) {
        unsaved[kind].delete(name);
        const status = read({ kind, name });
        try {
          await store.saveStatus(status);
        } catch (error) {
          unsaved[kind].add(name);
          throw error;
        }
        if (kind === "destination" && status.lastSentAt !== undefined) savedSentAt.set(name, status.lastSentAt);
      }
  }

  const ofAccount = (destination: Destination): DestinationStatus | undefined => {
    const account = accountKeyOf(destination);
    return account && read(account);
  };

  return {
    stateOf: (destination) => stateOf(destination, read, clock.now()),
    of: (destination) => read(keyOf(destination)),
    ofAccount,
    isWell: (destination) => isWell(stateOf(destination, read, clock.now())),
    observe(destination, outcome) {
      const account = accountKeyOf(destination);
      const own = keyOf(destination);
      const now = clock.now();
      const judgeBy = (key: StatusKey, said: Outcome) =>
        judge(key, (status) => judgeOutcome(status, said, settings, now));
      if (outcome.kind === "rejected" && outcome.scope === "account") return judgeBy(account ?? own, outcome);
      if (account && (outcome.kind === "sent" || outcome.kind === "rejected")) judgeBy(account, { kind: "sent" });
      judgeBy(own, outcome);
    },
    observeProbe(destination, outcome) {
      const now = clock.now();
      for (const key of [accountKeyOf(destination), keyOf(destination)]) {
        if (key === undefined) continue;
        const { health } = read(key);
        if (health !== "dead" && health !== "paused" && health !== "down") continue;
        judge(key, (status) => {
          const proves = isProof(destination, status);
          const isYes = proves && isOnlyAboutMailbox(key, outcome);
          return judgeProbe(status, isYes ? { kind: "sent" } : outcome, proves, now);
        });
      }
      if (outcome.kind === "sent") judge(keyOf(destination), (status) => ({ ...status, lastProvenAt: now }));
    },
    observeProof(destination, outcome, askedAt) {
      const own = keyOf(destination);
      const now = clock.now();
      if (outcome.kind !== "sent" && (read(own).lastSentAt ?? Number.NEGATIVE_INFINITY) >= askedAt) return;
      const isOfAccount = outcome.kind === "rejected" && outcome.scope === "account";
      const key = (isOfAccount && accountKeyOf(destination)) || own;
      const { probeProves } = vendorOf(destination.type);
      judge(key, (status) => judgeProof(status, outcome, probeProves, now));
    },
    async setPause(destination, by) {
      const key = keyOf(destination);
      const before = read(key);
      if ((before.paused !== undefined) === (by !== undefined)) return;
      const now = clock.now();
      const after = by === undefined ? { paused: undefined, resumedAt: now } : { paused: { at: now, by } };
      write(key, after);
      try {
        await save();
      } catch (error) {
        write(key, { paused: before.paused, resumedAt: before.resumedAt });
        throw error;
      }
      log.info(by === undefined ? "destination.resumed" : "destination.paused", { destination: key.name, by });
      deps.onChange();
    },
    noteNeeded: (destination) => judge(keyOf(destination), (status) => neededNow(status, clock.now())),
    noteMove: (destination, from, to) => write(keyOf(destination), { moved: { from, to } }),
    noteNotice: (about, notice) => write(about, { notice }),
    noteEnding(ending) {
      const key = keyOf(ending.destination);
      const { undelivered } = read(key);
      const pending = addUndelivered(undelivered?.pending, ending);
      if (pending) write(key, { undelivered: { ...undelivered, pending } });
    },
    listUndelivered: (now) =>
      [...statuses.destination.values()].flatMap(({ undelivered = {} }) => {
        const { pending, notifiedAt = Number.NEGATIVE_INFINITY } = undelivered;
        const sinceMs = now - notifiedAt;
        return pending !== undefined && (sinceMs < 0 || sinceMs >= quietMs) ? [pending] : [];
      }),
    noteNotified(summary, now) {
      const key: StatusKey = { kind: "destination", name: summary.destination };
      const { pending } = read(key).undelivered ?? {};
      // What has come since it was listed is for the next notice.
      const left = pending === summary ? {} : { pending };
      write(key, { undelivered: { ...left, notifiedAt: now } });
    },
    save,
    async saveAll() {
      for (const { name, lastSentAt } of statuses.destination.values())
        if (lastSentAt !== savedSentAt.get(name)) unsaved.destination.add(name);
      await save();
    },
  };
}

/** A yes to a probe is as good as a delivered message, or good enough for an account that was refused. */
function isProof({ type }: Destination, status: DestinationStatus): boolean {
  const { probeProves } = vendorOf(type);
  return probeProves === "delivery" || (probeProves === "account" && status.health === "paused");
}

/** Asked for the first of several mailboxes, a server refuses it only after it has let the account and the sender in. */
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

/** What is known of the undelivered with this ending among them; `undefined` when it adds none. */
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

/** A destination or account that is refused as a whole has a notice of its own, which says that alerts fail or wait. */
function isUnheard(outcome: Outcome, next: NextStep): boolean {
  if (next.state !== "failed" && next.state !== "held") return false;
  return outcome.kind !== "rejected" || outcome.scope === "message" || outcome.scope === "recipient";
}

/**
 * Somebody waits for one resend or a test, a notice must not cause notices, and a fallback delivers the alert itself.
 */
function isLost({ purpose, fallbackTo }: Ending["deliveries"][number], next: NextStep): boolean {
  const isFallingBack = next.state === "failed" && fallbackTo !== undefined;
  const isWatched = purpose === "resend" || purpose === "test" || purpose === "notice";
  return !isWatched && !isFallingBack;
}
