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
  const alerts = complete
    ? `${looked === 1 ? "the one alert" : `the ${count} alerts`} of the last 24 h`
    : `the newest ${count} alerts of the last 24 h`;
  if (matched === 0) return `It matches none of ${alerts}.`;
  return `It would have muted ${matched.toLocaleString("en-US")} of ${alerts}.`;
}

/** A mute that would have held nothing is probably written wrongly. */
export function matchesNothing({ matched, looked }: Pick<MutePreview, "matched" | "looked">): boolean {
  return matched === 0 && looked > 0;
}
