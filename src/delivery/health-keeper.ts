import type { Clock } from "../core/clock.ts";
import type { Outcome } from "../core/delivery.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { Log } from "../core/log.ts";
import type { Destination } from "../core/rules.ts";
import type { DestinationStatus, Store } from "../core/store.ts";
import { accountOf } from "./accounts.ts";
import { judgeOutcome, judgeProbe, newStatus } from "./health.ts";

/** A destination, or the account that it shares, has got better or worse. */
export interface HealthChange {
  destination: Destination;
  before: DestinationStatus;
  after: DestinationStatus;
}

export interface HealthKeeper {
  of(destination: Destination): DestinationStatus;
  /** Of the account that the destination shares; `undefined` when it has none. */
  ofAccount(destination: Destination): DestinationStatus | undefined;
  observe(destination: Destination, outcome: Outcome): Promise<void>;
  observeProbe(destination: Destination, outcome: Outcome): Promise<void>;
  noteMove(destination: Destination, from: string, to: string): Promise<void>;
  noteAnnounced(status: DestinationStatus, at: number | undefined): Promise<void>;
  /** At a start: whatever was paused or dead is looked at again, since somebody may have mended it meanwhile. */
  probeSoon(): Promise<void>;
}

export interface HealthDeps {
  store: Pick<Store, "saveStatus">;
  clock: Clock;
  settings: DeliverySettings;
  log: Log;
  onChange(change: HealthChange): void;
}

/** Keeps what outcomes say about destinations and accounts, in memory and in the store. */
export function createHealthKeeper(deps: HealthDeps, saved: DestinationStatus[]): HealthKeeper {
  const { store, clock, settings, log } = deps;
  const statuses = new Map(saved.map((status) => [status.name, status]));

  function read(name: string): DestinationStatus {
    return statuses.get(name) ?? newStatus(name, clock.now());
  }

  async function write(status: DestinationStatus): Promise<void> {
    statuses.set(status.name, status);
    await store.saveStatus(status);
  }

  async function judge(
    destination: Destination,
    name: string,
    change: (status: DestinationStatus) => DestinationStatus,
  ): Promise<void> {
    const before = read(name);
    const after = change(before);
    if (after === before) return;
    statuses.set(name, after);
    if (isWorthSaving(before, after)) await store.saveStatus(after);
    if (after.health === before.health) return;
    log.warn("destination.health", { destination: name, health: after.health, reason: after.reason });
    deps.onChange({ destination, before, after });
  }

  return {
    of: (destination) => read(destination.name),
    ofAccount(destination) {
      const account = accountOf(destination);
      return account === undefined ? undefined : read(account);
    },
    async observe(destination, outcome) {
      const account = accountOf(destination);
      const now = clock.now();
      if (outcome.kind === "rejected" && outcome.scope === "account") {
        await judge(destination, account ?? destination.name, (status) =>
          judgeOutcome(status, outcome, settings, now),
        );
        return;
      }
      if (account !== undefined && (outcome.kind === "sent" || outcome.kind === "rejected")) {
        await judge(destination, account, (status) => judgeOutcome(status, { kind: "sent" }, settings, now));
      }
      await judge(destination, destination.name, (status) => judgeOutcome(status, outcome, settings, now));
    },
    async observeProbe(destination, outcome) {
      const account = accountOf(destination);
      const now = clock.now();
      for (const name of [account, destination.name]) {
        if (name === undefined || !isProbed(read(name))) continue;
        await judge(destination, name, (status) => judgeProbe(status, outcome, now));
      }
    },
    noteMove: (destination, from, to) => write({ ...read(destination.name), moved: { from, to } }),
    noteAnnounced: (status, at) => write({ ...read(status.name), announcedAt: at }),
    async probeSoon() {
      for (const status of statuses.values()) {
        if (isProbed(status)) await write({ ...status, probeAt: clock.now() });
        else if (status.openUntil !== undefined) await write({ ...status, openUntil: clock.now() });
      }
    },
  };
}

export function isProbed(status: DestinationStatus): boolean {
  return status.health === "dead" || status.health === "paused";
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
