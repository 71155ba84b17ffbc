import { type ConfigurationState, judgeConfiguration } from "../core/judge-configuration.ts";
import type { RelayReport, RelaySelf, Relays, RelayView } from "../core/ports/relays.ts";
import type { RoutingDesk } from "../core/ports/routing-desk.ts";
import type { EngineContext } from "./lane/context.ts";

export interface MembershipDeps extends Pick<EngineContext, "clock" | "log"> {
  store: Relays & Pick<RoutingDesk, "leaveRouting">;
  /** This relay, as the others on this store see it. */
  self: Omit<RelaySelf, "report">;
  /** Gives the state that goes with each announcement. It must not wait. Absent: the others see no state of this relay. */
  report?(): RelayReport;
  sharedByRelays: boolean;
  /** Lane groups of this configuration, the duties among them. */
  groups: readonly string[];
  /** An announcement counts for this long. Milliseconds. */
  leaseMs: number;
}

/** Which relays run on this store, as of the last look, and whether the configuration of this one is the newest of all. */
export class Membership {
  readonly #unheldSince = new Map<string, number>();
  #relays: RelayView[] = [];
  #configuration: ConfigurationState = "newest";

  constructor(private readonly deps: MembershipDeps) {}

  /** All that run on this store, this one among them, as of the last look some seconds ago. */
  relays = (): RelayView[] => this.#relays;

  /** The others that ran a moment ago. */
  others = (): RelayView[] => this.#relays.filter(({ id }) => id !== this.deps.self.id);

  configuration = (): ConfigurationState => this.#configuration;

  isNewest = (): boolean => this.#configuration === "newest";

  /** Lane groups that no running relay held, each with the time it became free. Empty where another configuration routes. */
  unheld = (): ReadonlyMap<string, number> => this.#unheldSince;

  /** Lane groups that a running relay holds. */
  taken(): Set<string> {
    return new Set(this.#relays.flatMap((relay) => relay.lanes));
  }

  /**
   * How many of these groups this relay may hold, and how many of its groups it has to hand over.
   * @param held the number of its groups, without those that it is about to leave
   */
  share(groups: string[], held: number): { most: number; handOver: number } {
    if (!this.isNewest()) return { most: 0, handOver: held };
    const { configuration } = this.deps.self;
    const others = this.others().filter((relay) => relay.configuration === configuration);
    return shareLanes(groups, held, others);
  }

  /**
   * Says that this relay runs, and learns who else does. Rejects as the store does.
   * @param isHeld whether this relay holds the group, even if the store says otherwise
   */
  async announce(isHeld: (group: string) => boolean): Promise<void> {
    const { store, self, report, leaseMs } = this.deps;
    this.#relays = await store.announceRelay({ ...self, report: report?.() }, leaseMs);
    const own = this.#relays.find(({ id }) => id === self.id);
    const before = this.#configuration;
    this.#configuration = own === undefined ? "newest" : judgeConfiguration(own, this.#relays);
    if (this.#configuration !== before) this.#logConfiguration(own?.configurationVersion ?? 0);
    this.#noteUnheld(isHeld);
    // Repeated each time: alerts that were on their way to the disk the last time have to be left, too.
    if (!this.isNewest()) await store.leaveRouting?.(true);
    else if (before !== "newest") await store.leaveRouting?.(false);
  }

  /**
   * A text that changes when another configuration may have lost its last relay, and each hour. Undefined: a later configuration
   * ran here within the last day, so deliveries to destinations that only it knows wait for a relay with it.
   */
  whyOrphans(): string | undefined {
    const { sharedByRelays, self, clock } = this.deps;
    if (!sharedByRelays) return "";
    if (this.#relays.some(({ id, isSuperseded }) => id === self.id && isSuperseded)) return undefined;
    const configurations = new Set(this.#relays.map((relay) => relay.configuration));
    return `${Math.floor(clock.now() / hourMs)} ${[...configurations].sort().join(" ")}`;
  }

  #noteUnheld(isHeld: (group: string) => boolean): void {
    const { sharedByRelays, groups, clock } = this.deps;
    const taken = this.taken();
    const isOurs = sharedByRelays && this.isNewest();
    for (const group of groups) {
      if (!isOurs || taken.has(group) || isHeld(group)) this.#unheldSince.delete(group);
      else if (!this.#unheldSince.has(group)) this.#unheldSince.set(group, clock.now());
    }
  }

  #logConfiguration(version: number): void {
    const { log } = this.deps;
    const newer = this.#relays.filter(({ configurationVersion }) => configurationVersion > version);
    const names = newer.map(({ name }) => name).join(", ");
    if (this.#configuration === "older") log.warn("configuration.older", { version, newer: names });
    else log.info(`configuration.${this.#configuration}`, { version });
  }
}

const hourMs = 3_600_000;

/**
 * An even share of the lane groups: each relay holds as many as the others, or one more. A relay that holds more hands over no
 * more than the others lack, so that lanes do not move in circles.
 *
 * @returns how many of the groups to hold at most, and how many of those that are held to hand over
 * @param groups of this relay's configuration
 * @param held those of them that it holds
 * @param others the other relays that run, with the same configuration
 */
export function shareLanes(
  groups: readonly string[],
  held: number,
  others: readonly Pick<RelayView, "lanes">[],
): { most: number; handOver: number } {
  const fewest = Math.floor(groups.length / (others.length + 1));
  const evenly = Math.ceil(groups.length / (others.length + 1));
  const known = new Set(groups);
  const theirs = others.map(({ lanes }) => lanes.filter((group) => known.has(group)).length);
  const lacking = theirs.reduce((sum, count) => sum + Math.max(0, fewest - count), 0);
  const unheld = Math.max(0, groups.length - held - theirs.reduce((sum, count) => sum + count, 0));
  const forOthers = Math.min(held - fewest, lacking - unheld);
  // While one relay lacks groups, no other takes more than its share: it would take what was handed over for that relay.
  return { most: lacking > 0 ? fewest : evenly, handOver: Math.max(0, forOthers, held - evenly) };
}
