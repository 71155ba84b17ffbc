import type { AlertFacts } from "../../core/alert.ts";
import type { Clock } from "../../core/clock.ts";
import type { DestinationStatus, UndeliveredTale } from "../../core/destination-status.ts";
import type { NewId } from "../../core/id.ts";
import type { Log } from "../../core/log.ts";
import type { Store } from "../../core/ports/store.ts";
import { recipientsOf } from "../../core/recipients.ts";
import type { Destination, PlannedDelivery } from "../../core/rules.ts";
import type { HealthKeeper } from "../memory/health-keeper.ts";
import { type UndeliveredWatch, writeUndeliveredNotice } from "../memory/undelivered.ts";
import { accountOf } from "../plan/accounts.ts";
import { planNotice, writeNotice, writeOrphanNotice } from "../plan/plan-notice.ts";

/** Tells people on another destination that one has stopped working, and that it works again. */
export interface Announcer {
  /** Looks at every destination and account once, and tells what is not told yet. Rejects as the store does. */
  announceChanges(): Promise<void>;
  announceOrphans(destination: string, count: number): Promise<void>;
  /** Tells of alerts that did not arrive although their destination works. Rejects as the store does. */
  announceUndelivered(): Promise<void>;
}

export interface AnnouncerDeps {
  store: Pick<Store, "recordNotice">;
  health: HealthKeeper;
  undelivered: UndeliveredWatch;
  clock: Clock;
  newId: NewId;
  log: Log;
  destinations: Destination[];
  /** How the outside reaches the page; absent: notices link to nothing. */
  publicUrl?: string;
}

/** A destination that seems well may be about to fail as well; the next one is called upon in time for the first minute. */
const fallbackAfterMs = 30_000;
const why = "a notice of Tocsin itself";

export function createAnnouncer(deps: AnnouncerDeps): Announcer {
  const { store, health, undelivered, clock, newId, log, destinations, publicUrl } = deps;

  /** Those that can be told, another account first: the bot that was thrown out of one chat may be out of all. */
  function chooseTargets(concerned: Destination[]): Destination[] {
    const accounts = new Set(concerned.map(accountOf));
    const others = destinations.filter((other) => !concerned.includes(other) && isWell(other));
    const isElsewhere = (other: Destination) =>
      accountOf(other) === undefined || !accounts.has(accountOf(other));
    return [...others.filter(isElsewhere), ...others.filter((other) => !isElsewhere(other))];
  }

  function isWell(destination: Destination): boolean {
    const account = health.ofAccount(destination)?.health ?? "ok";
    const own = health.of(destination).health;
    return account === "ok" && (own === "ok" || own === "degraded");
  }

  async function post(facts: AlertFacts, [target, second]: Destination[]): Promise<void> {
    const now = clock.now();
    if (!target) log.error("notice.nowhere", { title: facts.title });
    await store.recordNotice({
      id: newId(),
      at: now,
      facts,
      decisions: [
        target
          ? { route: "notices", destination: target.name, result: "deliver", reason: why }
          : {
              route: "notices",
              result: "skipped",
              reason: "no other destination works that could be told",
            },
      ],
      deliveries: target ? planDeliveries(target, second, now) : [],
    });
  }

  function pageOf(path: string): string | undefined {
    return publicUrl === undefined ? undefined : `${publicUrl.replace(/(?<!\/)\/+$/, "")}${path}`;
  }

  function pageOfLog(
    destination: { name: string } | undefined,
    state: "failed" | "held",
  ): string | undefined {
    return destination && pageOf(`/?${new URLSearchParams({ destination: destination.name, state })}`);
  }

  async function announce(status: DestinationStatus, concerned: Destination[]): Promise<void> {
    const targets = chooseTargets(concerned);
    const due = planNotice(status, targets.length > 0, clock.now());
    if (due === undefined) return;
    if (due.tell !== undefined) {
      const [only, ...more] = concerned;
      const isOver = due.tell === "better" && more.length === 0;
      const link = isOver ? pageOfLog(only, "failed") : pageOf("/destinations");
      await post(writeNotice(due.tell, status, concerned, link), targets);
    }
    health.noteAnnounced(status.name, due.announced);
  }

  async function tellUndelivered(tales: UndeliveredTale[]): Promise<void> {
    for (const tale of tales) {
      const concerned = destinations.filter(({ name }) => name === tale.destination);
      const others = chooseTargets(concerned);
      // One message or one address was refused, so where nobody else is, its own readers can be told.
      const own = tale.failed > 0 ? concerned.filter(isWell) : [];
      const link = pageOfLog({ name: tale.destination }, tale.failed > 0 ? "failed" : "held");
      await post(writeUndeliveredNotice(tale, link), others.length > 0 ? others : own);
      undelivered.told(tale, clock.now());
    }
  }

  return {
    async announceChanges() {
      const accounts = new Map<string, { status: DestinationStatus; concerned: Destination[] }>();
      for (const destination of destinations) {
        await announce(health.of(destination), [destination]);
        const status = health.ofAccount(destination);
        if (status === undefined) continue;
        const known = accounts.get(status.name);
        if (known) known.concerned.push(destination);
        else accounts.set(status.name, { status, concerned: [destination] });
      }
      for (const { status, concerned } of accounts.values()) await announce(status, concerned);
    },
    announceOrphans: (destination, count) => post(writeOrphanNotice(destination, count), chooseTargets([])),
    announceUndelivered: () => tellUndelivered(undelivered.listDue(clock.now())),
  };
}

function planDeliveries(
  target: Destination,
  second: Destination | undefined,
  now: number,
): PlannedDelivery[] {
  return recipientsOf(target).map((recipient) => ({
    destination: target.name,
    channel: target.type,
    recipient,
    route: "notices",
    state: "queued",
    reason: why,
    dueAt: now,
    updates: "new",
    ...(second && { fallback: { to: second.name, at: now + fallbackAfterMs } }),
  }));
}
