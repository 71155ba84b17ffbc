import { type EventSourceMessage, EventSourceParserStream } from "eventsource-parser/stream";
import type { AlertView } from "../../contract/operations.ts";
import { standingOf } from "../../contract/words.ts";
import type { Severity } from "../../core/alert.ts";
import { isSettled } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import { isTimeout, startTimeLimit } from "../../ground/net/time-limit.ts";
import { isNumberIn } from "../../ground/numbers/format-number.ts";
import { toSeconds } from "../../ground/time/time-format.ts";
import { RelayUnreachable } from "../../http/call-relay.ts";
import { describeDeliveries, shortId, toneOfOutcome, urgencyCell, wordsOf } from "../../panels/log.ts";
import type { Cell } from "../../panels/panel.ts";
import { factsOf, say } from "../../panels/sections.ts";
import { numberBeside } from "../../rendering/value-line.ts";
import { connectRelay, type RelayClient, type RelayRun } from "../relay/connect-relay.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import { readFullPage, type TailOptions } from "./alerts.ts";

export async function tailAlerts(run: RelayRun, { lines, severity, destination }: TailOptions): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  const { alertView } = await import("../../contract/views/alerts.ts");
  const { encode } = await import("../../contract/encode.ts");
  const linesFor = createTailLines(output);
  /** Versions of the listed alerts: the stream may repeat them. */
  const listed = new Map<string, number>();

  await output.list(async (write) => {
    const print = (alert: AlertView) => write([encode(alertView, alert)], () => linesFor(alert));
    try {
      for await (const { event, data } of followChanges(context, client, output.note)) {
        if (event === "open" && lines > 0) {
          const page = await readFullPage(client, { severity, destination }, context.signal, { limit: lines });
          for (const alert of page.data.reverse()) {
            listed.set(alert.id, alert.version);
            await print(alert);
          }
          if (page.data.length === 0) await output.note("no such alerts yet; waiting for the first");
        }
        if (event === "reset") {
          listed.clear();
          await output.note("the relay's database was put back from a copy; going on from there");
        }
        if (event !== "alert") continue;
        const alert = alertView.parse(JSON.parse(data));
        if (alert.version <= (listed.get(alert.id) ?? -1)) continue;
        if (isWanted(alert, severity, destination)) await print(alert);
      }
    } catch (error) {
      if (!context.signal.aborted) throw error;
    }
    return undefined;
  });
}

function isWanted(alert: AlertView, severity?: Severity, destination?: string): boolean {
  if (severity !== undefined && alert.severity !== severity) return false;
  if (destination === undefined) return true;
  return alert.deliveries.some((delivery) => delivery.destination === destination);
}

const remembered = 1_000;

/** An alert has a line `→` when it came, and one `←` when it has ended. Only news come in between (`isNews`). */
function createTailLines(output: Output): (alert: AlertView) => string {
  const endings = new Map<string, string | undefined>();
  let day = "";

  /** Times on a terminal are short, so each day has a line of its own. In a pipe each line has the whole time. */
  function line(mark: string, { id }: AlertView, at: number, words: Cell): string {
    const time = toSeconds(at);
    if (output.width === undefined) return output.draw(factsOf([[`${mark} ${time}  ${id}`, words]]));
    const next = time.slice(0, 10);
    const head = day === next ? "" : `${output.style("dim", `${next} (UTC)`)}\n`;
    day = next;
    return head + output.draw(factsOf([[`${mark} ${time.slice(11, 19)}  ${shortId(id)}`, words]]));
  }

  return (alert) => {
    if (alert.routedAt === null) return "";
    const isNew = !endings.has(alert.id);
    const ending = isNews(alert) ? describeDeliveries(alert) : undefined;
    const before = endings.get(alert.id);
    endings.delete(alert.id);
    endings.set(alert.id, ending);
    if (endings.size > remembered) endings.delete(endings.keys().next().value ?? "");
    const came = isNew ? line("→", alert, alert.receivedAt, whatCame(alert)) : "";
    if (ending === undefined || ending === before) return came;
    const endedAt = Math.max(alert.routedAt, ...alert.deliveries.map(({ finishedAt = 0 }) => finishedAt));
    return came + line("←", alert, endedAt, { chip: ending, tone: toneOfOutcome(alert) });
  };
}

