import type { Outcome } from "../core/delivery.ts";
import type { Destination } from "../core/rules.ts";
import type { PaceRecord } from "../core/store.ts";
import { accountOf, chatKeyOf } from "./accounts.ts";
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
  if (outcome.kind !== "retry" || outcome.movedTo !== undefined || !outcome.waitMs) return [];
  const until = now + outcome.waitMs;
  const account = accountOf(destination);
  const chat = chatKeyOf(destination, recipient);
  const flooded = outcome.reason === "rate_limited" && floods.note(account ?? chat, chat, now);
  const parked = [pacer.park(chat, until, outcome.detail)];
  if (account !== undefined && (outcome.scope === "account" || flooded))
    parked.push(pacer.park(account, until, outcome.detail));
  return parked;
}
