import { loadOrCreateSecrets } from "../../dist/config/generated-secrets.js";
import { loadConfig } from "../../dist/config/load-config.js";
import { secretTextsOf } from "../../dist/config/secret-texts.js";
import { createLog } from "../../dist/start/log.js";
import { startRelay } from "../../dist/start/relay.js";
import { withKept } from "../../dist/store/with-kept.js";

export const config = loadConfig({ env: process.env, cwd: process.cwd() });

/** The built relay in this process, configured by the environment as `serve` is. @param parts that a test puts in the place of its own */
export async function startBuiltRelay(parts) {
  const secrets = await withKept(config, (kept) => loadOrCreateSecrets(kept, config), { isExisting: false });
  const log = createLog(config.logLevel);
  log.hide(secretTextsOf(config, secrets));
  return startRelay({ config, secrets, log, ...parts });
}

/** As `serve --json` does. */
export const sayUrl = ({ localUrl }) => console.log(JSON.stringify({ data: { url: localUrl } }));
