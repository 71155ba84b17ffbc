import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../src/ground/text/redact.ts";
import { classifyApprise } from "../../../src/vendors/apprise/send.ts";
import { classifyDiscord, classifyDiscordEdit } from "../../../src/vendors/discord/send.ts";
import type { AnswerContext, Classify } from "../../../src/vendors/http/classify.ts";
import type { Answer } from "../../../src/vendors/http/exchange.ts";
import { classifyNtfy } from "../../../src/vendors/ntfy/send.ts";
import { classifySlack } from "../../../src/vendors/slack/send.ts";
import { classifyTeams } from "../../../src/vendors/teams/send.ts";
import { classifyWebhook } from "../../../src/vendors/webhook/send.ts";
import { sayOutcome } from "../../support/say-outcome.ts";

const nowMs = Date.parse("2026-11-20T12:00:00Z");
const context: AnswerContext = { host: "vendor.example", nowMs, redact: createRedactor(["canary-secret"]) };

type Row = [status: number, body: string | object, expected: string, headers?: Record<string, string>];

function summarise(classify: Classify, [status, body, , headers = {}]: Row): string {
  const answer: Answer = { status, headers, body: typeof body === "string" ? body : JSON.stringify(body) };
  const outcome = classify(answer, context);
  return outcome.kind === "sent" && outcome.ref !== undefined ? `sent ${outcome.ref}` : sayOutcome(outcome);
}

/** The same for every vendor without an idempotency key. */
const common: Row[] = [
  [301, "", "rejected destination address_moved", { location: "https://other.example/" }],
  [307, "", "rejected destination address_moved"],
  [401, "", "rejected destination auth_failed"],
  [403, "", "rejected destination auth_failed"],
  [407, "", "rejected destination auth_failed"],
  [408, "", "retry temporary_refusal -"],
  [410, "", "rejected destination gone"],
  [413, "", "rejected message too_long"],
  [418, "", "rejected message message_refused"],
  [422, "", "rejected message message_refused"],
  [425, "", "retry temporary_refusal -"],
  [429, "", "retry rate_limited 30000 free"],
  [429, "", "retry rate_limited 90000 free", { "retry-after": "90" }],
  [429, "", "retry rate_limited 120000 free", { "retry-after": "Fri, 20 Nov 2026 12:02:00 GMT" }],
  [429, "", "retry rate_limited 500 free", { "retry-after": "0" }],
  [429, "", "retry rate_limited 500 free", { "retry-after": "Fri, 20 Nov 2020 12:02:00 GMT" }],
  [500, "", "ambiguous server_error"],
  [502, "<html>", "ambiguous server_error"],
  [503, "", "retry server_error -"],
  [503, "", "retry server_error 5000", { "retry-after": "5" }],
  [504, "", "ambiguous server_error"],
  [520, "", "ambiguous server_error"],
  [521, "", "retry server_error -"],
  [999, "", "ambiguous bad_answer"],
];

