import { type EventSourceMessage, EventSourceParserStream } from "eventsource-parser/stream";
import type { AlertView } from "../../contract/operations.ts";
import type { Severity } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import { isTimeout, startTimeLimit } from "../../ground/net/time-limit.ts";
import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import { type RelayClient, RelayUnreachable } from "../relay/relay-client.ts";
import type { CliContext } from "../shell/context.ts";
import { readFullPage } from "./filters.ts";
import { createTailLines } from "./lines.ts";

export interface TailOptions {
  /** How many that are there already. */
  lines: number;
  severity?: Severity;
  destination?: string;
}

/** `tocsin alerts tail`: what is there, then what comes, until Ctrl-C. */
export async function tailAlerts(run: RelayRun, { lines, severity, destination }: TailOptions): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  const list = output.json ? output.openList() : undefined;
  const { alertView } = await import("../../contract/views/alerts.ts");
  const { encode } = await import("../../contract/encode.ts");
  const linesFor = createTailLines(output);
  /** Versions of those that were there already: the stream may bring them once more. */
  const listed = new Map<string, number>();

  const print = async (alert: AlertView) => {
    if (list !== undefined) return list.item(encode(alertView, alert));
    const lines = linesFor(alert);
    if (lines !== "") await output.print(lines);
  };

  const following = followChanges(context, client, {
    // The stream is open before the log is read, so that nothing falls between the two.
    async onOpen() {
      const [newest] = (await client.listAlerts({ limit: 1 })).data;
      const version = String(newest?.version ?? 0);
      if (lines === 0) return version;
      const { data } = await readFullPage(client, { severity, destination }, context.signal, { limit: lines });
      for (const alert of data.reverse()) {
        listed.set(alert.id, alert.version);
        await print(alert);
      }
      if (data.length === 0) await output.note("no such alerts yet; waiting for the first");
      return version;
    },
    async onEvent({ event, data }) {
      if (event === "reset") {
        listed.clear();
        await output.note("the relay's database was put back from a copy; going on from there");
        return;
      }
      if (event !== "alert") return;
      const alert = alertView.parse(JSON.parse(data));
      if (alert.version <= (listed.get(alert.id) ?? -1)) return;
      if (isWanted(alert, severity, destination)) await print(alert);
    },
    onBreak: (why, pauseMs) => output.note(`${why}; trying again in ${pauseMs / 1_000} s`),
  });
  try {
    await following;
  } catch (error) {
    // What was written so far stays one document.
    throw list !== undefined && error instanceof AppError ? await list.fail(error) : error;
  }
  await list?.close();
}

function isWanted(alert: AlertView, severity?: Severity, destination?: string): boolean {
  if (severity !== undefined && alert.severity !== severity) return false;
  if (destination === undefined) return true;
  return alert.deliveries.some((delivery) => delivery.destination === destination);
}

/** The relay says something at least every 15 seconds; a connection that is silent for longer is dead. */
const silenceMs = 45_000;
const longestPauseMs = 10_000;

export interface FollowOptions {
  /**
   * The stream is open for the first time: it has whatever changes from now on. Returns the version of the log to
   * resume by, should the connection break before the first event.
   */
  onOpen(): Promise<string>;
  onEvent(event: EventSourceMessage): Promise<void>;
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
        silence.restart();
        lastEventId = event.id ?? lastEventId;
        pauseMs = 1_000;
        if (event.event === "stopping") why = "the relay is being stopped";
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

/** The server-sent events of a stream. `onComment`: it says nothing, and is there. Memory is bounded by the longest event. */
export function readEvents(stream: ReadableStream<Uint8Array>, onComment?: () => void) {
  return stream.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream({ onComment }));
}
