import type { Clock } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { DestinationState, DestinationStatus } from "../../core/destination-status.ts";
import type { Log } from "../../core/log.ts";
import type { Store } from "../../core/ports/store.ts";
import type { Destination } from "../../core/rules.ts";
import { accountOf } from "../plan/accounts.ts";
import { judgeOutcome, judgeProbe, newStatus, stateOf } from "../plan/health.ts";

/**
 * What outcomes say about destinations and accounts. Memory is the truth while the relay runs and the store its copy for
 * the next start, so nothing here waits for the disk or fails with it: what could not be saved is saved later.
 */
export interface HealthKeeper {
  stateOf(destination: Destination): DestinationState;
  of(destination: Destination): DestinationStatus;
  /** Of the account that the destination shares; `undefined` when it has none. */
  ofAccount(destination: Destination): DestinationStatus | undefined;
  observe(destination: Destination, outcome: Outcome): void;
  observeProbe(destination: Destination, outcome: Outcome): void;
  noteMove(destination: Destination, from: string, to: string): void;
  noteAnnounced(name: string, announced: DestinationStatus["announced"]): void;
  noteUndelivered(name: string, undelivered: DestinationStatus["undelivered"]): void;
  /** At a start: whatever was paused or dead is looked at again, since somebody may have mended it meanwhile. */
  probeSoon(): void;
  /** Writes what has changed since. Rejects as the store does; the next call tries it again. */
  save(): Promise<void>;
}

export interface HealthDeps {
  store: Pick<Store, "saveStatus">;
  clock: Clock;
  settings: DeliverySettings;
  log: Log;
  /** A destination, or the account that it shares, has got better or worse. */
  onChange(destination: Destination): void;
}

export function createHealthKeeper(deps: HealthDeps, saved: DestinationStatus[]): HealthKeeper {
  const { store, clock, settings, log } = deps;
  const statuses = new Map(saved.map((status) => [status.name, status]));
  const unsaved = new Set<string>();

  function read(name: string): DestinationStatus {
    return statuses.get(name) ?? newStatus(name, clock.now());
  }

  function write(status: DestinationStatus): void {
    statuses.set(status.name, status);
    unsaved.add(status.name);
  }

  function judge(
    destination: Destination,
    name: string,
    change: (status: DestinationStatus) => DestinationStatus,
  ): void {
    const before = read(name);
    const after = change(before);
    if (after === before) return;
    statuses.set(name, after);
    if (isWorthSaving(before, after)) unsaved.add(name);
    if (after.health === before.health) return;
    log.warn("destination.health", { destination: name, health: after.health, reason: after.reason });
    deps.onChange(destination);
  }

  return {
    stateOf: (destination) => stateOf(destination, statuses, clock.now()),
    of: (destination) => read(destination.name),
    ofAccount(destination) {
      const account = accountOf(destination);
      return account === undefined ? undefined : read(account);
    },
    observe(destination, outcome) {
      const account = accountOf(destination);
      const now = clock.now();
      if (outcome.kind === "rejected" && outcome.scope === "account") {
        judge(destination, account ?? destination.name, (status) =>
          judgeOutcome(status, outcome, settings, now),
        );
        return;
      }
      if (account !== undefined && (outcome.kind === "sent" || outcome.kind === "rejected")) {
        judge(destination, account, (status) => judgeOutcome(status, { kind: "sent" }, settings, now));
      }
      judge(destination, destination.name, (status) => judgeOutcome(status, outcome, settings, now));
    },
    observeProbe(destination, outcome) {
      const account = accountOf(destination);
      const now = clock.now();
      for (const name of [account, destination.name]) {
        if (name === undefined) continue;
        const { health } = read(name);
        if (health !== "dead" && health !== "paused" && health !== "down") continue;
        judge(destination, name, (status) => judgeProbe(status, outcome, isProof(destination, status), now));
      }
    },
    noteMove: (destination, from, to) => write({ ...read(destination.name), moved: { from, to } }),
    noteAnnounced: (name, announced) => write({ ...read(name), announced }),
    noteUndelivered: (name, undelivered) => write({ ...read(name), undelivered }),
    probeSoon() {
      for (const status of statuses.values()) {
        if (isProbed(status)) write({ ...status, probeAt: clock.now() });
        else if (status.openUntil !== undefined) write({ ...status, openUntil: clock.now() });
      }
    },
    async save() {
      for (const name of [...unsaved]) {
        unsaved.delete(name);
        try {
          await store.saveStatus(read(name));
        } catch (error) {
          unsaved.add(name);
          throw error;
        }
      }
    },
  };
}

export function isProbed(status: DestinationStatus): boolean {
  return status.health === "dead" || status.health === "paused";
}

/**
 * Telegram is asked for the very right to write; a mail server is logged in to, which proves the account and not that it
 * takes the mails; all others are only connected to.
 */
function isProof(destination: Destination, status: DestinationStatus): boolean {
  return destination.type === "telegram" || (destination.type === "email" && status.health === "paused");
}

/** The time of the last success changes with every message and is not worth a commit of its own. */
function isWorthSaving(before: DestinationStatus, after: DestinationStatus): boolean {
  return (
    before.health !== after.health ||
    before.failures !== after.failures ||
    before.openUntil !== after.openUntil ||
    before.probeAt !== after.probeAt ||
    (after.lastSentAt ?? 0) - (before.lastSentAt ?? 0) > 60_000
  );
}
