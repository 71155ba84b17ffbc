import { type DestinationStream, destination, pino } from "pino";
import type { Log } from "../core/log.ts";
import { createRedactor, type Redact } from "../ground/text/redact.ts";

export interface HidingLog extends Log {
  /** From now on each of these texts becomes `***` in every line. */
  hide(secrets: readonly string[]): void;
}

/**
 * One JSON line an event: `{"level","time","event",…}`. Escapes keep a hostile field within its line.
 * @param level pino's levels, and `silent` @param stream default: standard error
 */
export function createLog(level: string, stream: DestinationStream = openStandardError()): HidingLog {
  const hidden = new Set<string>();
  // A shorter text may be the value of a harmless header, and would be found in many lines.
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

/** The most bytes of unwritten lines that are kept. Later lines are dropped. */
const mostUnwritten = 1024 * 1024;

/** An error without a listener would end the process, as on a full disk. Later lines try the unwritten ones again. */
function openStandardError(): DestinationStream {
  const stream = destination({ fd: 2, sync: true, maxLength: mostUnwritten });
  stream.on("error", () => {});
  return stream;
}

/** The last defence: no caller should log a secret, and a logged one does not get out. */
function hide(line: string, redact: Redact): string {
  return redact(line.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029"));
}
