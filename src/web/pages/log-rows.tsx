import { createHash } from "node:crypto";
import { raw } from "hono/html";
import { limitsChange, sideOfThreshold } from "../../core/alert.ts";
import type { AlertRun, AlertSummary } from "../../core/ports/alert-log.ts";
import type { LearnedName } from "../../core/subject-name.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { writeChange, writeDistance } from "../../ground/numbers/format-number.ts";
import type { WebDeps } from "../web-deps.ts";
import { Amount, Digits, SeverityMark, titleOf } from "./alert-text.tsx";
import { OutcomeMarks } from "./delivery-chips.tsx";
import { ClockTime, dayWords, isSameDay, lengthOf, RelativeTime, relativeTime } from "./instants.tsx";
import { keepHtml } from "./kept-html.tsx";
import { HeadRow } from "./layout.tsx";
import { addressOf, type LogView } from "./log-filters.tsx";
import { findHits, Marked, snippetOf } from "./marked.tsx";

interface AlertTableProps {
  alerts: AlertSummary[];
  now: number;
  /** Nothing newer stands before the first row. */
  isNewest: boolean;
  /** Rows may be missing because a filter leaves them out. */
  isFiltered: boolean;
  /** What was searched for, to be marked. */
  hits: readonly string[];
  /** What was searched for in payloads. */
  rawHits: readonly string[];
  view: LogView;
  learnedName?: WebDeps["learnedName"];
  /** By the id of the alert, as SVG; empty or absent where there is none. */
  sparks?: ReadonlyMap<string, string>;
  Row: LogRow;
}

/** A row of the log; see `keepLogRows`. */
export type LogRow = ReturnType<typeof keepLogRows>;

/** Some ten pages of the log. */
const mostKept = 2_000_000;

/** Rows are kept: a page of the log is one of the last pages but for what has come since. */
export const keepLogRows = () => keepHtml(AlertRow, mostKept, "spark");

/** A page of the log by day. Days and times are UTC; the script makes them the reader's own. */
export function AlertTable(props: AlertTableProps) {
  const { alerts, now, isNewest, isFiltered, hits, rawHits, view, learnedName, sparks, Row } = props;
  return (
    <table
      class="alerts log"
      data-newest={isNewest ? "" : undefined}
      data-filtered={isFiltered ? "" : undefined}
      data-view={view}
    >
      <HeadRow names={["Received", "Severity", "Alert", "Value", "Deliveries"]} />
      <tbody id="rows">
        {alerts.map((alert, index) => {
          const above = alerts[index - 1];
          const isFirstOfDay = above === undefined || !isSameDay(above.receivedAt, alert.receivedAt);
          return (
            <>
              {isFirstOfDay && <DayRow at={alert.receivedAt} now={now} />}
              <Row
                alert={alert}
                hits={hits}
                rawHits={rawHits}
                learned={alert.facts && learnedName?.(alert.facts)}
                firstWords={firstWordsOf(alert, now)}
                spark={sparks?.get(alert.id)}
              />
            </>
          );
        })}
      </tbody>
    </table>
  );
}

function DayRow({ at, now }: { at: number; now: number }) {
  return (
    <tr class="day">
      <th colspan={5} scope="rowgroup">
        {dayWords(at, now)} <span class="zone">UTC</span>
      </th>
    </tr>
  );
}

/** Some three lines: a longer one would push the other alerts off the screen, and stands in full on the alert's page. */
const longestTitle = 140;

/** When the first alert of its key came, where that was on another day: `3 d ago`. */
function firstWordsOf({ run, receivedAt }: AlertSummary, now: number): string | undefined {
  return run === undefined || isSameDay(run.sinceAt, receivedAt) ? undefined : relativeTime(run.sinceAt, now);
}

/** All that a row is made of, so that it can be kept. */
interface AlertRowProps {
  alert: AlertSummary;
  hits: readonly string[];
  rawHits: readonly string[];
  learned?: LearnedName;
  /** See `firstWordsOf`. */
  firstWords?: string;
  spark?: string;
}

