/** What came of one call to the Bot API, before anybody judges what it means. Holds no secret. */
export type Answer =
  | { kind: "ok"; result: unknown }
  | Refusal
  | {
      kind: "no_answer";
      /** Whether the request had started to leave this machine. `false` is certain, `true` means "maybe delivered". */
      left: boolean;
      why: "timed_out" | "stopped" | "network";
      /** Code of the network error, e.g. `ECONNREFUSED`. */
      code?: string;
    }
  /** Something answered that did not speak the Bot API: a proxy's page, half a body, a redirect. */
  | { kind: "unreadable"; httpStatus: number };

/** `{"ok":false}` in the Bot API's own words. */
export interface Refusal {
  kind: "refused";
  /** `error_code` of the answer; the HTTP status is the same. */
  errorCode: number;
  description: string;
  /** `parameters` as they came; the vendor leaves them out at times. */
  retryAfter?: unknown;
  migrateToChatId?: unknown;
}
