import type { RunningRelay, Trouble } from "../contract/operations.ts";
import { judgeConfiguration } from "../core/judge-configuration.ts";
import { dutiesGroup } from "../core/ports/lanes.ts";
import type { RelayView } from "../core/ports/relays.ts";
import { groupBy } from "../ground/group-by.ts";

export interface RelaysDeps {
  relays(): readonly RelayView[];
  selfId: string;
  laneGroups(): ReadonlyMap<string, readonly string[]>;
  /** Only one relay uses the database, and has all lanes. */
  isAlone: boolean;
}

/** A relay without a report for this long (usual: 3 s) is shown as not heard of. After 15 s others take over. */
const unheardAfterMs = 8_000;

/** This relay first, then by name and start. */
export function viewRelays({ relays, selfId, laneGroups, isAlone }: RelaysDeps): RunningRelay[] {
  const known = relays();
  const names = distinctNames(known);
  const groups = laneGroups();
  // All times are by the database's clock.
  const lastSeenAt = Math.max(...known.map(({ seenAt }) => seenAt));
  const views = known.map((relay): RunningRelay => {
    const { id, version, startedAt, seenAt, configurationVersion, lanes, lanesSince, report } = relay;
    const held = isAlone ? [...groups.keys()] : lanes;
    return {
      id,
      name: names.get(id) ?? relay.name,
      version,
      startedAt,
      seenAt,
      isSelf: id === selfId,
      configuration: judgeConfiguration(relay, known),
      configurationVersion,
      destinations: held.flatMap((group) =>
        (groups.get(group) ?? []).map((destination) => ({ name: destination, since: lanesSince?.[group] })),
      ),
      watches: isAlone || lanes.includes(dutiesGroup),
      ready: report?.ready,
      ...(lastSeenAt - seenAt > unheardAfterMs && { unheardMs: lastSeenAt - seenAt }),
      reasons: report?.reasons ?? [],
      accepted: report?.accepted,
      spooled: report?.spooled,
    };
  });
  return views.sort((one, other) => {
    if (one.isSelf !== other.isSelf) return one.isSelf ? -1 : 1;
    return one.name < other.name ? -1 : one.name > other.name ? 1 : one.startedAt - other.startedAt;
  });
}

/** Relays of one machine differ by their ports. Equal names get the end of the relay's id. */
function distinctNames(relays: readonly RelayView[]): Map<string, string> {
  const names = new Map(relays.map(({ id, name }) => [id, name]));
  const additions = [
    ({ report }: RelayView) => (report?.port === undefined ? "" : `:${report.port}`),
    ({ id }: RelayView) => ` (${id.slice(-4)})`,
  ];
  for (const addition of additions) {
    for (const [name, alike] of groupBy(relays, ({ id }) => names.get(id))) {
      if (alike.length > 1) for (const relay of alike) names.set(relay.id, `${name}${addition(relay)}`);
    }
  }
  return names;
}

/** The relay that delivers to each destination, by the destination's name. Empty while one relay runs alone. */
export function holdersOf(relays: readonly RunningRelay[]): Map<string, string> {
  if (relays.length < 2) return new Map();
  return new Map(relays.flatMap(({ name, destinations }) => destinations.map((one) => [one.name, name] as const)));
}

/** The same on every relay, as a reader may reach any. A relay's own parts report why it is not ready. */
export function judgeRelays(relays: readonly RunningRelay[]): Trouble[] {
  return relays.flatMap(({ name, isSelf, startedAt, configuration, ready, reasons }): Trouble[] => {
    const about = { kind: "relay", level: "warn", name } as const;
    if (configuration === "older") {
      const notes = ["it accepts alerts, and those with the newer one route and deliver them"];
      return [{ ...about, what: `The relay ${name} has an older configuration`, notes, since: startedAt }];
    }
    if (ready === false && configuration === "newest" && !isSelf)
      return [{ ...about, what: `The relay ${name} is not ready`, notes: [], reason: reasons.join("; ") }];
    return [];
  });
}

/** The lease of a killed relay has ended long before. */
const unheldForMs = 60_000;
const mend = "restart a relay, which asks for it anew; the logs of the relays say why (engine.lanes_failed)";

/** Lane groups that no relay has, although relays with their destinations run. */
export function judgeUnheld(
  unheld: ReadonlyMap<string, number>,
  laneGroups: RelaysDeps["laneGroups"],
  now: number,
): Trouble[] {
  return [...unheld].flatMap(([group, since]): Trouble[] => {
    if (now - since <= unheldForMs) return [];
    const about = { kind: "lane", level: "bad", since } as const;
    if (group === dutiesGroup) {
      const notes = ["nobody looks at the account, silence, gaps and the canary, or sends the heartbeat", mend];
      return [{ ...about, what: "No relay runs the watches", notes }];
    }
    const names = laneGroups().get(group)?.join(", ") ?? group;
    return [{ ...about, what: `No relay delivers to ${names}`, notes: ["what is due there waits", mend] }];
  });
}
