import type { AlertFacts } from "../../core/alert.ts";
import type { DueDelivery } from "../../core/delivery-job.ts";
import { cardIdOf, type DestinationStatus } from "../../core/destination-status.ts";
import type { AlertLog } from "../../core/ports/alert-log.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import type { RoutingDesk } from "../../core/ports/routing-desk.ts";
import type { WatchState } from "../../core/ports/watch.ts";
import {
  anyDestination,
  type Decision,
  type Destination,
  type PlannedDelivery,
  planDeliveries,
} from "../../core/rules.ts";
import { groupBy } from "../../ground/group-by.ts";
import { recipientsOf } from "../../vendors/index.ts";
import type { EngineContext } from "../lane/context.ts";
import type { HealthMemory } from "../memory/health.ts";
import { firstTargets, furtherTargets, type NoticeWorld, noticeFallbackMs } from "../plan/notice-targets.ts";
import { planNotice, type Undelivered, writeNotice, writeUndeliveredNotice } from "../plan/plan-notice.ts";
import type { FindHold } from "./follow-quiet-hours.ts";

export type Notifier = ReturnType<typeof createNotifier>;

export interface NoticeOptions {
  /** Saved in the same step, so that people get the notice once. */
  watch?: WatchState;
  /** Nothing is sent or saved once this lane is lost. Default: the notice depends on no lane. */
  lane?: LaneFence;
  /** Saved in the same step. Only with `lane`. */
  about?: DestinationStatus;
  /** The destinations that the notice is about. It is not sent to them. */
  concerned?: readonly Destination[];
  /** The only destination of the notice, for its own readers, after its quiet hours. Default: see `send`. */
  to?: string;
}

export interface NotifierDeps extends NoticeWorld, Pick<EngineContext, "clock" | "newId" | "log"> {
  /** Quiet hours that hold a notice. Default: none. */
  findHold?: FindHold;
  store: Pick<RoutingDesk, "recordNotice"> & Pick<AlertLog, "getAlert"> & Pick<Dispatch, "callFallbacks">;
}

const route = "notices";
const why = "a notice of Tocsin itself";

