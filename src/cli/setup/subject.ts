import type { Config, SourceSettings } from "../../config/config.ts";
import { loadSourceSecrets } from "../../config/generated-secrets.ts";
import { loadConfig } from "../../config/load-config.ts";
import { requireAlerting, type UpstreamAccess } from "../../config/upstream-env.ts";
import { AppError } from "../../core/errors.ts";
import type { KeptRecords } from "../../core/ports/kept-records.ts";
import { suggestOrList } from "../../ground/text/suggest.ts";
import { withKept } from "../../store/with-kept.ts";
import { type AccountNames, accountNames } from "../../watch/judge-account.ts";
import type { CliContext } from "../shell/context.ts";

/** Whose account setup is about, and which hook it is to send to. */
export interface Subject {
  /** Of a source: its hook's secret stands in the place of the account's. */
  config: Config;
  alerting: UpstreamAccess;
  names: AccountNames;
  /** Secrets, and what setup keeps. */
  kept: KeptRecords;
}

/** @throws AppError `usage` for a source without an account; `config_invalid` where the environment names none. */
export async function withSubject(
  { env, cwd }: CliContext,
  source: string | undefined,
  work: (subject: Subject) => Promise<void>,
): Promise<void> {
  const config = loadConfig({ env, cwd });
  const names = accountNames(source);
  if (source === undefined) {
    const alerting = requireAlerting(env);
    return withKept(config, (kept) => work({ config, alerting, names, kept }));
  }
  const { account: alerting, ...found } = findAccount(config, source);
  return withKept(config, async (kept) => {
    const webhookSecret = (await loadSourceSecrets(kept, [found])).get(source)?.[0];
    await work({ config: { ...config, webhookSecret }, alerting, names, kept });
  });
}

/** @throws AppError `usage` for a source without an account. */
export function findAccount({ sources }: Config, source: string): SourceSettings & { account: UpstreamAccess } {
  const found = sources.find(({ name }) => name === source);
  if (found?.account !== undefined) return { ...found, account: found.account };
  const known = sources.filter(({ account }) => account !== undefined).map(({ name }) => name);
  const hint =
    known.length === 0 ? "give it one: sources.NAME.account with url and apiKey" : suggestOrList(source, known);
  const why = found === undefined ? "is not in the configuration" : "has no account of its own";
  throw new AppError("usage", `the source ${source} ${why}`, { hint });
}
