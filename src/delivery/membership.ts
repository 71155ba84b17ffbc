import { type ConfigurationState, judgeConfiguration } from "../core/judge-configuration.ts";
import type { RelayReport, RelaySelf, Relays, RelayView } from "../core/ports/relays.ts";
import type { RoutingDesk } from "../core/ports/routing-desk.ts";
import type { EngineContext } from "./lane/context.ts";

export interface MembershipDeps extends Pick<EngineContext, "clock" | "log"> {
  store: Relays & Pick<RoutingDesk, "leaveRouting">;
  self: Omit<RelaySelf, "report">;
  /** The state that goes with each announcement. It must not wait. Absent: the others see no state. */
  report?(): RelayReport;
  sharedByRelays: boolean;
  /** Lane groups of this configuration, with the duties. */
  groups: readonly string[];
  /** How long an announcement counts. */
  leaseMs: number;
}

/** Which relays run on this store, and whether this one has the newest configuration. As of the last look. */
export class Membership {
  readonly #unheldSince = new Map<string, number>();
  #relays: RelayView[] = [];
  #configuration: ConfigurationState = "newest";

  constructor(private readonly deps: MembershipDeps) {}

  /** With this one, as of the last look some seconds ago. */
  relays = (): RelayView[] => this.#relays;

  others = (): RelayView[] => this.#relays.filter(({ id }) => id !== this.deps.self.id);

  configuration = (): ConfigurationState => this.#configuration;

  isNewest = (): boolean => this.#configuration === "newest";

  /** Lane groups that no relay held, with the time at which each became free. Empty where another configuration routes. */
  unheld = (): ReadonlyMap<string, number> => this.#unheldSince;

  taken(): Set<string> {
    return new Set(this.#relays.flatMap((relay) => relay.lanes));
  }

  /** How many of these groups this relay may hold and must hand over. `held`: without those that it is about to leave. */
  share(groups: string[], held: number): { most: number; handOver: number } {
    if (!this.isNewest()) return { most: 0, handOver: held };
    const { configuration } = this.deps.self;
    const others = this.others().filter((relay) => relay.configuration === configuration);
    return shareLanes(groups, held, others);
  }

  /** Announces this relay, and learns which others run. `isHeld` counts more than the store. Rejects as the store does. */
  async announce(isHeld: (group: string) => boolean): Promise<void> {
    const { store, self, report, leaseMs } = this.deps;
    this.#relays = await store.announceRelay({ ...self, report: report?.() }, leaseMs);
    const own = this.#relays.find(({ id }) => id === self.id);
    const before = this.#configuration;
    this.#configuration = own === undefined ? "newest" : judgeConfiguration(own, this.#relays);
    if (this.#configuration !== before) this.#logConfiguration(own?.configurationVersion ?? 0);
    this.#noteUnheld(isHeld);
    // Repeated each time: alerts that were on their way to the disk the last time must be left too.
    if (!this.isNewest()) await store.leaveRouting?.(true);
    else if (before !== "newest") await store.leaveRouting?.(false);
  }

  /**
   * A text that changes each hour, and when another configuration may have lost its last relay. Undefined: a later configuration
   * ran here within the last day. Deliveries to destinations that only it has wait for a relay with it.
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
 * An even share of the lane groups: each relay holds as many as the others, or one more. A relay hands over no more than the
 * others lack, so lanes do not move in circles.
 * @returns how many groups to hold at most, and how many of the held ones to hand over
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
  // While one relay lacks groups, the others take no more than their share. They would take what was handed over for that relay.
  return { most: lacking > 0 ? fewest : evenly, handOver: Math.max(0, forOthers, held - evenly) };
}