/** Sends the relay's own notices to destinations that work. Each method rejects as the store does. */
export function createNotifier(deps: NotifierDeps) {
  const { store, clock, newId, log, destinations } = deps;
  const startedAt = clock.now();

  function without(concerned: readonly Destination[]): NoticeWorld {
    return { isWell: deps.isWell, destinations: destinations.filter((one) => !concerned.includes(one)) };
  }

  const takersBeside = (concerned: readonly Destination[]) =>
    without(concerned).destinations.filter(({ notices }) => notices !== false);

  /** Whether another destination works that takes notices. */
  function canReach(concerned: readonly Destination[]): boolean {
    return takersBeside(concerned).some((one) => deps.isWell(one));
  }

  /** Sends a notice to `firstTargets`, later to `furtherTargets` until one has it. Without any, only the page shows it. */
  async function send(facts: AlertFacts, options: NoticeOptions = {}): Promise<"done" | "lost"> {
    const { watch, lane, about, concerned = [], to } = options;
    const isKept = concerned.length > 0 && !canReach(concerned);
    const own = to === undefined ? undefined : destinations.filter(({ name }) => name === to);
    const targets = own ?? (isKept ? [] : firstTargets(without(concerned), facts));
    const hold = to === undefined ? undefined : deps.findHold?.(to, facts, clock.now());
    const reason = hold === undefined ? why : `${why}; ${hold.words}`;
    const held = hold && ({ state: "held", dueAt: hold.until } as const);
    if (targets.length === 0) log.error("notice.nowhere", { title: facts.title });
    return store.recordNotice({
      id: newId(),
      at: clock.now(),
      facts,
      decisions: decide(targets, concerned, { result: hold ? "held" : "deliver", reason, isKept }),
      deliveries: own === undefined ? planAnywhere(targets, why) : plan(own, { reason, ...held }),
      watch,
      about,
      lane: lane && { group: lane.group, fence: lane.fence },
    });
  }

  /** No delivery has a fallback unless `more` gives one. */
  function plan(targets: Destination[], more: Pick<PlannedDelivery, "reason"> & Partial<PlannedDelivery>) {
    const how = { route, state: "queued", dueAt: clock.now(), updates: "new", ...more } as const;
    return targets.flatMap((target) => planDeliveries(target, recipientsOf(target), how));
  }

  function planAnywhere(targets: Destination[], reason: string, insteadBecause?: string) {
    const fallback = { to: anyDestination, at: clock.now() + noticeFallbackMs };
    return plan(targets, { reason, fallback, insteadBecause });
  }

  async function sendOnwards(due: readonly DueDelivery[]): Promise<void> {
    const [first] = due;
    const alert = first && (await store.getAlert(first.alertId));
    const { targets, missed, againAt } = alert
      ? furtherTargets(deps, alert, clock.now(), startedAt)
      : { targets: [], missed: [], againAt: undefined };
    const because = `${missed.join(", ")} ${missed.length > 1 ? "have" : "has"} not taken it`;
    if (targets.length > 0) {
      log.warn("notice.further", { alert: first?.alertId, missed, to: targets.map(({ name }) => name) });
    }
    const planned = planAnywhere(targets, `instead of ${missed.join(", ")}`, because);
    const calls = due.map(({ seq }) => ({ deliverySeq: seq, planned: seq === first?.seq ? planned : [], againAt }));
    await store.callFallbacks(calls, clock.now());
  }

  return {
    canReach,
    /** Also true while the other destination does not work. */
    hasOthers: (concerned: readonly Destination[]) => takersBeside(concerned).length > 0,
    send,
    /** Sends notices to further destinations where the first have failed or been slow. */
    async sendFurther(due: readonly DueDelivery[]): Promise<void> {
      const byAlert = groupBy(due, ({ alertId }) => alertId);
      const sent = await Promise.allSettled([...byAlert.values()].map(sendOnwards));
      // A notice that cannot be read does not delay the others.
      const failed = sent.find(({ status }) => status === "rejected");
      if (failed?.status === "rejected") throw failed.reason;
    },
  };
}

/** The decisions that the log shows: where a notice goes, and why it goes nowhere else. */
function decide(
  targets: readonly Destination[],
  concerned: readonly Destination[],
  { result, reason, isKept }: { result: "held" | "deliver"; reason: string; isKept: boolean },
): Decision[] {
  const nowhere = isKept ? "no other destination works that could take it" : "no destination takes notices";
  return [
    ...(targets.length === 0 ? [{ route, result: "skipped" as const, reason: nowhere }] : []),
    ...targets.map(({ name }) => ({ route, destination: name, result, reason })),
    ...concerned.map(({ name }) => ({
      route,
      destination: name,
      result: "skipped" as const,
      reason: "the notice is about it",
    })),
  ];
}

export interface GroupNoticesDeps extends Pick<EngineContext, "clock"> {
  store: Pick<Dispatch, "countByDestination" | "countNotices">;
  notifier: Notifier;
  lane: LaneFence;
  /** Called when another relay holds the lane group. */
  onLost(): void;
  health: HealthMemory;
  destinations: Destination[];
  /** The address of the page from outside. Absent: notices have no links. */
  publicUrl?: string;
}

