import { encode } from "../../contract/encode.ts";
import { type ViewContext, viewAlert } from "../../contract/make-views.ts";
import { alertView } from "../../contract/views/alerts.ts";
import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { AlertLog, ChangeCursor } from "../../core/ports/alert-log.ts";
import type { Signals } from "../../core/ports/signals.ts";
import { RecentMap } from "../../ground/recent-map.ts";
import { errorText } from "../../ground/text/error-text.ts";
import { turns } from "../../ground/turns.ts";

export interface EventStreamsDeps extends ViewContext {
  store: Pick<AlertLog, "listChanges" | "latestChange" | "knowsChange"> & Signals;
  clock: Clock;
  log: Log;
}

export interface StreamRequest {
  /** Changes after this one are sent. Absent: only new changes. */
  after?: ChangeCursor;
  /** Milliseconds from now for which the reader may read. The stream ends at 0. */
  allowedMs(): number;
}

export type EventStreams = ReturnType<typeof createEventStreams>;

const batch = 50;
/** Open pages are at the same change, or a few changes behind. A batch is about 100 KB. */
const mostBatchesKept = 8;
const encoder = new TextEncoder();
const reconnectMs = 2_000;
/** Comments keep proxies from ending a silent stream. */
const heartbeatMs = 15_000;

interface ChangeBatch {
  events: Uint8Array<ArrayBuffer>;
  cursor: ChangeCursor;
}

/** Reads the changes after a cursor once for all readers there. "Nothing found" is kept until the next signal. */
class ChangeReader {
  #asked = new Map<ChangeCursor, Promise<ChangeBatch | undefined>>();
  #kept = new RecentMap<ChangeCursor, ChangeBatch>(mostBatchesKept);

  constructor(private readonly deps: EventStreamsDeps) {
    // Subscribed before any stream, so a stream that a signal wakes reads anew.
    deps.store.subscribe("changed", () => this.askAnew());
  }

  askAnew(): void {
    this.#asked.clear();
  }

  read(after: ChangeCursor): Promise<ChangeBatch | undefined> {
    const known = this.#kept.get(after);
    if (known !== undefined) return Promise.resolve(known);
    const answer = this.#asked.get(after) ?? this.#ask(after);
    this.#asked.set(after, answer);
    answer.catch(() => this.#asked.delete(after));
    return answer;
  }

  async #ask(after: ChangeCursor): Promise<ChangeBatch | undefined> {
    await turns.take();
    const alerts = await this.deps.store.listChanges(after, batch);
    const last = alerts.at(-1);
    if (last === undefined) return undefined;
    const text = alerts
      .map((alert) => {
        const data = JSON.stringify(encode(alertView, viewAlert(alert, this.deps)));
        return `event: alert\nid: ${alert.cursor}\ndata: ${data}\n\n`;
      })
      .join("");
    const found = { events: encoder.encode(text), cursor: last.cursor };
    this.#kept.set(after, found);
    return found;
  }
}

/**
 * The log as server-sent events. A stream keeps only its reader's cursor, so a slow reader costs no memory. It skips
 * states in between, but never an alert. `maxStreams`: readers at once.
 */
export function createEventStreams(deps: EventStreamsDeps, { maxStreams = 200 } = {}) {
  const { store, clock, log } = deps;
  const closing = new AbortController();
  const open = new Set<{ allowedMs(): number; cancelling: AbortController }>();
  const reader = new ChangeReader(deps);

  /** The first piece says where the stream begins. All later changes are in the stream. */
  async function* follow({ after, allowedMs }: StreamRequest, ended: AbortSignal) {
    let changed = true;
    let wake = () => {};
    const forget = store.subscribe("changed", () => {
      changed = true;
      wake();
    });
    ended.addEventListener("abort", () => {
      forget();
      wake();
    });
    const isOver = () => ended.aborted || allowedMs() <= 0;

    // A database that was restored from a copy has fewer changes than its reader has seen.
    const isAhead = after !== undefined && !(await store.knowsChange(after));
    let cursor = after === undefined || isAhead ? await store.latestChange() : after;
    // Sends the cursor at once: a reader without any alert yet continues from it when the connection breaks.
    yield encoder.encode(`retry: ${reconnectMs}\n\nevent: ${isAhead ? "reset" : "ready"}\nid: ${cursor}\ndata: {}\n\n`);
    while (!isOver()) {
      if (!changed) {
        const waking = new AbortController();
        wake = () => waking.abort();
        await clock.sleep(Math.min(heartbeatMs, allowedMs()), waking.signal);
      }
      const isBeat = !changed;
      // A signal may have been lost, and the kept answer may say "nothing found".
      if (isBeat) reader.askAnew();
      changed = false;
      const found = isOver() ? undefined : await reader.read(cursor);
      if (isOver()) break;
      if (found !== undefined) {
        cursor = found.cursor;
        // More changes may have followed since.
        changed = true;
        yield found.events;
      } else if (isBeat) yield encoder.encode(": still here\n\n");
    }
    if (closing.signal.aborted) yield encoder.encode(`event: stopping\nretry: ${reconnectMs}\ndata: {}\n\n`);
  }

  return {
    /**
     * Resolves when the beginning of the stream is known.
     * @throws AppError `relay_stopping`, `store_unavailable`; otherwise as the store does
     */
    async open(request: StreamRequest): Promise<ReadableStream<Uint8Array>> {
      if (closing.signal.aborted) {
        throw new AppError("relay_stopping", "Tocsin is being stopped, so no event stream can be opened.", {
          hint: "Try again when it runs again.",
          retryAfterMs: reconnectMs,
        });
      }
      if (open.size >= maxStreams) {
        throw new AppError("store_unavailable", "No further event stream can be opened now.", {
          hint: "Close pages that nobody looks at, or try again later.",
          retryAfterMs: 10_000,
        });
      }
      const cancelling = new AbortController();
      const entry = { allowedMs: request.allowedMs, cancelling };
      open.add(entry);
      const ended = AbortSignal.any([closing.signal, cancelling.signal]);
      ended.addEventListener("abort", () => open.delete(entry));
      const events = follow(request, ended);
      const begin = await events.next().catch((error: unknown) => {
        cancelling.abort();
        throw error;
      });
      return toReadable(begin.value as Uint8Array, events, { cancelling, log });
    },
    closeEnded(): void {
      for (const { allowedMs, cancelling } of open) if (allowedMs() <= 0) cancelling.abort();
    },
    /** The relay stops: warns the readers, ends all streams, and refuses new ones. */
    close: () => closing.abort(),
  };
}

/** Reads a piece only when the reader has taken the last one. */
function toReadable(
  begin: Uint8Array,
  events: AsyncIterator<Uint8Array, void>,
  { cancelling, log }: { cancelling: AbortController; log: Log },
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(begin),
      async pull(controller) {
        const next = await events.next().catch((error: unknown) => {
          // The reader reconnects after the last change that it has seen, and then gets the reason.
          if (!(error instanceof AppError)) log.error("stream.failed", { error: errorText(error) });
        });
        if (next?.value !== undefined) return controller.enqueue(next.value);
        cancelling.abort();
        controller.close();
      },
      cancel: () => cancelling.abort(),
    },
    { highWaterMark: 0 },
  );
}