/** An alert that is over is not urgent, whatever its severity was. */
function whatCame(alert: AlertView): Cell {
  const word = alert.status === "resolved" ? alert.status : (alert.severity ?? "unknown");
  const amount = amountOf(alert);
  const space = " ".repeat(Math.max(0, 8 - word.length));
  return say`${urgencyCell(word)}${{ words: space }}  ${wordsOf(alert)}${amount !== "" && `  ${amount}`}`;
}

/** A delivery that is due this long after the alert came is late, and is shown before it ends. */
const lateMs = 60_000;

/** News are an end everywhere, a failure or a late delivery. The last two do not wait for other deliveries. */
function isNews(alert: AlertView): boolean {
  const standing = standingOf(alert);
  const open = standing.filter((delivery) => !isSettled(delivery));
  if (open.some(({ state }) => state !== "waiting")) return false;
  const isLate = ({ dueAt }: { dueAt?: number }) => dueAt !== undefined && dueAt - alert.receivedAt >= lateMs;
  return open.every(isLate) || standing.some(({ state }) => state === "failed" || state === "expired");
}

/** `24,318,772.1 USD`. Empty without a value, and where the alert's words already have it. */
function amountOf(alert: Pick<AlertView, "facts" | "headline" | "title">): string {
  const { facts } = alert;
  const { value, unit } = facts ?? {};
  if (facts === null || value === undefined) return "";
  if (isNumberIn(wordsOf(alert), value, { besides: [value, facts.threshold] })) return "";
  const shown = numberBeside(value, facts);
  return unit === undefined ? shown : `${shown} ${unit}`;
}

/** The relay sends something at least every 15 seconds: a connection that is silent for longer is dead. */
const silenceMs = 45_000;
const longestPauseMs = 10_000;

/**
 * The relay's events, over its restarts, until the signal aborts with an error. A new connection resumes by the id of
 * the last event. `onBreak` gets reason and pause in words. Throws the relay's refusals, and `relay_unreachable` when
 * nothing answers the first time.
 */
async function* followChanges(
  { signal, sleep }: Pick<CliContext, "signal" | "sleep">,
  client: RelayClient,
  onBreak: (words: string) => Promise<void>,
): AsyncGenerator<EventSourceMessage> {
  let lastEventId: string | undefined;
  for (let pauseMs = 1_000; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const silence = startTimeLimit(silenceMs, signal);
    let why = "the relay has ended the connection";
    try {
      const stream = await client.openStream(lastEventId, silence.signal);
      silence.restart();
      if (lastEventId === undefined) {
        // The id to resume by, if the connection breaks before the first event.
        const [newest] = (await client.listAlerts({ limit: 1 })).data;
        lastEventId = String(newest?.version ?? 0);
        yield { event: "open", data: "" };
      }
      for await (const event of readEvents(stream, silence.restart)) {
        silence.restart();
        lastEventId = event.id ?? lastEventId;
        pauseMs = 1_000;
        if (event.event === "stopping") why = "the relay is being stopped";
        else yield event;
      }
    } catch (error) {
      if (signal.aborted || lastEventId === undefined || !isBreak(error)) throw error;
      if (error instanceof AppError) why = error.message;
    } finally {
      silence.clear();
    }
    await onBreak(`${why}; trying again in ${pauseMs / 1_000} s`);
    await sleep(pauseMs, signal);
  }
}

function isBreak(error: unknown): boolean {
  if (error instanceof RelayUnreachable) return true;
  const code = (error as AppError).code;
  if (code === "store_unavailable" || code === "relay_stopping" || code === "failed") return true;
  // A broken connection throws a TypeError ("terminated"), a silent one our time limit.
  return error instanceof TypeError || isTimeout(error) || (error instanceof Error && error.name === "AbortError");
}

/** `onComment`: a sign of life. The memory is bounded by the longest event. */
export function readEvents(stream: ReadableStream<Uint8Array>, onComment?: () => void) {
  return stream.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream({ onComment }));
}
