/** One wide event a step. Fields hold ids, durations, reasons; never a secret, never a webhook path. */
export type Log = Record<
  "debug" | "info" | "warn" | "error",
  (event: string, fields?: Record<string, unknown>) => void
>;

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
