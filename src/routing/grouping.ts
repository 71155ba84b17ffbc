import { type GroupRule, nameGroup } from "../core/group.ts";
import type { GroupOptions, Inhibition, PlannedDelivery, Rules } from "../core/rules.ts";
import { compileMatchers, type MatchInput, SharedMatches } from "../matching/judge.ts";
import { readFact } from "../matching/path.ts";
import { vendorOf } from "../vendors/index.ts";

/** Adds to each delivery of an alert what it may wait for. */
export function compileGroups({ routes, inhibit }: Pick<Rules, "routes" | "inhibit">) {
  const groupOf = new Map(routes.map(({ name, group }) => [name, group]));
  const findCauses = compileInhibitions(inhibit);
  return (deliveries: PlannedDelivery[], input: MatchInput): void => {
    // Programs get each alert at once.
    const waiting = deliveries.filter(({ channel }) => !vendorOf(channel).can.informsPrograms);
    const causes = waiting.length === 0 ? undefined : findCauses(input);
    for (const planned of waiting) {
      const group = findGroup(planned.route, groupOf.get(planned.route), input);
      if (group !== undefined || causes !== undefined) planned.group = { ...causes, group };
    }
  };
}

/** The causes that an alert is, and those that may hold it back. */
type FindCauses = (input: MatchInput) => Pick<GroupRule, "holds" | "heldBy"> | undefined;

function compileInhibitions(inhibitions: readonly Inhibition[] = []): FindCauses {
  if (inhibitions.length === 0) return () => undefined;
  const shared = new SharedMatches();
  const compiled = inhibitions.map((one) => ({
    ...one,
    isCause: compileMatchers(one.while, { shared }),
    isHeld: compileMatchers(one.hold, { shared }),
  }));
  return (input) => {
    // A resolving alert may have other facts than its firing one. Its key decides which causes it ends, and what it waits for.
    if (input.facts.status === "resolved") return { holds: [], heldBy: [] };
    const holds: NonNullable<GroupRule["holds"]> = [];
    const heldBy: string[] = [];
    for (const { name: rule, isCause, isHeld, equal, atMostMs } of compiled) {
      const facts = readFacts(equal, input);
      if (facts.some(([, value]) => value === "")) continue;
      const name = nameGroup("cause", rule, facts);
      if (isCause.holds(input)) holds.push({ name, atMostMs });
      else if (isHeld.holds(input)) heldBy.push(name);
    }
    if (holds.length === 0 && heldBy.length === 0) return undefined;
    return { ...(holds.length > 0 && { holds }), ...(heldBy.length > 0 && { heldBy }) };
  };
}

/** Undefined for an alert that has none of the facts. Two such alerts have nothing in common. */
function findGroup(
  route: string,
  options: GroupOptions | undefined,
  input: MatchInput,
): GroupRule["group"] | undefined {
  if (options === undefined) return undefined;
  const { by, ...times } = options;
  const facts = readFacts(by, input);
  if (facts.every(([, value]) => value === "")) return undefined;
  return { name: nameGroup("group", route, facts), ...times };
}

/** A missing fact is empty. */
function readFacts(names: readonly string[], input: MatchInput): [fact: string, value: string][] {
  return names.map((name) => [name, readFact(name, input) ?? ""]);
}
