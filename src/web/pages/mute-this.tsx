import type { MutePreview } from "../../contract/operations.ts";
import type { AlertFacts } from "../../core/alert.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { describePreview, matchesNothing, muteDurations } from "../../panels/mutes.ts";
import { Field, Form } from "./form-element.tsx";
import type { Frame } from "./frame.ts";

/** Facts by which one alert can stand for others like it, the narrowest first. */
const likeness = ["alertKey", "title", "metric", "token", "chain", "source", "severity"] as const;

/** What the mute form of an alert says and shows. */
export interface MuteChoice {
  /** Names of the facts that are ticked. */
  chosen: string[];
  /** What it would have held; absent when nothing can be said of it. */
  preview?: MutePreview;
  /** The reader is at it: the form is open, with what was typed. */
  written?: { for: string; reason: string };
}

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

interface MuteThisProps {
  alert: AlertDetail;
  frame: Frame;
  choice: MuteChoice;
}

/** No mute applies to what cannot be read, nor to what Tocsin writes itself. */
export function MuteThis({ alert, frame, choice }: MuteThisProps) {
  const { facts, request } = alert;
  const { chosen, preview, written } = choice;
  if (facts === undefined || facts.format === "unreadable" || request === undefined) return null;
  return (
    <section aria-label="Mute">
      <details class="action" open={written !== undefined}>
        <summary id="mute">Mute alerts like this…</summary>
        <Form frame={frame} action={`/alerts/${alert.id}/mute`} class="stack">
          <fieldset class="stack">
            <legend>Alike in all of these</legend>
            {likeness.map((field) => {
              const value = facts[field];
              return (
                value !== undefined && (
                  <label class="check">
                    <input type="checkbox" name="like" value={field} checked={chosen.includes(field)} />
                    <span>
                      {field === "alertKey" ? "alert key" : field} <b dir="auto">{value}</b>
                    </span>
                  </label>
                )
              );
            })}
          </fieldset>
          <MuteFields preview={preview} written={written} />
        </Form>
      </details>
    </section>
  );
}

/**
 * The end of every form that mutes: what it would have held, where that is known; for how long and why. Enter mutes, as
 * the first button does; a preview needs neither reason nor end.
 */
export function MuteFields({ preview, written }: Pick<MuteChoice, "preview" | "written">) {
  return (
    <>
      {preview !== undefined && (
        <p class={matchesNothing(preview) ? "notice warning" : undefined}>{describePreview(preview)}</p>
      )}
      <Field name="for" label="For" options={muteDurations} value={written?.for || "1h"} />
      <Field name="reason" label="Reason" value={written?.reason} placeholder="what others should know" />
      <p class="row">
        <button type="submit" class="primary">
          Mute
        </button>
        <button type="submit" name="do" value="preview" formnovalidate>
          Preview
        </button>
      </p>
    </>
  );
}
