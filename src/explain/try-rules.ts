import { AppError } from "../core/errors.ts";
import type { AlertLog } from "../core/ports/alert-log.ts";
import type { BodyReader } from "../core/ports/body-reader.ts";
import { isMadeAtRuntime, type Mute, type Rules } from "../core/rules.ts";
import type { Tally } from "../core/tally.ts";
import { createRouter } from "../routing/router.ts";
import { Backtest } from "./backtest.ts";
import { walkPast } from "./past-pages.ts";

/** The newest alerts that are tried: the relay has other work to do. */
const mostTried = 10_000;

export interface TryRulesDeps {
  store: Pick<AlertLog, "listPast">;
  reader: BodyReader;
  listMutes(): Promise<Mute[]>;
}

/** See `WebDeps.tryFile`: what `tocsin backtest` does, in a relay, with its reader and mapping, once at a time. */
export function createTryRules({ store, reader, listMutes }: TryRulesDeps) {
  async function tryRules(rules: Rules, fromAt: number): Promise<Tally> {
    const mutes = (await listMutes()).filter(isMadeAtRuntime);
    const backtest = new Backtest({ rules, reader, router: createRouter(rules), mapping: {}, mutes });
    for await (const page of walkPast(store, { fromAt, most: mostTried })) await backtest.add(page);
    return backtest.tally(mostTried);
  }

  let isTrying = false;
  return async (...asked: Parameters<typeof tryRules>): Promise<Tally> => {
    if (isTrying)
      throw new AppError("conflict", "Another file is being compared at this moment.", {
        hint: "Send it again in some seconds.",
      });
    isTrying = true;
    return tryRules(...asked).finally(() => {
      isTrying = false;
    });
  };
}
