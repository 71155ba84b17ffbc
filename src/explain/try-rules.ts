import { listAlertPage } from "../contract/alert-query.ts";
import { type ViewContext, viewAlertDetail } from "../contract/make-views.ts";
import type { AlertLog } from "../core/ports/alert-log.ts";
import type { BodyReader } from "../core/ports/body-reader.ts";
import { isMadeAtRuntime, type Mute, type Rules } from "../core/rules.ts";
import type { Tally } from "../core/tally.ts";
import { createRouter } from "../routing/router.ts";
import { createBacktest } from "./backtest.ts";

/** The newest; a relay has more to do meanwhile. */
const mostTried = 10_000;
const pageSize = 200;

export interface TryRulesDeps extends ViewContext {
  store: Pick<AlertLog, "listAlertsWithin" | "getAlert">;
  reader: BodyReader;
  listMutes(): Promise<Mute[]>;
}

/** See `WebDeps.tryRules`: what `tocsin backtest` does, in a relay, with its reader and mapping. */
export function createTryRules({ store, reader, listMutes, ...context }: TryRulesDeps) {
  return async (rules: Rules, from: number): Promise<Tally> => {
    const mutes = (await listMutes()).filter(isMadeAtRuntime);
    const backtest = createBacktest({ ...rules, reader, router: createRouter(rules), mapping: {}, mutes });
    let left = mostTried;
    let cursor: Parameters<typeof listAlertPage>[2]["cursor"];
    do {
      const page = await listAlertPage(store, { from }, { limit: Math.min(left, pageSize), cursor });
      for (const { id, origin, routedAt, repeatOf } of page.alerts) {
        if (origin !== "hook" || routedAt === undefined || repeatOf !== undefined) continue;
        const alert = await store.getAlert(id);
        if (alert !== undefined) await backtest.add(viewAlertDetail(alert, context));
      }
      left -= page.alerts.length;
      cursor = page.nextCursor;
    } while (cursor !== undefined && left > 0);
    return backtest.tally();
  };
}
