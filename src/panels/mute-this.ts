import type { MutePreview } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { AlertDetail } from "../core/ports/alert-log.ts";
import { muteAct, muteDurations, previewNote, type WrittenMute } from "./mutes.ts";
import { actsOf, type Section, say } from "./panel.ts";

/** Facts by which one alert can stand for others like it, the narrowest first. */
const likeness = ["alertKey", "title", "metric", "token", "chain", "source", "severity"] as const;

/** What the mute form of an alert says and shows. */
export interface MuteChoice {
  /** Names of the facts that are ticked. */
  chosen: string[];
  /** What it would have held; absent when nothing can be said of it. */
  preview?: MutePreview;
  /** The reader is at it: the form is open, with what was typed. */
  written?: WrittenMute;
}

/** An end of a mute in place of a duration. */
export const untilOver = ["over", "until it is over"] as const;

/** What is ticked until the reader says otherwise. */
export const likeByDefault: string[] = ["alertKey"];

/**
 * The chosen facts of an alert as a `match`: the form sends names only, the values are the stored ones. `equals` says
 * that a value is meant as it stands, whatever it looks like.
 */
export function matchLike(facts: AlertFacts, chosen: string[]): Record<string, { equals: string }> {
  return Object.fromEntries(
    likeness.flatMap((field) => {
      const value = facts[field];
      return chosen.includes(field) && value !== undefined ? [[field, { equals: value }]] : [];
    }),
  );
}

/** No mute applies to what cannot be read, nor to what Tocsin writes itself. */
export function muteThisPanel(
  { id, facts, request }: AlertDetail,
  { chosen, preview, written }: MuteChoice,
): Section | undefined {
  if (facts === undefined || facts.format === "unreadable" || request === undefined) return undefined;
  const choices = likeness.flatMap((field) => {
    const [words, value] = [field === "alertKey" ? "alert key" : field, facts[field]];
    if (value === undefined) return [];
    return [{ value: field, text: say`${{ words }} ${{ bold: value }}`, isChosen: chosen.includes(field) }];
  });
  const ends = facts.status !== "resolved" ? ([untilOver, ...muteDurations] as const) : muteDurations;
  const act = muteAct(`/alerts/${id}/mute`, [{ name: "like", label: "Alike in all of these", choices }], written, ends);
  const asks = {
    title: "Mute alerts like this…",
    id: "mute",
    panel: [previewNote(preview)],
    isOpen: written !== undefined,
  };
  return actsOf({ ...act, asks });
}
