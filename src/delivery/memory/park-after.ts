import type { Outcome } from "../../core/delivery.ts";
import type { PaceRecord } from "../../core/destination-status.ts";
import type { Destination } from "../../core/rules.ts";
import { accountOf, chatKeyOf } from "../plan/accounts.ts";
import type { FloodWatch } from "./flood-watch.ts";
import type { Pacer } from "./pacing.ts";

/** The other side asked us to call later, as it may with any refusal. Nobody who shares what it is about calls before. */
export function parkAfter(
  outcome: Outcome,
  recipient: string,
  now: number,
  deps: { destination: Destination; pacer: Pacer; floods: FloodWatch },
): PaceRecord[] {
  const { destination, pacer, floods } = deps;
  const waitMs = askedWait(outcome, destination);
  if (!waitMs) return [];
  const until = now + waitMs;
  const account = accountOf(destination);
  const chat = chatKeyOf(destination, recipient);
  const why = outcome.kind === "sent" ? "" : outcome.detail;
  const parked = [pacer.park(chat, until, why)];
  if (account === undefined || outcome.kind !== "retry") return parked;
  const flooded = outcome.reason === "rate_limited" && floods.note(account, chat, now);
  if (outcome.scope === "account" || flooded) parked.push(pacer.park(account, until, why));
  return parked;
}

/** A mail server that says nothing asks for nothing: the wait after its silence is ours, and about that one mail. */
function askedWait(outcome: Outcome, destination: Destination): number | undefined {
  if (outcome.kind === "retry") return outcome.movedTo === undefined ? outcome.waitMs : undefined;
  return outcome.kind === "ambiguous" && destination.type !== "email" ? outcome.waitMs : undefined;
}
