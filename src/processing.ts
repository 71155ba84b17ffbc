import type { Config } from "./config/config.ts";
import type { Log } from "./core/log.ts";
import type { ReadPayloads } from "./core/ports/body-reader.ts";
import { type Composer, createComposer } from "./delivery/lane/compose.ts";
import { readPayloads } from "./intake/read-payloads.ts";
import { createBodyReader, type ReadingThread } from "./intake/thread/body-reader.ts";
import { createMissingAdvice } from "./matching/near-path.ts";
import { createRendering } from "./rendering/rendering.ts";
import { createRouter, type Router } from "./routing/router.ts";
import { createDocumentRenderer } from "./vendors/index.ts";

export interface ProcessingOptions {
  /** See `BodyReaderOptions`. */
  readingThreadEntry?: URL;
  /** Names the near path where a route asks for a missing one. Default false: it reads the payload of each alert. */
  advises?: boolean;
  /** Says which shape each payload has. Default false. */
  readsShapes?: boolean;
}

/** What a configuration makes of a body: how it is read, where it goes, what people read. Sends and stores nothing. */
export interface Processing {
  /** A thread of its own with the limits of the configuration; whoever made it closes it. */
  reader: ReadingThread;
  readPayloads: ReadPayloads;
  router: Router;
  /** @param publicUrl where the links of messages lead, without a trailing slash */
  createComposer(publicUrl: string, log: Log): Composer;
}

/**
 * Built in one way for the relay and for `explain` and `backtest`, so that these say what it does.
 *
 * @throws what `createRouter` refuses the rules with; then nothing is left running.
 */
export function createProcessing(
  { rules, intake, mapping, sources }: Pick<Config, "rules" | "intake" | "mapping" | "sources">,
  { readingThreadEntry, advises = false, readsShapes }: ProcessingOptions = {},
): Processing {
  const router = createRouter(rules, { adviseOnMissing: advises ? createMissingAdvice() : undefined });
  return {
    reader: createBodyReader({
      entry: readingThreadEntry,
      maxBodyBytes: intake.maxBodyBytes,
      mapping,
      sources,
      readsShapes,
    }),
    readPayloads,
    router,
    createComposer(publicUrl, log) {
      const rendering = createRendering({ publicUrl, renderDocument: createDocumentRenderer() });
      return createComposer({ rendering, log, publicUrl });
    },
  };
}
