import { errorText } from "../ground/text/error-text.ts";

/** One wide event per step, with ids, durations, reasons. Never a secret or a webhook path. */
export type Log = Record<
  "debug" | "info" | "warn" | "error",
  (event: string, fields?: Record<string, unknown>) => void
>;

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

export const logFailure =
  (log: Pick<Log, "error">, event: string, fields?: Record<string, unknown>) =>
  (error: unknown): void =>
    log.error(event, { ...fields, error: errorText(error) });
