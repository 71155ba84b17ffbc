import { encode } from "../../contract/encode.ts";
import { type ViewContext, viewAlert } from "../../contract/make-views.ts";
import { alertView } from "../../contract/views.ts";
import type { Clock } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { AlertLog, ChangeCursor } from "../../core/ports/alert-log.ts";
import type { Signals } from "../../core/ports/signals.ts";
import { turns } from "../../ground/turns.ts";

export interface EventStreamsDeps {
  store: Pick<AlertLog, "listChanges" | "latestChange" | "knowsChange"> & Signals;
  publicUrl: string;
  /** See `WebDeps`. */
  learnedName?: ViewContext["learnedName"];
  clock: Clock;
  log: Log;
}

export interface EventStreamsOptions {
  /** Readers at once. Default 200. */
  maxStreams?: number;
  /** Comments keep proxies from ending a silent stream. Default 15 s. Milliseconds. */
  heartbeatMs?: number;
}

export interface StreamRequest {
  /** Changes after this one are sent; absent: those from now on. */
  after?: ChangeCursor;
  /** Milliseconds from now for which it may go on; the stream ends when none are left. */
  allowedMs(): number;
}

export interface EventStreams {
  /**
   * Resolves when it is known where the stream begins: all that changes from then on is in it.
   * @throws AppError `relay_stopping`, `store_unavailable`; else as the store does
   */
  open(request: StreamRequest): Promise<ReadableStream<Uint8Array>>;
  /** Ends those at once that may not go on any more: their session was ended. */
  closeEnded(): void;
  /** The relay is being stopped: warns the readers, ends all streams, and refuses new ones. */
  close(): void;
}

const batch = 50;
/** A hundred open pages stand at the same change, or a few changes behind: about 100 KB each. */
const mostBatchesKept = 8;
const encoder = new TextEncoder();
const reconnectMs = 2_000;

/** Changes as one piece of a stream, ready to be sent to any number of readers. */
interface ChangeBatch {
  events: Uint8Array<ArrayBuffer>;
  /** The last of them: what its reader goes on from. */
  cursor: ChangeCursor;
}

/**
 * Reads and writes out what follows a change once for all who stand there. What was found stays true for whoever comes
 * later, since what changed meanwhile comes behind it; that nothing was found holds only until the next signal.
 */
function createChangeReader({ store, ...wire }: Omit<EventStreamsDeps, "clock" | "log">) {
  const asked = new Map<ChangeCursor | undefined, Promise<ChangeBatch | undefined>>();
  let askedAt = 0;
  const kept = new Map<ChangeCursor | undefined, ChangeBatch>();

  async function read(after: ChangeCursor | undefined): Promise<ChangeBatch | undefined> {
    await turns.take();
    const alerts = await store.listChanges(after, batch);
    const last = alerts.at(-1);
    if (last === undefined) return undefined;
    const text = alerts
      .map(
        (alert) =>
          `event: alert\nid: ${alert.cursor}\ndata: ${JSON.stringify(encode(alertView, viewAlert(alert, wire)))}\n\n`,
      )
      .join("");
    const found = { events: encoder.encode(text), cursor: last.cursor };
    kept.set(after, found);
    if (kept.size > mostBatchesKept) kept.delete(kept.keys().next().value);
    return found;
  }

  /** @param signals how many changes were signalled: what was asked before the last of them may not know of it. */
  return (after: ChangeCursor | undefined, signals: number): Promise<ChangeBatch | undefined> => {
    const known = kept.get(after);
    if (known !== undefined) return Promise.resolve(known);
    if (askedAt !== signals) asked.clear();
    askedAt = signals;
    const answer = asked.get(after) ?? read(after);
    asked.set(after, answer);
    answer.catch(() => asked.delete(after));
    return answer;
  };
}

/**
 * The log as server-sent events. Each stream keeps nothing but the change that its reader has come to, and asks the
 * store for what changed since when the reader has taken what it was given: a slow reader costs no memory and skips
 * states in between, never an alert.
 */
