import { describe, expect, it } from "vitest";
import type { Answer } from "../../src/vendors/telegram/bot-api.ts";
import { classify } from "../../src/vendors/telegram/classify.ts";
import { sayOutcome } from "../support/say-outcome.ts";

const judge = (answer: Answer) => classify(answer as Exclude<Answer, { kind: "ok" }>);
const refused = (errorCode: number, description: string, more: object = {}) =>
  judge({ kind: "refused", errorCode, description, ...more });

function say(verdict: ReturnType<typeof judge>): string {
  if (verdict.kind === "without") return `without ${verdict.part}`;
  return verdict.kind === "done" ? "done" : sayOutcome(verdict);
}

describe("what an answer of Telegram means", () => {
  const badRequests: Record<string, string[]> = {
    "rejected message markup_refused": [
      'can\'t parse entities: Unsupported start tag "x" at byte offset 0',
      "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol",
      "ENTITIES_TOO_LONG",
    ],
    "rejected message too_long": ["message is too long", "MESSAGE_TOO_LONG"],
    "rejected message empty_text": ["message text is empty", "text must be non-empty"],
    "rejected message edit_target_gone": ["message to edit not found", "message can't be edited"],
    "rejected message message_refused": ["a sentence of next year"],
    "rejected destination chat_not_found": [
      "chat not found",
      "CHAT NOT FOUND",
      "group chat was upgraded to a supergroup chat",
    ],
    "rejected destination no_rights": [
      "not enough rights to send text messages to the chat",
      "need administrator rights in the channel chat",
      "CHAT_WRITE_FORBIDDEN",
    ],
    "without reply": ["message to be replied not found", "replied message not found", "REPLY_MESSAGE_ID_INVALID"],
    "without topic": ["message thread not found", "TOPIC_CLOSED", "TOPIC_DELETED"],
    done: ["message is not modified: specified new message content"],
  };
  it.each(Object.entries(badRequests).flatMap(([verdict, all]) => all.map((description) => [description, verdict])))(
    "400 %s: %s",
    (description, verdict) => {
      expect(say(refused(400, `Bad Request: ${description}`))).toBe(verdict);
    },
  );

  it.each([
    [403, "Forbidden: bot was kicked from the supergroup chat", "rejected destination kicked"],
    [403, "Forbidden: bot is not a member of the channel chat", "rejected destination kicked"],
    [403, "Forbidden: bot was blocked by the user", "rejected destination kicked"],
    [403, "Forbidden: a sentence of next year", "rejected destination no_rights"],
    [401, "Unauthorized", "rejected account auth_failed"],
    [404, "Not Found", "rejected account auth_failed"],
    [409, "Conflict: terminated by other getUpdates request", "retry temporary_refusal -"],
    [500, "Internal Server Error", "ambiguous server_error"],
    [502, "Bad Gateway", "ambiguous server_error"],
    [503, "Service Unavailable", "ambiguous server_error"],
  ])("%i %s: %s", (code, description, verdict) => {
    expect(say(refused(code, description))).toBe(verdict);
  });

  it.each([
    [3, "", 3_500],
    [86_400, "", 86_400_500],
    [1_000_000, "", 1_000_000_500],
    [1.5, "", 2_000],
    ["17", "", 17_500],
    [undefined, "Too Many Requests: retry after 41", 41_500],
    ...[undefined, null, 0, -3, Number.NaN, 1e300, "soon", {}].map((asked): [unknown, string, number] => [
      asked,
      "",
      5_000,
    ]),
  ])("429 with retry_after %j and %j waits %i ms and is no attempt", (retryAfter, description, waitMs) => {
    expect(say(refused(429, description, { retryAfter }))).toBe(`retry rate_limited ${waitMs} free`);
  });

  it("follows a group to its supergroup at once, whatever the description says", () => {
    expect(refused(400, "Bad Request: moved", { migrateToChatId: -1001234567890 })).toMatchObject({
      kind: "retry",
      reason: "address_moved",
      movedTo: "-1001234567890",
      waitMs: 0,
    });
  });

  it.each([true, "elsewhere", 12, 1.5, {}])("does not follow a group to %j", (migrateToChatId) => {
    const verdict = refused(400, "Bad Request: group chat was upgraded to a supergroup chat", { migrateToChatId });
    expect(say(verdict)).toMatch(/^rejected destination/);
  });

  it.each([
    [200, "ambiguous bad_answer"],
    [302, "ambiguous bad_answer"],
    [502, "ambiguous server_error"],
    // A proxy that does not speak as the Bot API does.
    [429, "retry rate_limited 5000 free"],
  ])("a page with status %i: %s", (httpStatus, verdict) => {
    expect(say(judge({ kind: "unreadable", httpStatus }))).toBe(verdict);
  });

  it.each([
    ["ECONNREFUSED", "connect_failed"],
    ["EHOSTUNREACH", "connect_failed"],
    [undefined, "connect_failed"],
    ["ENOTFOUND", "dns_failed"],
    ["EAI_AGAIN", "dns_failed"],
    ["CERT_HAS_EXPIRED", "tls_failed"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "tls_failed"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "tls_failed"],
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "tls_failed"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "tls_failed"],
    ["UND_ERR_CONNECT_TIMEOUT", "timeout_before_send"],
    ["ETIMEDOUT", "timeout_before_send"],
  ])("retries when nothing left: %s is %s", (code, reason) => {
    expect(say(judge({ kind: "no_answer", left: false, why: "network", code }))).toBe(`retry ${reason} -`);
  });

  it.each([
    ["timed_out", "no_answer"],
    ["stopped", "process_stopped"],
    ["network", "connection_lost"],
  ] as const)("is ambiguous once the request left: %s is %s", (why, reason) => {
    expect(say(judge({ kind: "no_answer", left: true, why, code: "ECONNREFUSED" }))).toBe(`ambiguous ${reason}`);
  });
});
