import type { Config } from "../../config/config.ts";
import { loadOrCreateSecrets, type ServerSecrets } from "../../config/generated-secrets.ts";
import { loadConfig } from "../../config/load-config.ts";
import { secretTextsOf } from "../../config/secret-texts.ts";
import { createLog } from "../../start/log.ts";
import { type Relay, startRelay } from "../../start/relay.ts";
import { withKept } from "../../store/with-kept.ts";
import type { CliContext } from "../shell/context.ts";

/** Runs the relay of the configuration in this process, for a command that a person reads: its log has errors alone. */
export async function runOwnRelay({
  env,
  cwd,
  storeThreadEntry,
  readingThreadEntry,
  signal: stop,
}: CliContext): Promise<{ relay: Relay; config: Config; secrets: ServerSecrets }> {
  const config = loadConfig({ env, cwd });
  const secrets = await withKept(config, (kept) => loadOrCreateSecrets(kept, config), { isExisting: false });
  // `LOG_LEVEL` brings the events.
  const level = env.LOG_LEVEL ? config.logLevel : "error";
  const log = createLog({ level, secrets: secretTextsOf(config, secrets) });
  const relay = await startRelay({ config, secrets, log, stop, storeThreadEntry, readingThreadEntry });
  return { relay, config, secrets };
}
