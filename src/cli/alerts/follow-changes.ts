import { createParser } from "eventsource-parser";
import { AppError } from "../../core/errors.ts";
import { isTimeout, startTimeLimit } from "../../ground/net/time-limit.ts";
import { type RelayClient, RelayUnreachable } from "../relay/relay-client.ts";
import type { CliContext } from "../shell/context.ts";

/** The relay says something at least every 15 seconds; a connection that is silent for longer is dead. */
const silenceMs = 45_000;
const longestPauseMs = 10_000;

export interface FollowOptions {
  /**
   * The stream is open for the first time: it has whatever changes from now on. Returns the version of the log to
   * resume by, should the connection break before the first event.
   */
  onOpen(): Promise<string>;
  onEvent(event: StreamEvent): Promise<void>;
  /** It broke; it is opened again after `pauseMs`, and goes on where it was. */
  onBreak(why: string, pauseMs: number): Promise<void>;
}

/**
 * Follows the relay's event stream until the context's signal ends it, over restarts of the relay: it resumes by the
 * id of the last event. Throws what the relay refuses with, and `relay_unreachable` when nothing answers the first
 * time.
 */
export async function followChanges(
  { signal, sleep }: Pick<CliContext, "signal" | "sleep">,
  client: RelayClient,
  { onOpen, onEvent, onBreak }: FollowOptions,
): Promise<void> {
  let lastEventId: string | undefined;
  let wasOpen = false;
  let pauseMs = 1_000;
  while (!signal.aborted) {
    const silence = startTimeLimit(silenceMs, signal);
    let why = "the relay has ended the connection";
    try {
      const stream = await client.openStream(lastEventId, silence.signal);
      silence.restart();
      if (!wasOpen) lastEventId = await onOpen();
      wasOpen = true;
      for await (const event of readEvents(stream, silence.restart)) {
        lastEventId = event.lastEventId ?? lastEventId;
        pauseMs = 1_000;
        if (event.type === "stopping") why = "the relay is being stopped";
        else await onEvent(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!wasOpen || !isBreak(error)) throw error;
      if (error instanceof AppError) why = error.message;
    } finally {
      silence.clear();
    }
    if (signal.aborted) return;
    await onBreak(why, pauseMs);
    await sleep(pauseMs, signal).catch(() => {});
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

/** Of a connection that was open: it is gone, or the relay is just starting, being stopped or full. */
function isBreak(error: unknown): boolean {
  if (error instanceof RelayUnreachable) return true;
  const code = (error as AppError).code;
  if (code === "store_unavailable" || code === "relay_stopping" || code === "failed") return true;
  // What the body of a broken connection throws is a TypeError ("terminated"), that of a silent one our time limit.
  return error instanceof TypeError || isTimeout(error) || (error instanceof Error && error.name === "AbortError");
}

/** One server-sent event. */
export interface StreamEvent {
  /** `message` when the server names none. */
  type: string;
  data: string;
  /** What to resume by: the last id that an event had so far. */
  lastEventId?: string;
}

/**
 * Reads server-sent events (WHATWG HTML, 9.2.6). `onSign` is called for whatever arrives, comments among it, to know
 * that the other side is alive. Memory is bounded by the longest event. The id of a block without data, which the relay
 * never sends, is lost.
 */
export async function* readEvents(
  stream: ReadableStream<Uint8Array>,
  onSign: () => void = () => {},
): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let lastEventId: string | undefined;
  let events: StreamEvent[] = [];
  const parser = createParser({
    onEvent({ event: type = "message", data, id }) {
      lastEventId = id ?? lastEventId;
      events.push({ type, data, lastEventId });
    },
  });
  for await (const chunk of stream) {
    onSign();
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* events;
    events = [];
  }
}
