import { type DestinationStream, destination, pino } from "pino";
import type { Log } from "../core/log.ts";
import { createRedactor, type Redact } from "../ground/text/redact.ts";

export interface HidingLog extends Log {
  /** These texts must never appear from now on, whatever they come in with: each becomes `***`. */
  hide(secrets: readonly string[]): void;
}

/**
 * One JSON line an event: `{"level","time","event",…}`. JSON escapes line breaks and control characters, so a hostile
 * field stays within its line; U+2028 and U+2029 are escaped as well.
 *
 * @param level pino's levels, and `silent`
 * @param stream default: standard error, since standard output belongs to what a command returns
 */
export function createLog(level: string, stream: DestinationStream = openStandardError()): HidingLog {
  const hidden = new Set<string>();
  // A shorter one may be the value of a harmless header, and is found in every other line.
  const createOwn = () => createRedactor([...hidden], { leastLength: 6 });
  let redact = createOwn();
  const guarded: DestinationStream = { write: (line) => stream.write(hide(line, redact)) };
  const logger = pino(
    {
      level,
      base: undefined,
      messageKey: "event",
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    guarded,
  );
  return {
    debug: (event, fields) => logger.debug(fields ?? {}, event),
    info: (event, fields) => logger.info(fields ?? {}, event),
    warn: (event, fields) => logger.warn(fields ?? {}, event),
    error: (event, fields) => logger.error(fields ?? {}, event),
    hide(more) {
      for (const secret of more) hidden.add(secret);
      redact = createOwn();
    },
  };
}

/** Bytes of lines that could not be written; what comes behind them is dropped. */
const mostUnwritten = 1024 * 1024;

/**
 * A log that cannot be written (its disk is full, its terminal is gone) must not end what it is about, as an error that
 * nobody listens for would. The lines are tried again with each that follows.
 */
function openStandardError(): DestinationStream {
  const stream = destination({ fd: 2, sync: true, maxLength: mostUnwritten });
  stream.on("error", () => {});
  return stream;
}

/** The last line of defence: no caller logs a secret, and if one did it would not get out. */
function hide(line: string, redact: Redact): string {
  return redact(line.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029"));
}
