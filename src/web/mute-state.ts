import type { Mute } from "../core/rules.ts";

export type MuteState = "active" | "coming" | "ended";

export function muteStateOf(mute: Pick<Mute, "startsAt" | "endsAt">, now: number): MuteState {
  if (now >= mute.endsAt) return "ended";
  return now >= mute.startsAt ? "active" : "coming";
}
