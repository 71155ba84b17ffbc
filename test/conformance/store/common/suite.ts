import { describe } from "vitest";
import type { OpenStore } from "../scene.ts";
import { describeAccepting } from "./accepting.ts";
import { describeAttempts } from "./attempts.ts";
import { describeClaims } from "./claims.ts";
import { describeFallbacks } from "./fallbacks.ts";
import { describeCauses, describeGroups } from "./groups.ts";
import { describeHealth } from "./health.ts";
import { describeHolding } from "./holding.ts";
import { describeKeyHistory } from "./key-history.ts";
import { describeKeys } from "./keys.ts";
import { describeLanes } from "./lanes.ts";
import { describeLog } from "./log.ts";
import { describeMemory } from "./memory.ts";
import { describeMutes } from "./mutes.ts";
import { describeRefused } from "./refused.ts";
import { describeRepeats } from "./repeats.ts";
import { describeFailed, describeResends } from "./resends.ts";
import { describeRetention } from "./retention.ts";
import { describeRings } from "./rings.ts";
import { describeRouting } from "./routing.ts";
import { describeSearch } from "./search.ts";
import { describeSignals } from "./signals.ts";
import { describeSilenced } from "./silenced.ts";
import { describeStatistics } from "./statistics.ts";
import { describeToldEnds } from "./told-ends.ts";
import { describeWatch } from "./watch.ts";

const subjects = [
  ...[describeAccepting, describeRouting, describeLanes, describeClaims, describeAttempts],
  ...[describeFallbacks, describeRepeats, describeResends, describeFailed, describeHolding],
  ...[describeMemory, describeLog, describeKeyHistory, describeSearch, describeMutes],
  ...[describeSilenced, describeKeys, describeWatch, describeRefused, describeRetention],
  ...[describeSignals, describeHealth, describeStatistics, describeToldEnds, describeGroups],
  ...[describeCauses, describeRings],
];

/** What every driver of the ports has to do. Nothing here knows a driver, a file, or how positions look. */
export function describeStore(name: string, open: OpenStore): void {
  describe(`store: ${name}`, () => {
    for (const about of subjects) about(open);
  });
}