/** Notices about the destinations of one lane group. Each method rejects as the store does. */
export function createGroupNotices(deps: GroupNoticesDeps) {
  const { notifier, lane, health, clock, destinations, publicUrl } = deps;

  function pageOf(path: string): string | undefined {
    return publicUrl === undefined ? undefined : `${publicUrl.replace(/(?<!\/)\/+$/, "")}${path}`;
  }

  function pageOfLog(destination: { name: string } | undefined, state: "failed" | "held"): string | undefined {
    return destination && pageOf(`/?${new URLSearchParams({ destination: destination.name, state })}`);
  }

  async function sendChange(read: () => DestinationStatus, concerned: Destination[]): Promise<void> {
    const status = read();
    // The usual case, asked every second. Looking for a target would take longest with many destinations.
    if (status.health === "ok" && status.notice === undefined) return;
    const due = planNotice(status, notifier.canReach(concerned), clock.now());
    if (due === undefined) return;
    if (due.says !== undefined) {
      const [only, ...more] = concerned;
      const isOver = due.says === "better" && more.length === 0;
      const undelivered = await countUndelivered(concerned);
      const isMissed = isOver && undelivered?.failed !== 0;
      const link = isMissed ? pageOfLog(only, "failed") : pageOf(`/destinations#${cardIdOf(only?.name ?? "")}`);
      const afterMs = status.notice && clock.now() - status.notice.at;
      const facts = writeNotice(due.says, status, { concerned, link, undelivered, afterMs });
      const sent = await notifier.send(facts, { lane, about: { ...read(), notice: due.notice }, concerned });
      if (sent === "lost") return deps.onLost();
    }
    health.noteNotice(status, due.notice);
  }

  /** Undefined where the store fails: a notice without numbers is better than none. */
  async function countUndelivered(concerned: Destination[]): Promise<Undelivered | undefined> {
    try {
      const names = concerned.map(({ name }) => name);
      const all = await deps.store.countByDestination();
      const own = await Promise.all(names.map((name) => deps.store.countNotices(name)));
      const counts = all.filter(({ destination }) => names.includes(destination)).map((its) => its.counts);
      return {
        waiting: counts.reduce((sum, { queued = 0, waiting = 0 }) => sum + queued + waiting, 0) - total(own, "waiting"),
        failed: counts.reduce((sum, { failed = 0, expired = 0 }) => sum + failed + expired, 0) - total(own, "failed"),
      };
    } catch {
      return undefined;
    }
  }

  return {
    /** Sends one notice for each destination or account that has stopped working, or works again. */
    async sendChanges(): Promise<void> {
      for (const destination of destinations) await sendChange(() => health.of(destination), [destination]);
      const [first] = destinations;
      if (first === undefined || health.ofAccount(first) === undefined) return;
      await sendChange(() => health.ofAccount(first) as DestinationStatus, destinations);
    },
    /** Sends notices about alerts that did not arrive although their destination works. */
    async sendUndelivered(): Promise<void> {
      for (const summary of health.listUndelivered(clock.now())) {
        const concerned = destinations.filter(({ name }) => name === summary.destination);
        const now = clock.now();
        const [about] = concerned.map((one) => {
          const status = health.of(one);
          const { pending } = status.undelivered ?? {};
          // Alerts that were added since the list was made belong to the next notice.
          return { ...status, undelivered: { ...(pending !== summary && { pending }), notifiedAt: now } };
        });
        const canReach = notifier.canReach(concerned);
        // Only a message or an address was refused. Without another destination, the destination's own readers get the notice.
        const isForOwn = !canReach && summary.failed > 0 && concerned.some(health.isWell);
        // The notice stays pending until one of the other destinations works.
        if (!canReach && !isForOwn && notifier.hasOthers(concerned)) continue;
        const link = pageOfLog({ name: summary.destination }, summary.failed > 0 ? "failed" : "held");
        const facts = writeUndeliveredNotice(summary, link);
        const sent = await notifier.send(facts, { lane, about, concerned: isForOwn ? [] : concerned });
        if (sent === "lost") return deps.onLost();
        health.noteNotified(summary, now);
      }
    },
  };
}

function total(all: readonly Undelivered[], kind: keyof Undelivered): number {
  return all.reduce((sum, its) => sum + its[kind], 0);
}