export function createEventStreams(deps: EventStreamsDeps, options: EventStreamsOptions = {}): EventStreams {
  const { store, clock, log } = deps;
  const { maxStreams = 200, heartbeatMs = 15_000 } = options;
  const closing = new AbortController();
  const open = new Set<{ allowedMs(): number; cancelling: AbortController }>();
  const readBatch = createChangeReader(deps);
  let signals = 0;
  // Before any stream listens, so that each asks with the number of the signal that has woken it.
  store.subscribe("changed", () => {
    signals += 1;
  });

  /** `begin` first; then `next` is pulled by the reader, null at the end. */
  function createReader({ after, allowedMs }: StreamRequest, ended: AbortSignal) {
    let cursor = after;
    let greeting: string | undefined;
    let dismissed = false;
    let wake = () => {};
    let changed = true;
    const forget = store.subscribe("changed", () => {
      changed = true;
      wake();
    });
    ended.addEventListener("abort", () => {
      forget();
      wake();
    });

    const isOver = () => ended.aborted || allowedMs() <= 0;

    async function begin(): Promise<void> {
      // A database that was put back from a copy knows fewer changes than its reader has seen.
      const isAhead = cursor !== undefined && !(await store.knowsChange(cursor));
      if (cursor === undefined || isAhead) cursor = await store.latestChange();
      // With its place, from which a reader goes on that has seen no alert when the connection breaks.
      const type = isAhead ? "reset" : "ready";
      greeting = `retry: ${reconnectMs}\n\nevent: ${type}\nid: ${cursor}\ndata: {}\n\n`;
    }

    async function readChanges(): Promise<Uint8Array<ArrayBuffer> | undefined> {
      const found = await readBatch(cursor, signals);
      if (found === undefined) return undefined;
      cursor = found.cursor;
      // More may have followed since it was read.
      changed = true;
      return found.events;
    }

    async function waitForChange(): Promise<void> {
      const waking = new AbortController();
      wake = () => waking.abort();
      if (!changed && !ended.aborted) await clock.sleep(Math.min(heartbeatMs, allowedMs()), waking.signal);
      wake = () => {};
    }

    async function next(): Promise<string | Uint8Array<ArrayBuffer> | null> {
      if (greeting !== undefined) {
        const text = greeting;
        greeting = undefined;
        return text;
      }
      for (;;) {
        if (closing.signal.aborted && !dismissed) {
          dismissed = true;
          return `event: stopping\nretry: ${reconnectMs}\ndata: {}\n\n`;
        }
        if (isOver()) return null;
        if (changed) {
          changed = false;
          const text = await readChanges();
          if (text !== undefined && !isOver()) return text;
          continue;
        }
        await waitForChange();
        if (changed || isOver()) continue;
        // A signal may have been lost, and others have been told that there is nothing.
        signals += 1;
        const text = await readChanges();
        if (!isOver()) return text ?? ": still here\n\n";
      }
    }

    return { begin, next };
  }

  return {
    async open(request) {
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
      ended.addEventListener("abort", () => {
        open.delete(entry);
      });
      const reader = createReader(request, ended);
      try {
        await reader.begin();
      } catch (error) {
        cancelling.abort();
        throw error;
      }
      return new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            const text = await reader.next().catch((error: unknown) => {
              // Its reader comes back behind what it has seen, and is told then why nothing can be read.
              if (!(error instanceof AppError)) log.error("stream.failed", { error: String(error).slice(0, 300) });
              return null;
            });
            if (text !== null) return controller.enqueue(typeof text === "string" ? encoder.encode(text) : text);
            cancelling.abort();
            controller.close();
          },
          cancel: () => cancelling.abort(),
        },
        { highWaterMark: 0 },
      );
    },
    closeEnded() {
      for (const { allowedMs, cancelling } of open) if (allowedMs() <= 0) cancelling.abort();
    },
    close: () => closing.abort(),
  };
}
