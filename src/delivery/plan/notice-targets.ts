import type { AlertFacts } from "../../core/alert.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import type { Destination } from "../../core/rules.ts";
import { makesSound, recipientsOf } from "../../vendors/index.ts";

export interface NoticeWorld {
  destinations: readonly Destination[];
  isWell(destination: Destination): boolean;
}

/** The other destinations get a notice when one that seems well has not taken it in this time. */
export const noticeFallbackMs = 30_000;

/**
 * Where a notice goes first: to each destination with `notices: true`. If none of these works, also to each other one that works.
 * If only silent ones work (a mailbox), also to each other one that works and makes a sound. Never to one with `notices: false`.
 * If nothing works, the notice waits at all of them. Where several have the same readers, one gets it: one that works, if
 * possible with a sound. Pure.
 */
export function firstTargets(world: NoticeWorld, facts: AlertFacts): Destination[] {
  const reached = new Set<string>();
  const targets = chooseTargets(world, facts);
  const loudFirst = targets.toSorted((one, other) => Number(makesSound(other)) - Number(makesSound(one)));
  const others = loudFirst.filter((one) => {
    const readers = JSON.stringify([one.type, recipientsOf(one)]);
    if (reached.has(readers)) return true;
    if (world.isWell(one)) reached.add(readers);
    return false;
  });
  return targets.filter((one) => !others.includes(one));
}

function chooseTargets({ destinations, isWell }: NoticeWorld, facts: AlertFacts): Destination[] {
  const chosen = destinations.filter(({ notices }) => notices === true);
  const others = destinations.filter(({ notices }) => notices === undefined);
  const well = others.filter(isWell);
  const reached = chosen.filter(isWell);
  if (reached.length === 0) return [...chosen, ...(well.length > 0 ? well : others)];
  return isHeard(reached, facts) ? chosen : [...chosen, ...well.filter(makesSound)];
}

/**
 * What follows when destinations have failed or not taken a notice in time. Each is tried once, and those that do not work come
 * last. Pure.
 *
 *     one has it (one that makes a sound, while another such works) ──▶ nothing more
 *     on its way to one that works, for less than 30 s              ──▶ look again then
 *     else ──▶ to each other one that works and makes a sound; or that works; or to all others, where it waits
 * @param startedAt of this relay. Before that, maybe no relay was running to send the notice
 * @returns `missed`: destinations that have not taken the notice. `againAt`: the next look; absent where one has it, or there is
 * no other
 */
export function furtherTargets(
  { destinations, isWell }: NoticeWorld,
  { deliveries, decisions, facts }: Pick<AlertDetail, "deliveries" | "decisions" | "facts">,
  now: number,
  startedAt: number,
) {
  const byName = new Map(destinations.map((destination) => [destination.name, destination]));
  const at = (states: readonly string[]) => deliveries.filter(({ state }) => states.includes(state));
  const have = at(["sent", "digested"]).flatMap(({ destination }) => byName.get(destination) ?? []);
  const missed = [...new Set(deliveries.map(({ destination }) => destination))].filter(
    (name) => !have.some((one) => one.name === name),
  );
  // Decisions name the destinations that the notice is about. They are left out.
  const known = new Set([...deliveries, ...decisions].map(({ destination }) => destination));
  const left = destinations.filter(({ name, notices }) => notices !== false && !known.has(name));
  const well = left.filter(isWell);
  const loud = well.filter(makesSound);
  if (have.length > 0 && (loud.length === 0 || facts === undefined || isHeard(have, facts)))
    return { targets: [], missed };
  const openUntil = at(["queued", "waiting", "sending"]).flatMap(({ destination, createdAt }) => {
    const target = byName.get(destination);
    const until = Math.max(createdAt, startedAt) + noticeFallbackMs;
    return target !== undefined && isWell(target) && until > now ? [until] : [];
  });
  if (openUntil.length > 0) return { targets: [], missed, againAt: Math.max(...openUntil) };
  const targets = loud.length > 0 ? loud : well.length > 0 ? well : left;
  return { targets, missed, againAt: targets.length > 0 ? now + noticeFallbackMs : undefined };
}

/** Whether people hear the notice at once. One for information needs no sound. */
function isHeard(reached: readonly Destination[], { severity, status }: AlertFacts): boolean {
  return (severity === "info" && status === "firing") || reached.some(makesSound);
}
