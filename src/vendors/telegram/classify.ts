import type { Outcome, ReasonCode } from "../../core/delivery.ts";
import { isDnsCode, isTlsCode, nameNetworkCode } from "../../ground/net/network-code.ts";
import type { Answer, Refusal } from "./bot-api.ts";

/** An outcome to report, or a request to try again without an optional part. */
export type Verdict = Exclude<Outcome, { kind: "sent" }> | { kind: "done" } | { kind: "without"; part: Optional };

const floodMarginMs = 500;
const oddFloodWaitMs = 5_000;

/** Judges every answer but success. Pure. The caller still removes secrets from `detail`. */
export function classify(answer: Exclude<Answer, { kind: "ok" }>): Verdict {
  switch (answer.kind) {
    case "refused":
      return classifyRefusal(answer);
    case "unreadable":
      if (answer.httpStatus === 429) return floodVerdict("HTTP 429 from something in between", oddFloodWaitMs);
      return {
        kind: "ambiguous",
        reason: answer.httpStatus >= 500 ? "server_error" : "bad_answer",
        detail: `answered with HTTP ${answer.httpStatus} and something that is not the Bot API's JSON`,
      };
    case "no_answer":
      return answer.left ? classifyLost(answer) : classifyUnsent(answer);
  }
}

function classifyRefusal(refusal: Refusal): Verdict {
  const detail = `Telegram: ${refusal.errorCode} ${refusal.description}`.trimEnd();
  const movedTo = chatIdOf(refusal.migrateToChatId);
  if (movedTo !== undefined) {
    return { kind: "retry", reason: "address_moved", detail: `the group is now ${movedTo}`, movedTo, waitMs: 0 };
  }
  const { errorCode } = refusal;
  if (errorCode === 429) return floodVerdict(detail, floodWaitMs(refusal));
  if (errorCode === 401 || errorCode === 404) {
    const hint = `${detail} (is the bot token valid?)`;
    return { kind: "rejected", scope: "account", reason: "auth_failed", detail: hint };
  }
  if (errorCode === 403) return lookUp(destinationRows, refusal, detail, rejected("destination", "no_rights"));
  // Another program polls this bot, or its webhook is being changed. The message was not taken, but sending works.
  if (errorCode === 409) return { kind: "retry", reason: "temporary_refusal", detail };
  if (errorCode === 413) return { kind: "rejected", scope: "message", reason: "too_long", detail };
  if (errorCode >= 500) return { kind: "ambiguous", reason: "server_error", detail };
  return lookUp(badRequestRows, refusal, detail, rejected("message", "message_refused"));
}

function lookUp(rows: readonly Row[], refusal: Refusal, detail: string, otherwise: Row["verdict"]): Verdict {
  const description = refusal.description.toLowerCase();
  const row = rows.find(({ says }) => says.some((piece) => description.includes(piece)));
  const verdict = row?.verdict ?? otherwise;
  return verdict.kind === "rejected" ? { ...verdict, detail } : verdict;
}

function floodVerdict(detail: string, waitMs: number): Verdict {
  return { kind: "retry", reason: "rate_limited", detail, waitMs, countsAsAttempt: false, scope: "destination" };
}

/** The wait that Telegram asks for, and half a second more. The description may hold it in place of the parameter. */
function floodWaitMs(refusal: Refusal): number {
  const said = secondsOf(refusal.retryAfter) ?? secondsOf(/retry after (\d+)/i.exec(refusal.description)?.[1]);
  return said === undefined ? oddFloodWaitMs : Math.ceil(said * 1000) + floodMarginMs;
}

/** A billion seconds (thirty years) or more is no wait. */
function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  return typeof seconds === "number" && seconds > 0 && seconds < 1e9 ? seconds : undefined;
}

function chatIdOf(value: unknown): string | undefined {
  const text = typeof value === "number" && Number.isSafeInteger(value) ? String(value) : value;
  return typeof text === "string" && /^-\d{1,19}$/.test(text) ? text : undefined;
}

type NoAnswer = Extract<Answer, { kind: "no_answer" }>;

