import type { Alert } from "../core/alert.ts";
import type { Block, Inline } from "../core/message.ts";
import type { MessageContext } from "../core/message-context.ts";
import type { HeldBack } from "../core/ring.ts";
import { groupThousands, writeNumber } from "../ground/numbers/format-number.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { addUp } from "../ringing/judge-ring.ts";
import { link, note, pageOfAlert, text, time } from "./inlines.ts";

/** Says why the alert does not ring, or how many alerts of its key did not, since when, and between which values. */
export function writeDamped(
  { id, receivedAt, facts }: Pick<Alert, "id" | "receivedAt" | "facts">,
  { damped, now }: MessageContext,
  publicUrl: string | undefined,
): Block[] {
  if (damped === undefined) return [];
  const { count, sinceAt, lowest, highest, by, why, advice, isSummary } = damped;
  const many = [text(`${groupThousands(count)} since `), time(sinceAt, now)];
  const counted: Inline[] = count === 0 ? [] : [...many, text(`${rangeOf(lowest, highest)} did not ring`)];
  if (by === undefined && !isSummary) return count === 0 ? [] : [note([text("🔕 Before it, "), ...counted])];
  const mend = advise(advice, pageOfAlert(publicUrl, id));
  if (isSummary) {
    const state = facts.status === "resolved" ? "🔕 Calm since " : "🔕 It still fires, nothing new since ";
    const after = counted.length === 0 ? [] : [text("; "), ...counted];
    return [note([text(state), time(receivedAt, now), ...after]), ...mend];
  }
  // The line about an end says only how many alerts it ends.
  if (by === "its_end" && count > 0) return [note([text("🔕 "), ...counted]), ...mend];
  const rest = count > 1 ? [text("; "), ...counted] : [];
  return [note([text(`🔕 Does not ring: ${cleanLine(why)}`), ...rest]), ...mend];
}

/** A part of a longer line: ` · 12, from 22.9 to 24.1, did not ring`. Empty where all rang. */
export function writeUnrung(held: readonly HeldBack[]): string {
  const [first, ...others] = held.filter(({ count }) => count > 0);
  if (first === undefined) return "";
  const { count, lowest, highest } = others.reduce((one, other) => addUp(one, other, undefined), first);
  return ` · ${groupThousands(count)}${rangeOf(lowest, highest)} did not ring`;
}

function rangeOf(lowest: number | undefined, highest: number | undefined): string {
  if (lowest === undefined || highest === undefined) return "";
  const [low, high] = [lowest, highest].map((value) => writeNumber(String(value)));
  return low === high ? `, at ${low},` : `, from ${low} to ${high},`;
}

function advise(advice: string | undefined, page: string | undefined): Block[] {
  if (advice === undefined) return [];
  const muteIt = page === undefined ? [] : [text(" "), link("Mute it", `${page}#mute`)];
  return [note([text(`${cleanLine(advice)}.`), ...muteIt])];
}
