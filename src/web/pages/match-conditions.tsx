import type { AlertFacts } from "../../core/alert.ts";
import { describeMatcher } from "../../core/describe-matcher.ts";
import { factFields } from "../../core/field-path.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";

/** A longer value is a text that nobody compares with. */
const longestValue = 200;

/** What was read, as conditions that can be copied into a route or a mute. */
export function MatchConditions({ alert, facts }: { alert: AlertDetail; facts: AlertFacts }) {
  const conditions = factFields.flatMap((field) => {
    const value = field === "origin" ? alert.origin : facts[field];
    if (value === undefined || value.length > longestValue) return [];
    return describeMatcher({ field, condition: { equals: [value] } });
  });
  return (
    <details class="action">
      <summary>As conditions for a route or a mute</summary>
      <ul class="notes">
        {conditions.map((condition) => (
          <li>
            <code class="matcher">{condition}</code>
          </li>
        ))}
      </ul>
      <p class="soft">
        Paths into the body: <code>tocsin explain {alert.id}</code>
      </p>
    </details>
  );
}