function classifyUnsent(answer: NoAnswer): Verdict {
  const retry = (reason: ReasonCode, detail: string): Verdict => ({ kind: "retry", reason, detail });
  const code = answer.code ?? "";
  const unsent = `nothing was sent${tailOf(answer)}`;
  if (answer.why === "timed_out" || code === "UND_ERR_CONNECT_TIMEOUT" || code === "ETIMEDOUT")
    return retry("timeout_before_send", `no connection in time; ${unsent}`);
  if (answer.why === "stopped") return retry("process_stopped", "stopped before anything was sent");
  if (isDnsCode(code)) return retry("dns_failed", `the name could not be resolved; ${unsent}`);
  if (isTlsCode(code)) return retry("tls_failed", `no secure connection; ${unsent}`);
  return retry("connect_failed", `could not connect; ${unsent}`);
}

function classifyLost(answer: NoAnswer): Verdict {
  const ambiguous = (reason: ReasonCode, detail: string): Verdict => ({ kind: "ambiguous", reason, detail });
  switch (answer.why) {
    case "timed_out":
      return ambiguous("no_answer", "the request was sent, and no answer arrived in time");
    case "stopped":
      return ambiguous("process_stopped", "stopped after the request had left, before an answer");
    case "network":
      return ambiguous("connection_lost", `the connection broke after the request had left${tailOf(answer)}`);
  }
}

function tailOf({ code = "" }: NoAnswer): string {
  return code === "" ? "" : ` (${nameNetworkCode(code)})`;
}

/** A part of the request that no longer exists at Telegram. The message can go without it. */
export type Optional = "reply" | "topic";

interface Row {
  /** Lower-case parts of the description. One is enough, as Telegram often changes words and capitals. */
  says: readonly string[];
  verdict:
    | { kind: "done" }
    | { kind: "without"; part: Optional }
    | { kind: "rejected"; scope: "message" | "destination"; reason: ReasonCode };
}

function rejected(scope: "message" | "destination", reason: ReasonCode): Row["verdict"] {
  return { kind: "rejected", scope, reason };
}

const destinationRows: readonly Row[] = [
  {
    says: ["was kicked", "was blocked", "not a member", "bot was removed", "user_is_blocked"],
    verdict: rejected("destination", "kicked"),
  },
  {
    says: [
      "chat not found",
      "chat_id is empty",
      "chat_id_invalid",
      "peer_id_invalid",
      "channel_private",
      "channel_invalid",
      "group chat was deactivated",
      "group chat was upgraded",
      "chat was deleted",
      "user is deactivated",
      "user not found",
    ],
    verdict: rejected("destination", "chat_not_found"),
  },
  {
    says: [
      "not enough rights",
      "no rights",
      "need administrator rights",
      "administrator rights",
      "chat_write_forbidden",
      "chat_admin_required",
      "chat_restricted",
      "send_plain_forbidden",
      "right_forbidden",
      "user_banned_in_channel",
    ],
    verdict: rejected("destination", "no_rights"),
  },
];

/** The first matching row counts: `reply_message_id_invalid` also holds `message_id_invalid`. */
const badRequestRows: readonly Row[] = [
  { says: ["message is not modified", "message_not_modified"], verdict: { kind: "done" } },
  {
    says: [
      "message to be replied not found",
      "message to reply not found",
      "replied message not found",
      "reply_message_id_invalid",
      "reply_to_invalid",
    ],
    verdict: { kind: "without", part: "reply" },
  },
  {
    says: ["message to edit not found", "message can't be edited", "message_id_invalid", "message_edit_time"],
    verdict: rejected("message", "edit_target_gone"),
  },
  {
    says: ["message thread not found", "topic_closed", "topic_deleted", "topic_id_invalid", "topic not found"],
    verdict: { kind: "without", part: "topic" },
  },
  {
    says: [
      "can't parse",
      "entity",
      "entities",
      "start tag",
      "end tag",
      "is reserved and must be escaped",
      "wrong http url",
    ],
    verdict: rejected("message", "markup_refused"),
  },
  {
    says: ["too long", "message_too_long", "too_long"],
    verdict: rejected("message", "too_long"),
  },
  {
    says: ["text is empty", "must be non-empty", "message_empty", "text must be"],
    verdict: rejected("message", "empty_text"),
  },
  ...destinationRows,
];
