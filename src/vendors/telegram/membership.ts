import type { Outcome } from "../../core/delivery.ts";
import { rejected } from "../http/classify.ts";

/** The parts of `getChat` that show whether the bot could write there. */
export interface ChatFacts {
  type?: string;
  title?: string;
  username?: string;
  is_forum?: boolean;
  permissions?: { can_send_messages?: boolean };
}

/** The parts of `getChatMember` about the bot itself. */
export interface MemberFacts {
  status?: string;
  is_member?: boolean;
  can_post_messages?: boolean;
  can_send_messages?: boolean;
  can_manage_topics?: boolean;
}

/** Whether the bot could write to the chat. Pure. */
export function judgeMembership(chat: ChatFacts, member: MemberFacts, topicId: number | undefined): Outcome {
  const name = chat.title === undefined ? "the chat" : `"${chat.title}"`;
  const isGone = member.status === "left" || member.status === "kicked";
  if (isGone || (member.status === "restricted" && member.is_member === false)) {
    return rejected("destination", "kicked", `the bot is not a member of ${name}; add it`);
  }
  if (chat.type === "channel" && member.can_post_messages !== true && member.status !== "creator") {
    const mend = "make it an administrator who may post";
    return rejected("destination", "no_rights", `the bot may not post in the channel ${name}; ${mend}`);
  }
  const muted = member.status === "restricted" && member.can_send_messages === false;
  const groupMuted = member.status === "member" && chat.permissions?.can_send_messages === false;
  if (muted || groupMuted) {
    const mend = "allow it or make it an administrator";
    return rejected("destination", "no_rights", `the bot may not write in ${name}; ${mend}`);
  }
  if (topicId !== undefined && chat.is_forum !== true) {
    return { kind: "sent", note: `${name} has no topics; messages go to the group itself` };
  }
  return { kind: "sent", note: `the bot can write in ${name}` };
}
