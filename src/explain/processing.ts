import type { Config } from "../config/config.ts";
import type { Alert } from "../core/alert.ts";
import { standingDeliveries } from "../core/delivery.ts";
import type { Log } from "../core/log.ts";
import type { AlertDetail, AlertLog } from "../core/ports/alert-log.ts";
import type { WatchStore } from "../core/ports/watch.ts";
import type { Destination } from "../core/rules.ts";
import type { NameOf } from "../core/subject-name.ts";
import { type Composer, createComposer, firstSource } from "../delivery/lane/compose.ts";
import { createPicturePlan, type PicturePlanDeps } from "../delivery/plan/plan-picture.ts";
import { readPayloads } from "../intake/read-payloads.ts";
import { ReadingThread } from "../intake/thread/body-reader.ts";
import { Translator } from "../intake/translator.ts";
import { createMissingAdvice } from "../matching/near-path.ts";
import { createRendering } from "../rendering/rendering.ts";
import { createTellDecisions, mostReadAgainBytes } from "../routing/kept-routes.ts";
import { createRouter } from "../routing/router.ts";
import { hasSeveralRecipients, readableText, vendorOf } from "../vendors/index.ts";
import type { ComposedMessage } from "../web/web-deps.ts";

export interface ProcessingOptions {
  readingThreadEntry?: URL;
  /** Names the near path where a route asks for a missing one. Default false: it reads the payload of each alert. */
  advises?: boolean;
  /** Says which shape each payload has. Default false. */
  readsShapes?: boolean;
}

export interface ComposerOptions {
  nameOf?: NameOf;
  /** Default: messages have no pictures. */
  pictures?: Omit<PicturePlanDeps, "sources">;
}

export type Processing = ReturnType<typeof createProcessing>;

/**
 * The relay, `explain` and `backtest` are built from these parts, so the commands say what the relay does.
 * @throws what `createRouter` refuses the rules with; then nothing is left running.
 */
export function createProcessing(
  { rules, intake, mapping, sources }: Pick<Config, "rules" | "intake" | "mapping" | "sources">,
  { readingThreadEntry, advises = false, readsShapes = false }: ProcessingOptions = {},
) {
  const router = createRouter(rules, { adviseOnMissing: advises ? createMissingAdvice() : undefined });
  return {
    /** A thread of its own with the limits of the configuration. The caller of `createProcessing` closes it. */
    reader: new ReadingThread({
      entry: readingThreadEntry,
      maxBodyBytes: intake.maxBodyBytes,
      mapping,
      sources,
      readsShapes,
    }),
    translator: new Translator({ mapping, sources, readsShapes }),
    router,
    /** @param publicUrl where the links of messages lead, without a trailing slash */
    createComposer(publicUrl: string, log: Log, { nameOf, pictures }: ComposerOptions = {}): Composer {
      const rendering = createRendering({ publicUrl, nameOf });
      const names = new Set(sources.map(({ name }) => name));
      const planPicture = pictures && createPicturePlan({ ...pictures, sources: names });
      return createComposer({ rendering, log, publicUrl, planPicture });
    },
  };
}

/** The payload of a stored alert, for a page: `too large` where its body is larger than 64 KiB. Never throws. */
export function readStoredPayload({ request }: Pick<AlertDetail, "request">) {
  if (request === undefined) return undefined;
  if (request.body.byteLength > mostReadAgainBytes) return "too large";
  try {
    return { payload: readPayloads(request.body, request.contentType)(request.item) };
  } catch {
    return undefined;
  }
}

/** An alert as the log has it, with a decision for each route. */
export function createGetAlert(
  store: Pick<AlertLog, "getAlert"> & Pick<WatchStore, "loadWatchState">,
): AlertLog["getAlert"] {
  const tellDecisions = createTellDecisions(store, readStoredPayload);
  return async (id) => {
    const alert = await store.getAlert(id);
    return alert && { ...alert, decisions: await tellDecisions(alert) };
  };
}

/** Messages are not kept. Composes the first one of each delivery again, without delays and digests. Never throws. */
export function createComposeAgain(
  composer: Composer,
  destinations: readonly Destination[],
): (alert: AlertDetail) => ComposedMessage[] {
  const byName = new Map(destinations.map((destination) => [destination.name, destination]));

  return (detail) => {
    const { id, origin, receivedAt, facts } = detail;
    if (facts === undefined) return [];
    const alert: Alert = { id, seq: 0, origin, receivedAt, facts };
    const seen = new Set<string>();
    return standingDeliveries(detail.deliveries, hasSeveralRecipients).flatMap((delivery) => {
      const { destination, channel, state, purpose, insteadOf, attempts, digestId } = delivery;
      if (state === "muted" || seen.has(destination)) return [];
      seen.add(destination);
      const known = byName.get(destination);
      const message = { destination, channel, inDigest: digestId !== undefined || state === "digested" };
      if (known === undefined || known.type !== channel) return { ...message, texts: [] };
      const now = attempts.find(({ outcome }) => outcome === "sent")?.at ?? delivery.finishedAt ?? delivery.createdAt;
      const stored = vendorOf(channel).can.carries === "payload" ? readStoredPayload(detail) : undefined;
      const payload = stored === "too large" ? undefined : stored?.payload;
      const source = firstSource(alert, { id: delivery.id, purpose, payload });
      const context = { now, purpose, possibleRepeat: false, insteadOf };
      return { ...message, texts: composer.alert(source, alert, context, known).map(readableText) };
    });
  };
}