const vendors: Record<string, { classify: Classify; rows: Row[] }> = {
  slack: {
    classify: classifySlack,
    rows: [
      ...common,
      [200, "ok", "sent"],
      [200, { ok: true }, "sent"],
      [200, { success: true }, "sent"],
      [200, { result: "success" }, "sent"],
      [200, "<html>Sign in to the hotel's network</html>", "ambiguous bad_answer"],
      [200, "", "ambiguous bad_answer"],
      [200, { ok: false, error: "no" }, "ambiguous bad_answer"],
      [400, "invalid_payload", "rejected message message_refused"],
      [400, "no_text", "rejected message empty_text"],
      [400, "invalid_token", "rejected destination gone"],
      [403, "action_prohibited", "rejected destination auth_failed"],
      [404, "no_service", "rejected destination gone"],
      [410, "channel_is_archived", "rejected destination gone"],
      [500, "rollup_error", "ambiguous server_error"],
    ],
  },
  discord: {
    classify: classifyDiscord,
    rows: [
      ...common,
      [200, { id: "123" }, "sent 123"],
      [204, "", "sent"],
      [200, "<html>", "ambiguous bad_answer"],
      [200, { id: 5 }, "ambiguous bad_answer"],
      [400, { code: 50035 }, "rejected message message_refused"],
      [400, { code: 50006 }, "rejected message empty_text"],
      [400, { code: 220001 }, "rejected destination address_invalid"],
      [404, { code: 10015 }, "rejected destination gone"],
      [429, { retry_after: 1.337 }, "retry rate_limited 1337 free"],
      [429, { retry_after: 1.337 }, "retry rate_limited 2000 free", { "retry-after": "2" }],
      [429, { retry_after: 64, global: true }, "retry rate_limited 64000 free account"],
      [429, "<html>banned", "retry rate_limited 3600000 free", { "retry-after": "3600" }],
      [429, { retry_after: "soon" }, "retry rate_limited 500 free", { "x-ratelimit-reset-after": "0.5" }],
    ],
  },
  teams: {
    classify: classifyTeams,
    rows: [
      ...common,
      [202, "", "sent"],
      [200, "", "sent"],
      [200, { posted: true }, "sent"],
      [200, "<html>Sign in to the hotel's network</html>", "ambiguous bad_answer"],
      [400, { error: { code: "TriggerInputSchemaMismatch" } }, "rejected message message_refused"],
      [400, { error: { code: "WorkflowTriggerIsNotEnabled" } }, "rejected destination gone"],
      [400, { error: { code: "MissingApiVersionParameter" } }, "rejected destination address_invalid"],
      [400, { error: null }, "rejected message message_refused"],
      [401, { error: { code: "DirectApiAuthorizationRequired" } }, "rejected destination auth_failed"],
      [404, { error: { code: "WorkflowNotFound" } }, "rejected destination gone"],
      [502, { error: { code: "NoResponse" } }, "ambiguous server_error"],
    ],
  },
  "discord edit": {
    classify: classifyDiscordEdit,
    rows: [
      [200, { id: "123" }, "sent 123"],
      [404, { code: 10008 }, "rejected message edit_target_gone"],
      [429, { code: 30046 }, "rejected message edit_target_gone"],
      [404, { code: 10015 }, "rejected destination gone"],
    ],
  },
  ntfy: {
    classify: classifyNtfy,
    rows: [
      ...common,
      [200, { id: "abc", sequence_id: "d1" }, "sent d1"],
      [200, { id: "abc" }, "sent"],
      [200, "<html>", "ambiguous bad_answer"],
      [400, { code: 40009 }, "rejected destination address_invalid"],
      [400, { code: 40007 }, "rejected message message_refused"],
      [404, "", "rejected destination address_invalid"],
      [413, { code: 41301 }, "rejected message too_long"],
      [429, { code: 42901 }, "retry rate_limited 30000 free"],
      [429, { code: 42908 }, "retry rate_limited 900000 free"],
    ],
  },
  apprise: {
    classify: classifyApprise,
    rows: [
      ...common,
      [200, { error: null, details: [] }, "sent"],
      [200, { error: "" }, "sent"],
      [200, "<html>", "ambiguous bad_answer"],
      [200, { error: "nobody" }, "ambiguous bad_answer"],
      [204, "", "rejected destination address_invalid"],
      [404, "", "rejected destination address_invalid"],
      [424, { error: "One or more" }, "ambiguous server_error"],
    ],
  },
  webhook: {
    classify: classifyWebhook,
    rows: [
      ...common.map(([status, body, expected, headers]): Row => {
        return [status, body, expected.replace("ambiguous server_error", "retry server_error -"), headers];
      }),
      [200, "<html>", "sent"],
      [202, "", "sent"],
      [404, "", "retry temporary_refusal -"],
      [405, "", "rejected destination address_invalid"],
      [409, "", "retry temporary_refusal -"],
      [500, "", "retry server_error 5000", { "retry-after": "5" }],
    ],
  },
};

describe.each(Object.entries(vendors))("an answer of %s", (_vendor, { classify, rows }) => {
  it.each(rows.map((row) => ({ row, asked: row[0], body: row[1], headers: row[3] })))(
    "$asked $body $headers",
    ({ row }) => {
      expect(summarise(classify, row)).toBe(row[2]);
    },
  );
});

describe("the words for a person", () => {
  const detailOf = (answer: Partial<Answer>): string => {
    const outcome = classifyWebhook({ status: 400, headers: {}, body: "", ...answer }, context);
    if (outcome.kind === "sent") throw new Error("sent");
    return outcome.detail;
  };

  it("quote the vendor in one line", () => {
    expect(detailOf({ body: "bad\r\n\u001b[31m\u202eshape\u2028!" })).toBe(
      "vendor.example answered 400: bad [31m shape !",
    );
    expect(detailOf({ body: JSON.stringify({ error: "bad shape" }) })).toBe("vendor.example answered 400: bad shape");
  });

  it("do not quote pages of HTML", () => {
    expect(detailOf({ body: "\n<!doctype html><title>502</title>" })).toBe("vendor.example answered 400: an HTML page");
  });

  it("do not quote secrets, nor the half of one at the cut", () => {
    expect(detailOf({ body: `${"x".repeat(152)}canary-secret` })).not.toContain("canary");
    expect(detailOf({ body: '{"message":"\\u0063anary-secret"}' })).toBe("vendor.example answered 400: ***");
  });

  it("name the target of a redirect without its path, and say what to do", () => {
    const detail = detailOf({
      status: 302,
      headers: { location: "https://other.example/hook/canary-secret?x=1" },
    });
    expect(detail).toBe(
      "vendor.example answered 302, a redirect to https://other.example. Redirects are not followed: configure the final address",
    );
  });
});
