import { describe } from "vitest";
import { describeAccepting } from "./store/accepting.ts";
import { describeAttempts } from "./store/attempts.ts";
import { describeClaims } from "./store/claims.ts";
import { describeFallbacks } from "./store/fallbacks.ts";
import { describeHolding } from "./store/holding.ts";
import { describeKeys } from "./store/keys.ts";
import { describeLog } from "./store/log.ts";
import { describeMemory } from "./store/memory.ts";
import { describeMutes } from "./store/mutes.ts";
import { describeResends } from "./store/resends.ts";
import { describeRouting } from "./store/routing.ts";
import type { OpenStore } from "./store/scene.ts";
import { describeSearch } from "./store/search.ts";
import { describeSignals } from "./store/signals.ts";
import { describeWhole } from "./store/whole.ts";

/** What every driver of the store port has to do. */
export function describeStore(name: string, open: OpenStore): void {
  describe(`store: ${name}`, () => {
    describeAccepting(open);
    describeRouting(open);
    describeClaims(open);
    describeAttempts(open);
    describeFallbacks(open);
    describeResends(open);
    describeHolding(open);
    describeMemory(open);
    describeLog(open);
    describeSearch(open);
    describeMutes(open);
    describeKeys(open);
    describeSignals(open);
    describeWhole(open);
  });
}
