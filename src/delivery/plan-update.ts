import type { AlertStatus, Severity } from "../core/alert.ts";
import type { UpdatePolicy } from "../core/rules.ts";
import type { Thread } from "../core/store.ts";

/** One call about an alert. */
export type UpdateStep =
  /** A message of its own. */
  | { action: "send" }
  /** A message that answers an earlier one. */
  | { action: "reply"; ref: string }
  /** Changes an earlier message; nobody is pinged. */
  | {
      action: "edit";
      ref: string;
      /** `self`: the message then tells this alert. `resolution`: it goes on telling its own, and that it is over. */
      shows: "self" | "resolution";
    };

export interface UpdateInput {
  policy: UpdatePolicy;
  canEdit: boolean;
  status: AlertStatus;
  severity: Severity;
  thread?: Thread;
  now: number;
}

/** A repeat this soon after a message that pinged only changes that message. */
const quickRepeatMs = 60_000;
/** A message older than this is out of sight; a new occurrence starts with a message of its own. */
const threadLifeMs = 24 * 60 * 60 * 1000;

const rank: Record<Severity, number> = { critical: 3, warning: 2, info: 1, unknown: 0 };

/**
 * How an alert is told in view of what was already told of the same key. Pure.
 *
 * An edit pings nobody, so what needs attention is never only edited: a rise in severity and a repeat after a minute are
 * new messages, and a resolution both changes the first message and answers it.
 */
export function planUpdate(input: UpdateInput): UpdateStep[] {
  const { thread, policy, canEdit, now } = input;
  if (!thread || policy === "new" || now - thread.lastAt > threadLifeMs) return [{ action: "send" }];
  const answer: UpdateStep = { action: "reply", ref: thread.rootRef };
  if (input.status === "resolved") {
    if (thread.status === "resolved") return quickRepeat(input, thread) ?? [answer];
    const edit: UpdateStep = { action: "edit", ref: thread.rootRef, shows: "resolution" };
    return canEdit && policy !== "reply" ? [edit, answer] : [answer];
  }
  if (thread.status === "resolved") return [{ action: "send" }];
  if (policy === "reply") return [answer];
  return (
    quickRepeat(input, thread) ??
    (policy === "edit" && canEdit && !isWorse(input, thread) ? [editOf(thread)] : [answer])
  );
}

function quickRepeat(input: UpdateInput, thread: Thread): UpdateStep[] | undefined {
  const sinceMs = input.now - thread.lastNewAt;
  // Negative after the clock was set back: who knows how long ago it was, so somebody is told.
  const quick = sinceMs >= 0 && sinceMs < quickRepeatMs;
  return quick && input.canEdit && !isWorse(input, thread) ? [editOf(thread)] : undefined;
}

function editOf(thread: Thread): UpdateStep {
  return { action: "edit", ref: thread.lastRef, shows: "self" };
}

function isWorse(input: UpdateInput, thread: Thread): boolean {
  return rank[input.severity] > rank[thread.severity];
}
