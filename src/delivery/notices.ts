import type { AlertFacts } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import { recipientsOf } from "../core/recipients.ts";
import type { Destination, PlannedDelivery } from "../core/rules.ts";
import type { DestinationHealth, DestinationStatus, Store } from "../core/store.ts";
import { accountOf } from "./accounts.ts";
import type { HealthChange, HealthKeeper } from "./health-keeper.ts";

/** Tells people on another destination that one has stopped working, and that it works again. */
export interface Announcer {
  announce(change: HealthChange): Promise<void>;
}

export interface AnnouncerDeps {
  store: Pick<Store, "recordNotice">;
  health: HealthKeeper;
  clock: Clock;
  newId: NewId;
  log: Log;
  destinations: Destination[];
  nudge(destination: string): void;
}

export function createAnnouncer(deps: AnnouncerDeps): Announcer {
  const { store, health, clock, newId, log } = deps;

  /** Another account first: the same bot that was thrown out of one chat may be out of all. */
  function chooseTarget(about: Destination): Destination | undefined {
    const others = deps.destinations.filter((other) => other.name !== about.name && isWell(other));
    return (
      others.find((other) => accountOf(other) !== accountOf(about) || accountOf(other) === undefined) ??
      others[0]
    );
  }

  function isWell(destination: Destination): boolean {
    const account = health.ofAccount(destination)?.health ?? "ok";
    const own = health.of(destination).health;
    return account === "ok" && (own === "ok" || own === "degraded");
  }

  return {
    async announce({ destination, before, after }) {
      const worse = isAnnounced(after.health);
      if (worse === isAnnounced(before.health) && !(worse && after.health !== before.health)) return;
      if (!worse && after.announcedAt === undefined) return;
      const facts = factsOf(destination, before, after);
      const target = chooseTarget(destination);
      const now = clock.now();
      if (!target) log.error("notice.nowhere", { destination: after.name, title: facts.title });
      await health.noteAnnounced(after, worse ? now : undefined);
      await store.recordNotice({
        id: newId(),
        at: now,
        facts,
        decisions: [
          target
            ? {
                route: "notices",
                destination: target.name,
                result: "deliver",
                reason: "a notice of Tocsin itself",
              }
            : {
                route: "notices",
                result: "skipped",
                reason: "no other destination works that could be told",
              },
        ],
        deliveries: target ? planNotice(target, now) : [],
      });
      if (target) deps.nudge(target.name);
    },
  };
}

function isAnnounced(health: DestinationHealth): boolean {
  return health === "down" || health === "dead" || health === "paused";
}

function planNotice(target: Destination, now: number): PlannedDelivery[] {
  return recipientsOf(target).map((recipient) => ({
    destination: target.name,
    channel: target.type,
    recipient,
    route: "notices",
    state: "queued",
    reason: "a notice of Tocsin itself",
    dueAt: now,
    updates: "new",
  }));
}

function factsOf(destination: Destination, before: DestinationStatus, after: DestinationStatus): AlertFacts {
  const what =
    after.name === destination.name ? destination.name : `${destination.name} and all that share its account`;
  const worse = isAnnounced(after.health);
  return {
    title: worse ? titleOf(after, what) : `${what} works again`,
    text: worse
      ? adviceOf(after)
      : "Alerts are delivered there again. Those that could not be are on the page.",
    severity: worse ? "critical" : "info",
    status: worse ? "firing" : "resolved",
    format: "empty",
    alertKey: `tocsin:destination:${after.name}`,
    source: "Tocsin",
    fields: [
      { name: "destination", value: destination.name },
      { name: "reason", value: worse ? after.reason : before.reason },
    ],
    notes: [],
  };
}

function titleOf(status: DestinationStatus, what: string): string {
  switch (status.health) {
    case "dead":
      return `${what} cannot be reached: alerts for it fail`;
    case "paused":
      return `${what} is paused: the account was refused, alerts wait`;
    case "down":
      return `${what} does not answer: alerts wait`;
    case "ok":
    case "degraded":
      return `${what} works again`;
  }
}

function adviceOf(status: DestinationStatus): string {
  switch (status.health) {
    case "dead":
      return "Add the bot (or the address) again and give it the right to write, then resend one alert from the page: that is tried at once. Tocsin asks by itself once a day.";
    case "paused":
      return "Put the right credentials into the configuration and restart Tocsin. Alerts wait meanwhile for up to 24 hours.";
    case "down":
      return "Tocsin goes on trying; what waits is told as a digest when it answers again.";
    case "ok":
    case "degraded":
      return "";
  }
}
