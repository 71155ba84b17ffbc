import type { AlertFacts } from "../../core/alert.ts";
import type { Clock } from "../../core/clock.ts";
import { cardIdOf, type DestinationStatus } from "../../core/destination-status.ts";
import type { NewId } from "../../core/id.ts";
import type { Log } from "../../core/log.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import type { NoticeRecord, RoutingDesk } from "../../core/ports/routing-desk.ts";
import type { WatchState } from "../../core/ports/watch.ts";
import { type Destination, type PlannedDelivery, planDeliveries } from "../../core/rules.ts";
import { recipientsOf } from "../../vendors/index.ts";
import type { HealthMemory } from "../memory/health.ts";
import { accountOf } from "../plan/accounts.ts";
import {
  planNotice,
  type Undelivered,
  writeNotice,
  writeOrphanNotice,
  writeUndeliveredNotice,
} from "../plan/plan-notice.ts";

/** Sends notices of the relay itself, on a destination that works. Each rejects as the store does. */
export interface Notifier {
  /**
   * Where a notice about these can be sent, another account first: the bot that was thrown out of one chat may be out
   * of all.
   */
  targetsFor(concerned: Destination[]): Destination[];
  /**
   * On the first of these; the second is its fallback. With none the notice stands on the page alone.
   * @param lane the one that the notice is about; once that is lost nothing is sent
   * @param about saved in the same step, so that it is told once
   */
  send(lane: LaneFence, facts: AlertFacts, targets: Destination[], about?: DestinationStatus): Promise<"done" | "lost">;
  sendOrphans(lane: LaneFence, destination: string, count: number): Promise<"done" | "lost">;
  /**
   * To every destination that is set for notices. Where none of these works, or none is set so, also to each other one that
   * works; with none of these either to all but those that take no notices.
   * @param watch saved in the same step, so that it is told once
   * @param lane once that is lost nothing is sent, and nothing saved. Default: in any case
   */
  sendToAll(facts: AlertFacts, watch?: WatchState, lane?: LaneFence): Promise<"done" | "lost">;
}

export interface NotifierDeps {
  store: Pick<RoutingDesk, "recordNotice">;
  destinations: Destination[];
  /** As far as this relay knows. */
  isWell(destination: Destination): boolean;
  clock: Clock;
  newId: NewId;
  log: Log;
}

/** A destination that seems well may be about to fail as well; its fallback gets the notice within the first minute. */
const fallbackAfterMs = 30_000;
const why = "a notice of Tocsin itself";

export function createNotifier(deps: NotifierDeps): Notifier {
  const { store, clock, newId, log } = deps;

  function targetsFor(concerned: Destination[]): Destination[] {
    const accounts = new Set(concerned.map(accountOf));
    const others = deps.destinations.filter(
      (other) => !concerned.includes(other) && other.notices !== false && deps.isWell(other),
    );
    const isElsewhere = (other: Destination) => accountOf(other) === undefined || !accounts.has(accountOf(other));
    const sorted = [...others.filter(isElsewhere), ...others.filter((other) => !isElsewhere(other))];
    return [...sorted.filter(({ notices }) => notices === true), ...sorted.filter(({ notices }) => notices !== true)];
  }

  async function send(
    lane: LaneFence,
    facts: AlertFacts,
    [target, second]: Destination[],
    about?: DestinationStatus,
  ): Promise<"done" | "lost"> {
    const fallback = second && { to: second.name, at: clock.now() + fallbackAfterMs };
    const notice = write(facts, target ? [target] : [], "no other destination works that could take it", fallback);
    return store.recordNotice({ ...notice, about, lane: { group: lane.group, fence: lane.fence } });
  }

  async function sendToAll(facts: AlertFacts, watch?: WatchState, lane?: LaneFence): Promise<"done" | "lost"> {
    const { destinations } = deps;
    const chosen = destinations.filter(({ notices }) => notices === true);
    const others = destinations.filter(({ notices }) => notices === undefined);
    const well = others.filter(deps.isWell);
    const targets = chosen.some(deps.isWell) ? chosen : [...chosen, ...(well.length > 0 ? well : others)];
    return store.recordNotice({ ...write(facts, targets, "no destination takes notices"), watch, lane });
  }

  function write(
    facts: AlertFacts,
    targets: Destination[],
    whyNowhere: string,
    fallback?: PlannedDelivery["fallback"],
  ): NoticeRecord {
    const now = clock.now();
    if (targets.length === 0) log.error("notice.nowhere", { title: facts.title });
    return {
      id: newId(),
      at: now,
      facts,
      decisions:
        targets.length === 0
          ? [{ route: "notices", result: "skipped", reason: whyNowhere }]
          : targets.map(({ name }) => ({ route: "notices", destination: name, result: "deliver", reason: why })),
      deliveries: targets.flatMap((target) =>
        planDeliveries(target, recipientsOf(target), {
          route: "notices",
          state: "queued",
          reason: why,
          dueAt: now,
          updates: "new",
          fallback,
        }),
      ),
    };
  }

  return {
    targetsFor,
    send,
    sendToAll,
    sendOrphans: (lane, destination, count) => send(lane, writeOrphanNotice(destination, count), targetsFor([])),
  };
}

