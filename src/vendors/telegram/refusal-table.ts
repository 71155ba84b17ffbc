import type { ReasonCode } from "../../core/delivery.ts";

/** A part of the request that no longer exists at the other side; the message itself can go without it. */
export type Optional = "reply" | "topic";

export interface Row {
  /** Lower-case pieces of the description, any of which is enough; the vendor rewords and capitalises at will. */
  says: readonly string[];
  verdict:
    | { kind: "done" }
    | { kind: "without"; part: Optional }
    | { kind: "rejected"; scope: "message" | "destination"; reason: ReasonCode };
}

export const destinationRows: readonly Row[] = [
  {
    says: ["was kicked", "was blocked", "not a member", "bot was removed", "user_is_blocked"],
    verdict: { kind: "rejected", scope: "destination", reason: "kicked" },
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
    verdict: { kind: "rejected", scope: "destination", reason: "chat_not_found" },
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
    verdict: { kind: "rejected", scope: "destination", reason: "no_rights" },
  },
];

/** Order matters: the first row that speaks wins (`reply_message_id_invalid` holds `message_id_invalid`). */
export const badRequestRows: readonly Row[] = [
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
    verdict: { kind: "rejected", scope: "message", reason: "edit_target_gone" },
  },
  {
    says: [
      "message thread not found",
      "topic_closed",
      "topic_deleted",
      "topic_id_invalid",
      "topic not found",
    ],
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
    verdict: { kind: "rejected", scope: "message", reason: "markup_refused" },
  },
  {
    says: ["too long", "message_too_long", "too_long"],
    verdict: { kind: "rejected", scope: "message", reason: "too_long" },
  },
  {
    says: ["text is empty", "must be non-empty", "message_empty", "text must be"],
    verdict: { kind: "rejected", scope: "message", reason: "empty_text" },
  },
  ...destinationRows,
];
