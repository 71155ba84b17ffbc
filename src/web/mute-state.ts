import type { MutePreview } from "../core/operations.ts";
import type { Mute } from "../core/rules.ts";

export type MuteState = "active" | "coming" | "ended";

export function muteStateOf(mute: Pick<Mute, "startsAt" | "endsAt">, now: number): MuteState {
  if (now >= mute.endsAt) return "ended";
  return now >= mute.startsAt ? "active" : "coming";
}

/** "It would have muted 12 of the 1,204 alerts of the last 24 h." */
export function describePreview({ matched, looked, complete }: Omit<MutePreview, "since">): string {
  if (looked === 0) return "No alert came in the last 24 h, so nothing shows what it would mute.";
  const count = looked.toLocaleString("en-US");
  if (complete && looked === 1) {
    return matched === 0
      ? "It does not match the one alert of the last 24 h."
      : "It would have muted the one alert of the last 24 h.";
  }
  const alerts = complete ? `the ${count} alerts of the last 24 h` : `the newest ${count} alerts of the last 24 h`;
  if (matched === 0) return `It matches none of ${alerts}.`;
  if (complete && matched === looked) return `It would have muted all ${count} alerts of the last 24 h.`;
  return `It would have muted ${matched.toLocaleString("en-US")} of ${alerts}.`;
}

/** A mute that would have held nothing is probably written wrongly. */
export function matchesNothing({ matched, looked }: Pick<MutePreview, "matched" | "looked">): boolean {
  return matched === 0 && looked > 0;
}
