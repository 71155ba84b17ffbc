import { type DoorRefusal, type DoorRefusalView, doorRefusals } from "../../contract/operations.ts";
import type { Now } from "../../core/clock.ts";

const hourMs = 3_600_000;
const dayHours = 24;

/**
 * What was turned away at the door, by why and by the hour. Numbers and times alone, of a fixed size: whoever knocks with
 * guesses fills nothing, and nothing of what was sent is kept.
 */
export function createRefusalCounts(now: Now) {
  const counts = new Map(
    doorRefusals.map((reason) => [
      reason,
      {
        total: 0,
        lastAt: undefined as number | undefined,
        hours: Array.from({ length: dayHours }, () => ({ hour: -1, count: 0 })),
      },
    ]),
  );
  return {
    note(reason: DoorRefusal): void {
      const entry = counts.get(reason);
      if (entry === undefined) return;
      const at = now();
      const hour = Math.floor(at / hourMs);
      const slot = entry.hours[((hour % dayHours) + dayHours) % dayHours];
      entry.total += 1;
      entry.lastAt = at;
      if (slot === undefined) return;
      if (slot.hour !== hour) Object.assign(slot, { hour, count: 0 });
      slot.count += 1;
    },
    view(): DoorRefusalView[] {
      const hour = Math.floor(now() / hourMs);
      return [...counts].map(([reason, { total, lastAt, hours }]) => ({
        reason,
        total,
        day: hours.reduce((sum, slot) => sum + (slot.hour > hour - dayHours && slot.hour <= hour ? slot.count : 0), 0),
        lastAt,
      }));
    },
  };
}
