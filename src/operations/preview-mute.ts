import { setImmediate as nextTurn } from "node:timers/promises";
import type { LogState, MutePreview, PreviewOptions } from "../contract/operations.ts";
import type { Clock } from "../core/clock.ts";
import type { Json } from "../core/json.ts";
import type { AlertLog, Position, StoredFacts } from "../core/ports/alert-log.ts";
import type { BodyReader } from "../core/ports/body-reader.ts";
import type { Dispatch } from "../core/ports/dispatch.ts";
import { type FieldMatcher, fieldMatchers, type Matcher } from "../core/rules.ts";
import { compileMatchers } from "../matching/judge.ts";
import { parseFieldPath } from "../matching/path.ts";

export interface MutePreviewDeps {
  store: Pick<AlertLog, "listFacts" | "latestChange" | "countAlerts"> & Pick<Dispatch, "findRequests">;
  reader: BodyReader;
  clock: Clock;
  /** Milliseconds that only go forward. Default `performance.now`. */
  monotonicMs?: () => number;
}

const windowMs = 24 * 60 * 60 * 1000;
const mostAlertsByDefault = 10_000;
/** The facts that are read at once: a few milliseconds of the reading thread. */
const pageSize = 512;
/** The most alerts when bodies are needed: each body is read anew, which is a hundred times the work. */
const mostWithBodies = 1_000;
const bodiesAtOnce = 50;
const maxBodyBytesAtOnce = 4 * 1024 * 1024;
const maxBodyBytes = 32 * 1024 * 1024;
/** The event loop is blocked this long at most. Then other work gets its turn. */
const sliceMs = 10;
/** A pattern may take long for a long text. After this time the alerts that were looked at are the answer. */
const mostMs = 3_000;

/** Counts the last 24 hours, the newest alerts first. Gives way between pages, so a new alert waits for one slice. */
export function createMutePreview(deps: MutePreviewDeps) {
  const listNewest = keepNewest(deps.store);
  return async (matchers: Matcher[], options: PreviewOptions = {}): Promise<MutePreview> => {
    const match = compileMatchers(matchers);
    const needsBody = fieldMatchers(matchers).some(looksIntoBody);
    const mostAlerts = Math.min(
      options.mostAlerts ?? mostAlertsByDefault,
      needsBody ? mostWithBodies : Number.POSITIVE_INFINITY,
    );
    const size = needsBody ? bodiesAtOnce : pageSize;
    const preview: MutePreview = { matched: 0, looked: 0, complete: true, since: deps.clock.now() - windowMs };
    const turns = createTurns(deps.monotonicMs ?? (() => performance.now()));
    let bytesLeft = maxBodyBytes;
    for (let before: Position | undefined; ; ) {
      // One more than the limit shows whether there are more.
      const limit = Math.min(size, mostAlerts + 1 - preview.looked);
      const page =
        before === undefined
          ? await listNewest(preview.since, limit, options.asOf)
          : await deps.store.listFacts({ fromAt: preview.since, before, limit });
      const bodies = needsBody ? await readPayloads(deps, page) : undefined;
      bytesLeft -= bodies?.bytes ?? 0;
      for (const { alertSeq, origin, facts } of page) {
        if (preview.looked >= mostAlerts || bytesLeft < 0 || turns.isOver()) return { ...preview, complete: false };
        preview.looked += 1;
        // No mute applies to an unreadable alert.
        if (facts.format === "unreadable") continue;
        if (match.holds({ facts, payload: bodies?.payloads.get(alertSeq), origin })) preview.matched += 1;
        await turns.give();
      }
      if (page.length === 0) return preview;
      before = page.at(-1)?.position;
    }
  };
}

/** Keeps at most a mebibyte of facts while no alert changes, comes or is removed. Too old ones are left out. */
function keepNewest(store: Pick<AlertLog, "listFacts" | "latestChange" | "countAlerts">) {
  let kept: { state: string; fromAt: number; limit: number; page: StoredFacts[] } | undefined;

  return async (fromAt: number, limit: number, asOf?: LogState): Promise<StoredFacts[]> => {
    // Asked before the facts are read: facts that change in between are read again by the next look.
    const asked = asOf === undefined ? [store.latestChange(), store.countAlerts()] : [asOf.version, asOf.counts];
    const state = JSON.stringify(await Promise.all(asked));
    if (kept?.state === state && kept.limit === limit && kept.fromAt <= fromAt) {
      return kept.page.filter(({ receivedAt }) => receivedAt >= fromAt);
    }
    const page = await store.listFacts({ fromAt, limit });
    kept = { state, fromAt, limit, page };
    return page;
  };
}

function looksIntoBody({ field }: FieldMatcher): boolean {
  const parsed = parseFieldPath(field);
  return parsed.ok && parsed.path.kind === "payload";
}

async function readPayloads(
  { store, reader }: MutePreviewDeps,
  page: StoredFacts[],
): Promise<{ payloads: Map<number, Json | undefined>; bytes: number }> {
  const payloads = new Map<number, Json | undefined>();
  let bytes = 0;
  // A body that could not be read when it was routed may take its whole time limit again, and delay all others.
  const readable = page.filter(({ facts }) => facts.format !== "unreadable");
  for (let left = readable.map(({ alertSeq }) => alertSeq); left.length > 0; ) {
    const requests = await store.findRequests(left, maxBodyBytesAtOnce);
    const readings = await reader.read(requests);
    for (const [index, { body, alerts }] of requests.entries()) {
      bytes += body.byteLength;
      const reading = readings[index];
      // The router has no payload of an unreadable body either.
      const translations = reading?.kind === "read" ? reading.translations : [];
      for (const { seq, item } of alerts) payloads.set(seq, translations[item]?.payload);
    }
    const rest = left.filter((seq) => !payloads.has(seq));
    if (rest.length === left.length || bytes > maxBodyBytes) break;
    left = rest;
    await nextTurn();
  }
  return { payloads, bytes };
}

function createTurns(nowMs: () => number) {
  const beganAt = nowMs();
  let sliceBeganAt = beganAt;
  return {
    isOver: () => nowMs() - beganAt > mostMs,
    async give(): Promise<void> {
      if (nowMs() - sliceBeganAt < sliceMs) return;
      await nextTurn();
      sliceBeganAt = nowMs();
    },
  };
}