function AlertRow({ alert, hits, rawHits, learned, firstWords, spark }: AlertRowProps) {
  const { facts } = alert;
  const whole = titleOf(alert, learned);
  const title = cut(whole, longestTitle);
  const about = [facts?.token, facts?.chain, facts?.metric].filter((text) => text !== undefined);
  const elsewhere = findElsewhere(alert, [title, ...about], hits);
  return (
    <tr
      id={rowIdOf(alert)}
      data-alert={alert.id}
      data-version={alert.version}
      data-unread={facts === undefined ? "" : undefined}
    >
      <td class="when">
        <ClockTime at={alert.receivedAt} />
      </td>
      <td class="how">{facts && <SeverityMark severity={facts.severity} status={facts.status} />}</td>
      <td class="what">
        <a href={`/alerts/${alert.id}`} dir="auto" title={title === whole ? undefined : whole}>
          <Marked text={title} hits={hits} />
        </a>
        {alert.origin !== "hook" && <span class="origin">{alert.origin}</span>}
        {alert.source !== undefined && <span class="origin">{alert.source}</span>}
        {about.length > 0 && (
          <span class="about">
            {about.map((text) => (
              <bdi>
                <Marked text={text} hits={hits} />
              </bdi>
            ))}
          </span>
        )}
        {alert.run !== undefined && <RunText alert={alert} run={alert.run} firstWords={firstWords} />}
        {elsewhere !== undefined && (
          <span class="elsewhere">
            {elsewhere.name}:{" "}
            <bdi dir="auto">
              <Marked text={elsewhere.text} hits={hits} />
            </bdi>
          </span>
        )}
        {alert.aroundRaw !== undefined && (
          <span class="elsewhere">
            <a href={`/alerts/${alert.id}#body`}>payload</a>:{" "}
            <bdi dir="auto">
              …<Marked text={alert.aroundRaw.replace(/[\p{Cc}\s]+/gu, " ")} hits={rawHits} isAnywhere />…
            </bdi>
          </span>
        )}
      </td>
      <td class="number">
        {spark ? (
          <span class="with-spark">
            {raw(spark)}
            <span>
              <ValueText alert={alert} />
            </span>
          </span>
        ) : (
          <ValueText alert={alert} />
        )}
      </td>
      <td class="where">
        <OutcomeMarks alert={alert} />
      </td>
    </tr>
  );
}

/** A row of a key stays one row when the next alert of the key comes. */
function rowIdOf({ id, run, facts }: AlertSummary): string {
  if (run === undefined || facts === undefined) return `alert-${id}`;
  return `key-${createHash("sha256").update(facts.alertKey).digest("hex").slice(0, 16)}`;
}

/** `fired 3 times, first 14:02:05`, `over after 8 min`. Nothing where this alert is all that came. */
function RunText({ alert, run, firstWords }: { alert: AlertSummary; run: AlertRun; firstWords?: string }) {
  const { isOver, count, isMore, sinceAt } = run;
  const times = `${count}${isMore ? "+" : ""} times`;
  if (!isOver && count < 2) return null;
  const tookMs = alert.receivedAt - sinceAt;
  return (
    <span class={`run ${isOver ? "over" : ""}`}>
      {isOver && (count > 0 && !isMore ? `over after ${lengthOf(tookMs)}` : "over")}
      {isOver && count > 1 && ", "}
      {count > 1 && (
        <>
          <a href={addressOf({ key: alert.facts?.alertKey ?? "" })}>
            {alert.facts?.status === "unknown" ? times : `fired ${times}`}
          </a>
          {!isMore && (
            <>
              {", first "}
              {firstWords === undefined ? <ClockTime at={sinceAt} /> : <RelativeTime at={sinceAt} words={firstWords} />}
            </>
          )}
        </>
      )}
    </span>
  );
}

/** Where a word stands that was searched for, when the row does not show it. */
function findElsewhere({ facts }: AlertSummary, shown: string[], hits: readonly string[]) {
  const missing = hits.filter((hit) => !shown.some((text) => findHits(text, [hit]).length > 0));
  if (facts === undefined || missing.length === 0) return undefined;
  const places = [
    { name: "title", value: facts.title },
    ...(facts.text === undefined ? [] : [{ name: "text", value: facts.text }]),
    ...(facts.source === undefined ? [] : [{ name: "source", value: facts.source }]),
    ...facts.fields,
  ];
  for (const { name, value } of places) {
    const [first] = findHits(value, missing);
    if (first !== undefined) return { name, text: snippetOf(value, first) };
  }
  return undefined;
}

/** Value, unit and threshold, digit for digit as sent; how the value has changed and how far from the threshold it is, where that is certain. */
function ValueText({ alert }: { alert: AlertSummary }) {
  const { facts } = alert;
  if (facts?.value === undefined && facts?.threshold === undefined) return null;
  const change = writeChange(facts.previousValue ?? "", facts.value ?? "");
  return (
    <>
      {facts.value !== undefined && (
        <bdi class="value">
          <Amount sent={facts.value} unit={facts.unit} />
        </bdi>
      )}
      {change !== undefined && <span class="change">{change}</span>}
      {facts.threshold !== undefined && (
        <span class="threshold">
          {wordsBeforeThreshold(facts)}{" "}
          <bdi>
            <Digits sent={facts.threshold} />
          </bdi>
        </span>
      )}
    </>
  );
}

function wordsBeforeThreshold(facts: NonNullable<AlertSummary["facts"]>): string {
  if (limitsChange(facts)) return "threshold of the change";
  const side = sideOfThreshold(facts);
  if (side === undefined) return "threshold";
  const far = writeDistance(facts.threshold ?? "", facts.value ?? "");
  return far === undefined ? side : `${far} ${side}`;
}
