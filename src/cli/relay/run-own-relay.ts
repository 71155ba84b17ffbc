import type { Config } from "../../config/config.ts";
import { givenSecrets, loadOrCreateSecrets, type ServerSecrets } from "../../config/generated-secrets.ts";
import { loadConfig } from "../../config/load-config.ts";
import { secretTextsOf } from "../../config/secret-texts.ts";
import { createLog, type HidingLog } from "../../start/log.ts";
import { startRelay } from "../../start/relay.ts";
import { withKept } from "../../store/with-kept.ts";
import type { CliContext } from "../shell/context.ts";

/** The log hides these secrets from now on. */
export async function secretsOf(config: Config, log: HidingLog): Promise<ServerSecrets> {
  // Configured secrets need no database.
  const found =
    givenSecrets(config) ??
    (await withKept(config, (kept) => loadOrCreateSecrets(kept, config), { isExisting: false }));
  log.hide(secretTextsOf(config, found));
  return found;
}

export type OwnRelay = Awaited<ReturnType<typeof runOwnRelay>>;

/** Runs the relay of the configuration in this process. Its log has only errors, as a person reads the command. */
export async function runOwnRelay(context: CliContext) {
  const { env, cwd, storeThreadEntry, readingThreadEntry, signal: stop } = context;
  const config = loadConfig({ env, cwd });
  // `LOG_LEVEL` adds the events.
  const log = createLog(env.LOG_LEVEL ? config.logLevel : "error");
  // A database that is away is not waited for.
  const secrets = await secretsOf(config, log);
  return { relay: await startRelay({ config, log, secrets, stop, storeThreadEntry, readingThreadEntry }), config };
}
