import { raw } from "hono/html";
import { type BarBucket, drawBars } from "../../charts/bars.ts";
import { type Severity, severities } from "../../core/alert.ts";
import type { OverTime, TimeSteps } from "../../core/ports/alert-log.ts";
import { dayMs, hourMs, minuteMs } from "../../ground/time/spans.ts";
import { keepHtml } from "./kept-html.tsx";
import { addressOf, type LogFilters, type SpanName, spanNames } from "./log-filters.tsx";

const spans: Record<SpanName, { words: string; stepMs: number; steps: number }> = {
  "1h": { words: "1 h", stepMs: minuteMs, steps: 60 },
  "24h": { words: "24 h", stepMs: 30 * minuteMs, steps: 48 },
  "7d": { words: "7 d", stepMs: 3 * hourMs, steps: 56 },
};
/** The span without a choice. In a day's picture a young log would be one bar at the end. */
const usualSpan = (now: number, oldestAt: number): SpanName => (now - oldestAt < hourMs ? "1h" : "24h");

const stepLengths = [minuteMs, 5 * minuteMs, 30 * minuteMs, 3 * hourMs, dayMs, 7 * dayMs, 30 * dayMs, 365 * dayMs];
const mostSteps = 64;

/** The times of the filters, or the chosen span. Default: the last hour for a younger log, else a day. */
export function stepsOf({ read, span }: LogFilters, now: number, oldestAt = now): TimeSteps {
  const chosen = spans[span ?? usualSpan(now, oldestAt)];
  const only = { receivedFrom: read.from, receivedTo: read.to, problemsOf: read.severity };
  if (read.from === undefined && read.to === undefined) {
    const fromAt = (Math.floor(now / chosen.stepMs) + 1 - chosen.steps) * chosen.stepMs;
    return { fromAt, stepMs: chosen.stepMs, steps: chosen.steps, ...only };
  }
  const to = Math.min(read.to ?? now, now);
  const from = Math.min(to, Math.max(read.from ?? oldestAt, Math.min(oldestAt, to - minuteMs)));
  const stepMs = stepLengths.find((length) => (to - from) / length <= mostSteps - 1) ?? 365 * dayMs;
  const first = Math.floor(from / stepMs);
  const last = Math.floor(to / stepMs);
  return { fromAt: first * stepMs, stepMs, steps: Math.min(mostSteps, last - first + 1), ...only };
}

interface LogBarsProps {
  filters: LogFilters;
  steps: TimeSteps;
  counted: OverTime;
  timeZone: string;
}

export const LogBars = keepHtml(({ filters, steps, counted, timeZone }: LogBarsProps) => {
  const { written, read } = filters;
  const { fromAt, stepMs } = steps;
  const to = fromAt + steps.steps * stepMs;
  const shown = read.severity === undefined ? severities : [read.severity];
  const buckets = counted.steps.map((step) => toBucket(step, shown));
  const isOwnRange = read.from !== undefined || read.to !== undefined;
  const { from: _from, to: _to, span: _span, ...others } = written;
  const bars = {
    buckets,
    stepMs,
    from: fromAt,
    to,
    timeZone,
    title: read.severity === undefined ? "Alerts over time" : `Alerts over time, ${read.severity}`,
    hrefOf: (bar: { from: number; to: number }) => {
      const [first, last] = [Math.max(bar.from, read.from ?? bar.from), Math.min(bar.to - 1, read.to ?? bar.to - 1)];
      return addressOf(others, { from: new Date(first).toISOString(), to: new Date(last).toISOString() });
    },
  };
  return (
    <section class="over-time" aria-label="Alerts over time" data-live="bars">
      <nav class="views" aria-label="Span of the bars">
        {spanNames.map((name) => (
          <a
            href={addressOf(others, { span: name })}
            aria-current={!isOwnRange && stepMs === spans[name].stepMs ? "true" : undefined}
          >
            {spans[name].words}
          </a>
        ))}
        {isOwnRange && <span class="soft">Between the times of the filter.</span>}
        {counted.isMore && (
          <span class="soft" data-counting="">
            Older bars are still being counted.
          </span>
        )}
        {isFilteredOtherwise(filters) && <span class="soft">The bars count all alerts.</span>}
      </nav>
      <div class="on-desk">{raw(drawBars({ ...bars, width: 1400, height: 60 }))}</div>
      <div class="on-phone">{raw(drawBars({ ...bars, width: 340, height: 60 }))}</div>
    </section>
  );
});

function toBucket({ at, problems, ...counts }: OverTime["steps"][number], shown: readonly Severity[]): BarBucket {
  const some = Object.fromEntries(shown.map((severity) => [severity, counts[severity]]));
  return { at, ...some, problems };
}

/** Whether a filter is set that the bars ignore. */
function isFilteredOtherwise({ read }: LogFilters): boolean {
  const { severity: _severity, from: _from, to: _to, ...others } = read;
  return Object.values(others).some((value) => value !== undefined);
}
