import { timeWords } from "../../charts/plot.ts";
import type { Tone } from "../../contract/panels/panel.ts";
import { toneOf, wordOf } from "../../contract/panels/state-words.ts";
import { type DestinationStatistics, type EndState, outcomes, type PastOutcome } from "../../core/ports/statistics.ts";
import { lengthOf } from "../../ground/time/ages.ts";

/** What became of the deliveries of one destination: counts, how long they took, and the last ones one by one. */
export function DestinationFigures({ statistics, timeZone }: { statistics: DestinationStatistics; timeZone: string }) {
  const { day, week, waits, last } = statistics;
  const shown = outcomes.filter((outcome) => outcome === "sent" || outcome === "failed" || week[outcome] > 0);
  if (last.length === 0 && outcomes.every((outcome) => week[outcome] === 0)) return null;
  return (
    <>
      <table class="counted">
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">Time</span>
            </th>
            {shown.map((outcome) => (
              <th scope="col">{shortWords[outcome]}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(
            [
              ["24 h", day],
              ["7 d", week],
            ] as const
          ).map(([name, counts]) => (
            <tr>
              <th scope="row">{name}</th>
              {shown.map((outcome) => (
                <td class={counts[outcome] > 0 ? toneOf(outcome) : "none"}>
                  {counts[outcome].toLocaleString("en-US")}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {waits !== undefined && (
        <p class="soft">
          Delivery time (24 h): median {lengthOf(waits.p50Ms)}, p95 {lengthOf(waits.p95Ms)}
        </p>
      )}
      {last.length > 0 && <Band last={last} timeZone={timeZone} />}
    </>
  );
}

/** Oldest left. What went well says so to the pointer alone: fifty times "sent" would drown the one that failed. */
function Band({ last, timeZone }: { last: PastOutcome[]; timeZone: string }) {
  const count = (state: EndState) => last.filter((outcome) => outcome.state === state).length;
  const summary = outcomes.flatMap((state) => (count(state) > 0 ? [`${count(state)} ${wordOf(state)}`] : []));
  return (
    <p class="last-outcomes">
      <span class="hidden">{`Last ${last.length}: ${summary.join(", ")}.`}</span>
      {last.map((outcome) => {
        const words = `${describe(outcome)} · ${timeWords(timeZone).full(outcome.at)}`;
        if (tonesOfBand[outcome.state] === "good") return <i class="good" title={words} />;
        return (
          <a class="bad" href={`/alerts/${outcome.alertId}`} title={words}>
            <span class="hidden">{words}</span>
          </a>
        );
      })}
    </p>
  );
}

function describe({ state, afterMs, title, reason }: PastOutcome): string {
  const took = state === "sent" || state === "digested" ? ` after ${lengthOf(afterMs)}` : `: ${reason}`;
  return `${wordOf(state)}${took} · ${title}`;
}

const shortWords: Record<EndState, string> = {
  sent: "sent",
  digested: "in digests",
  failed: "failed",
  expired: "expired",
};
const tonesOfBand: Record<EndState, Extract<Tone, "good" | "bad">> = {
  sent: "good",
  digested: "good",
  failed: "bad",
  expired: "bad",
};
