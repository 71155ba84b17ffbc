import { timeWords } from "../../charts/plot.ts";
import { toneOf, wordOf } from "../../contract/words.ts";
import { type DestinationStatistics, type EndState, outcomes, type PastOutcome } from "../../core/ports/statistics.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import { type Cell, type Fact, factsOf, say } from "../../panels/panel.ts";
import type { Frame } from "./frame.ts";
import { PanelView } from "./panel.tsx";

/** What became of the deliveries of one destination: counts, how long they took, and the last ones one by one. */
export function DestinationFigures({ statistics, frame }: { statistics: DestinationStatistics; frame: Frame }) {
  const { day, week, waits, last } = statistics;
  if (last.length === 0 && outcomes.every((outcome) => week[outcome] === 0)) return null;
  const isFirstDay = outcomes.every((outcome) => week[outcome] === day[outcome]);
  const rows: Fact[] = [
    [isFirstDay ? "24 h and 7 d" : "24 h", describeCounts(day)],
    ["7 d", !isFirstDay && describeCounts(week)],
    ["delivery time (24 h)", waits && say`median ${lengthOf(waits.p50Ms)}, p95 ${lengthOf(waits.p95Ms)}`],
  ];
  return (
    <>
      <PanelView panel={[factsOf(rows)]} frame={frame} />
      {last.length > 0 && <Band last={last} timeZone={frame.timeZone} />}
    </>
  );
}

function describeCounts(counts: DestinationStatistics["day"]): Cell {
  const some = outcomes.filter((outcome) => counts[outcome] > 0);
  if (some.length === 0) return say`nothing`;
  return some.flatMap((outcome): Cell[] => [
    { chip: `${counts[outcome].toLocaleString("en-US")} ${shortWords[outcome]}`, tone: toneOf(outcome) },
    { words: " " },
  ]);
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
        if (toneOf(outcome.state) === "good") return <i class="good" title={words} />;
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
