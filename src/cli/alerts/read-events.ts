import { createParser } from "eventsource-parser";

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
