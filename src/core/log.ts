import { errorText } from "../ground/text/error-text.ts";

/** One wide event a step. Fields hold ids, durations, reasons; never a secret, never a webhook path. */
export type Log = Record<
  "debug" | "info" | "warn" | "error",
  (event: string, fields?: Record<string, unknown>) => void
>;

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Logs what was thrown, e.g. by a look that is made again. */
export const logFailure =
  (log: Pick<Log, "error">, event: string, fields?: Record<string, unknown>) =>
  (error: unknown): void =>
    log.error(event, { ...fields, error: errorText(error) });
