/** The built relay with a reading thread that does to a body what the body says (rough-reading-thread.mjs). */

import { loadOrCreateSecrets } from "../../dist/config/generated-secrets.js";
import { loadConfig } from "../../dist/config/load-config.js";
import { createLog } from "../../dist/start/log.js";
import { startRelay } from "../../dist/start/relay.js";
import { withKept } from "../../dist/store/with-kept.js";

const config = loadConfig({ env: process.env, cwd: process.cwd() });
const secrets = await withKept(config, (kept) => loadOrCreateSecrets(kept, config), { isExisting: false });
const relay = await startRelay({
  config,
  secrets,
  log: createLog(config.logLevel),
  readingThreadEntry: new URL("./rough-reading-thread.mjs", import.meta.url),
});
process.on("SIGTERM", () => void relay.stop());
process.stdout.write(`${JSON.stringify({ data: { url: relay.localUrl } })}\n`);
