import type { AlertFacts } from "../../core/alert.ts";
import type { AlertDetail } from "../../core/store.ts";
import type { Frame } from "./frame.ts";
import { Form } from "./layout.tsx";

/** Facts by which one alert can stand for others like it, the narrowest first. */
const likeness = ["alertKey", "title", "metric", "token", "chain", "source", "severity"] as const;
type LikenessField = (typeof likeness)[number];

const likenessWords: Record<LikenessField, string> = {
  alertKey: "alert key",
  title: "title",
  metric: "metric",
  token: "token",
  chain: "chain",
  source: "source",
  severity: "severity",
};

export const muteDurations = [
  ["30m", "30 minutes"],
  ["1h", "1 hour"],
  ["4h", "4 hours"],
  ["24h", "1 day"],
  ["7d", "7 days"],
] as const;

/**
 * The chosen facts of an alert as a `match`: the form sends names only, the values are the stored ones. `equals` says that a
 * value is meant as it stands, whatever it looks like.
 */
export function matchLike(facts: AlertFacts, chosen: string[]): Record<string, { equals: string }> {
  return Object.fromEntries(
    likeness.flatMap((field) => {
      const value = facts[field];
      return chosen.includes(field) && value !== undefined ? [[field, { equals: value }]] : [];
    }),
  );
}

export function MuteThis({ alert, frame }: { alert: AlertDetail; frame: Frame }) {
  const { facts } = alert;
  if (facts === undefined || alert.origin === "notice") return null;
  return (
    <details class="action">
      <summary>Mute alerts like this…</summary>
      <Form frame={frame} action={`/alerts/${alert.id}/mute`} class="stack">
        <fieldset>
          <legend>Alike in all of these</legend>
          {likeness.map((field) => {
            const value = facts[field];
            return (
              value !== undefined && (
                <label class="check">
                  <input type="checkbox" name="like" value={field} checked={field === "alertKey"} />
                  <span>
                    {likenessWords[field]} <b dir="auto">{value}</b>
                  </span>
                </label>
              )
            );
          })}
        </fieldset>
        <DurationChoice />
        <ReasonField />
        <button type="submit" class="primary">
          Mute
        </button>
      </Form>
    </details>
  );
}

export function DurationChoice() {
  return (
    <label>
      <span>For</span>
      <select name="for">
        {muteDurations.map(([value, words]) => (
          <option value={value} selected={value === "1h"}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

export function ReasonField({ value }: { value?: string }) {
  return (
    <label>
      <span>Reason</span>
      <input
        type="text"
        name="reason"
        value={value}
        required
        maxlength={500}
        placeholder="what others should know"
      />
    </label>
  );
}
