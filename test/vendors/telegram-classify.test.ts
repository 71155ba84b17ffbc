import { describe, expect, it } from "vitest";
import type { Answer } from "../../src/vendors/telegram/bot-api.ts";
import { classify } from "../../src/vendors/telegram/classify.ts";

const refused = (errorCode: number, description: string, more: Record<string, unknown> = {}): Answer => ({
  kind: "refused",
  errorCode,
  description,
  ...more,
});
const judge = (answer: Answer) => classify(answer as Exclude<Answer, { kind: "ok" }>);

describe("what an answer of Telegram means", () => {
  it.each([
    ["message", "markup_refused", 'Bad Request: can\'t parse entities: Unsupported start tag "x" at byte offset 0'],
    [
      "message",
      "markup_refused",
      "Bad Request: entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol",
    ],
    ["message", "markup_refused", "Bad Request: ENTITIES_TOO_LONG"],
    ["message", "too_long", "Bad Request: message is too long"],
    ["message", "too_long", "Bad Request: MESSAGE_TOO_LONG"],
    ["message", "empty_text", "Bad Request: message text is empty"],
    ["message", "empty_text", "Bad Request: text must be non-empty"],
    ["message", "edit_target_gone", "Bad Request: message to edit not found"],
    ["message", "edit_target_gone", "Bad Request: message can't be edited"],
    ["message", "message_refused", "Bad Request: a sentence of next year"],
    ["destination", "chat_not_found", "Bad Request: chat not found"],
    ["destination", "chat_not_found", "BAD REQUEST: CHAT NOT FOUND"],
    ["destination", "chat_not_found", "Bad Request: group chat was upgraded to a supergroup chat"],
    ["destination", "no_rights", "Bad Request: not enough rights to send text messages to the chat"],
    ["destination", "no_rights", "Bad Request: need administrator rights in the channel chat"],
    ["destination", "no_rights", "Bad Request: CHAT_WRITE_FORBIDDEN"],
  ])("400 refuses the %s as %s: %s", (scope, reason, description) => {
    expect(judge(refused(400, description))).toMatchObject({ kind: "rejected", scope, reason });
  });

  it.each([
    ["kicked", "Forbidden: bot was kicked from the supergroup chat"],
    ["kicked", "Forbidden: bot is not a member of the channel chat"],
    ["kicked", "Forbidden: bot was blocked by the user"],
    ["no_rights", "Forbidden: a sentence of next year"],
  ])("403 closes the destination as %s: %s", (reason, description) => {
    expect(judge(refused(403, description))).toMatchObject({
      kind: "rejected",
      scope: "destination",
      reason,
    });
  });

  it.each([401, 404])("%i pauses the account", (code) => {
    expect(judge(refused(code, "Unauthorized"))).toMatchObject({
      kind: "rejected",
      scope: "account",
      reason: "auth_failed",
    });
  });

  it.each([
    [3, "", 3_500],
    [86_400, "", 86_400_500],
    [1_000_000, "", 1_000_000_500],
    [1.5, "", 2_000],
    ["17", "", 17_500],
    [undefined, "Too Many Requests: retry after 41", 41_500],
    [undefined, "Too Many Requests", 5_000],
    [null, "", 5_000],
    [0, "", 5_000],
    [-3, "", 5_000],
    [Number.NaN, "", 5_000],
    [1e300, "", 5_000],
    ["soon", "", 5_000],
    [{}, "", 5_000],
  ])("429 with retry_after %j and %j waits %i ms and is no attempt", (retryAfter, description, waitMs) => {
    expect(judge(refused(429, description, { retryAfter }))).toMatchObject({
      kind: "retry",
      reason: "rate_limited",
      waitMs,
      countsAsAttempt: false,
      scope: "destination",
    });
  });

  it("follows a group to its supergroup at once, whatever the description says", () => {
    expect(judge(refused(400, "Bad Request: moved", { migrateToChatId: -1001234567890 }))).toMatchObject({
      kind: "retry",
      reason: "address_moved",
      movedTo: "-1001234567890",
      waitMs: 0,
    });
  });

  it.each([true, "elsewhere", 12, 1.5, {}])("does not follow a group to %j", (migrateToChatId) => {
    const verdict = judge(
      refused(400, "Bad Request: group chat was upgraded to a supergroup chat", { migrateToChatId }),
    );
    expect(verdict).toMatchObject({ kind: "rejected", scope: "destination" });
  });

  it("takes an edit that changes nothing as done", () => {
    expect(judge(refused(400, "Bad Request: message is not modified: specified new message content"))).toEqual({
      kind: "done",
    });
  });

  it.each([
    ["reply", "Bad Request: message to be replied not found"],
    ["reply", "Bad Request: replied message not found"],
    ["reply", "Bad Request: REPLY_MESSAGE_ID_INVALID"],
    ["topic", "Bad Request: message thread not found"],
    ["topic", "Bad Request: TOPIC_CLOSED"],
    ["topic", "Bad Request: TOPIC_DELETED"],
  ])("asks to leave out the %s: %s", (part, description) => {
    expect(judge(refused(400, description))).toEqual({ kind: "without", part });
  });

  it("goes on when somebody else polls", () => {
    expect(judge(refused(409, "Conflict: terminated by other getUpdates request"))).toMatchObject({
      kind: "retry",
    });
  });

  it.each([500, 502, 503])("does not know what happened after %i", (code) => {
    expect(judge(refused(code, "Internal Server Error"))).toMatchObject({
      kind: "ambiguous",
      reason: "server_error",
    });
  });

  it.each([
    [200, "bad_answer"],
    [302, "bad_answer"],
    [502, "server_error"],
  ])("does not know what happened after a page with status %i", (httpStatus, reason) => {
    expect(judge({ kind: "unreadable", httpStatus })).toMatchObject({ kind: "ambiguous", reason });
  });

  it("obeys a proxy that answers 429 without the Bot API's JSON", () => {
    expect(judge({ kind: "unreadable", httpStatus: 429 })).toMatchObject({ kind: "retry", waitMs: 5_000 });
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
    expect(judge({ kind: "no_answer", left: false, why: "network", code })).toMatchObject({
      kind: "retry",
      reason,
    });
  });

  it.each([
    ["timed_out", "no_answer"],
    ["stopped", "process_stopped"],
    ["network", "connection_lost"],
  ] as const)("is ambiguous once the request left: %s is %s", (why, reason) => {
    expect(judge({ kind: "no_answer", left: true, why, code: "ECONNREFUSED" })).toMatchObject({
      kind: "ambiguous",
      reason,
    });
  });
});
