/** The built relay with a reading thread that does to a body what the body says (rough-reading-thread.mjs). */
import { sayUrl, startBuiltRelay } from "./built-relay.mjs";

const relay = await startBuiltRelay({ readingThreadEntry: new URL("./rough-reading-thread.mjs", import.meta.url) });
process.on("SIGTERM", () => void relay.stop());
sayUrl(relay);
