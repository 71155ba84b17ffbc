import { findAccount } from "../../config/config.ts";
import { readUpstreamEnv, requireAlerting, requirePricing } from "../../config/upstream-env.ts";
import type { AppError } from "../../core/errors.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import { type AlertingClient, createAlertingClient } from "../../upstream/alerting-client.ts";
import { createPricingClient, type PricingClient } from "../../upstream/pricing-client.ts";
import type { Run } from "../command.ts";
import { readConfig } from "../relay/connect-relay.ts";

/** `source`: its own account is asked. Default: the account of `ALERTING_URL`. */
export type AccountRun = Run<{ source?: string }>;

/** @throws AppError `config_invalid` when the account is not configured */
export async function connectAlerting(run: AccountRun): Promise<AlertingClient> {
  const { context, flags } = run;
  const { source } = flags;
  const access =
    source === undefined ? requireAlerting(context.env) : findAccount(await readConfig(context), source).account;
  return createAlertingClient({ ...access, ...surroundings(run) });
}

/** @throws AppError `config_invalid` when `PRICING_URL` is not configured */
export function connectPricing(run: Run): PricingClient {
  const { env } = run.context;
  const { equitiesPricePath } = readUpstreamEnv(env);
  return createPricingClient({ ...requirePricing(env), ...surroundings(run), equitiesPricePath });
}

function surroundings({ context: { now, random, sleep }, output }: Run) {
  const onRetry = (error: AppError, waitMs: number) => {
    // A note that cannot be printed must not end its request.
    output.note(`${error.message}; trying again in ${lengthOf(waitMs)}`).catch(() => {});
  };
  return { now, random, sleep, onRetry };
}
