import type { UnknownGap } from "../../contract/operations.ts";
import { listNames } from "../../core/gaps.ts";

/** Collects why something cannot be told, each reason once with all that it is true of. */
export function createReasons() {
  const groups = new Map<string, { names: Set<string>; crossings: number; rank: number }>();
  return {
    /** @param isFirst the reason concerns everything, so it comes before the others */
    add(what: string, why: string, { crossings = 0, isFirst = false }: { crossings?: number; isFirst?: boolean } = {}) {
      const group = groups.get(why) ?? { names: new Set(), crossings: 0, rank: isFirst ? Number.MAX_VALUE : 0 };
      group.names.add(what);
      group.crossings += crossings;
      if (!isFirst) group.rank = group.crossings;
      groups.set(why, group);
    },
    /** What concerns everything first, then by the crossings that it leaves open. */
    list(): UnknownGap[] {
      return [...groups]
        .sort(([, a], [, b]) => b.rank - a.rank)
        .map(([why, { names, crossings }]) => ({ what: listNames([...names]), why, names: names.size, crossings }));
    },
  };
}

export type Reasons = ReturnType<typeof createReasons>;