/** The notices about the destinations of one lane group. Each rejects as the store does. */
export interface GroupNotices {
  /** That a destination or account has stopped working, and that it works again: what people do not know yet. */
  sendChanges(): Promise<void>;
  /** Alerts that did not arrive although their destination works. */
  sendUndelivered(): Promise<void>;
}

export interface GroupNoticesDeps {
  store: Pick<Dispatch, "countByDestination">;
  notifier: Notifier;
  lane: LaneFence;
  /** Another relay holds the lane group. */
  onLost(): void;
  health: HealthMemory;
  destinations: Destination[];
  clock: Clock;
  /** How the outside reaches the page; absent: notices link to nothing. */
  publicUrl?: string;
}

export function createGroupNotices(deps: GroupNoticesDeps): GroupNotices {
  const { notifier, lane, health, clock, destinations, publicUrl } = deps;

  function pageOf(path: string): string | undefined {
    return publicUrl === undefined ? undefined : `${publicUrl.replace(/(?<!\/)\/+$/, "")}${path}`;
  }

  function pageOfLog(destination: { name: string } | undefined, state: "failed" | "held"): string | undefined {
    return destination && pageOf(`/?${new URLSearchParams({ destination: destination.name, state })}`);
  }

  async function sendChange(read: () => DestinationStatus, concerned: Destination[]): Promise<void> {
    const status = read();
    // Was never bad. With many destinations, looking every second for one to send it to would take longest of all.
    if (status.health === "ok" && status.notice === undefined) return;
    const targets = notifier.targetsFor(concerned);
    const due = planNotice(status, targets.length > 0, clock.now());
    if (due === undefined) return;
    if (due.says !== undefined) {
      const [only, ...more] = concerned;
      const isOver = due.says === "better" && more.length === 0;
      const undelivered = await countUndelivered(concerned);
      const isMissed = isOver && undelivered?.failed !== 0;
      const link = isMissed ? pageOfLog(only, "failed") : pageOf(`/destinations#${cardIdOf(only?.name ?? "")}`);
      const afterMs = status.notice && clock.now() - status.notice.at;
      const facts = writeNotice(due.says, status, { concerned, link, undelivered, afterMs });
      const sent = await notifier.send(lane, facts, targets, { ...read(), notice: due.notice });
      if (sent === "lost") return deps.onLost();
    }
    health.noteNotice(status, due.notice);
  }

  /** A notice without its numbers is better than none. */
  async function countUndelivered(concerned: Destination[]): Promise<Undelivered | undefined> {
    const all = await deps.store.countByDestination().catch(() => undefined);
    if (all === undefined) return undefined;
    const its = all.filter(({ destination }) => concerned.some(({ name }) => name === destination));
    const sum = (count: (counts: (typeof its)[number]["counts"]) => number): number =>
      its.reduce((total, { counts }) => total + count(counts), 0);
    return {
      waiting: sum(({ queued = 0, waiting = 0 }) => queued + waiting),
      failed: sum(({ failed = 0 }) => failed),
    };
  }

  return {
    async sendChanges() {
      for (const destination of destinations) await sendChange(() => health.of(destination), [destination]);
      const [first] = destinations;
      if (first === undefined || health.ofAccount(first) === undefined) return;
      await sendChange(() => health.ofAccount(first) as DestinationStatus, destinations);
    },
    async sendUndelivered() {
      for (const summary of health.listUndelivered(clock.now())) {
        const concerned = destinations.filter(({ name }) => name === summary.destination);
        const now = clock.now();
        const [about] = concerned.map((one) => {
          const status = health.of(one);
          const { pending } = status.undelivered ?? {};
          // What has come since it was listed is for the next notice.
          return { ...status, undelivered: { ...(pending !== summary && { pending }), notifiedAt: now } };
        });
        const others = notifier.targetsFor(concerned);
        // One message or one address was refused, so where nobody else is, its own readers get the notice.
        const own = summary.failed > 0 ? concerned.filter(health.isWell) : [];
        const link = pageOfLog({ name: summary.destination }, summary.failed > 0 ? "failed" : "held");
        const facts = writeUndeliveredNotice(summary, link);
        const sent = await notifier.send(lane, facts, others.length > 0 ? others : own, about);
        if (sent === "lost") return deps.onLost();
        health.noteNotified(summary, now);
      }
    },
  };
}
