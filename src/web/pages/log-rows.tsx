import { createHash } from "node:crypto";
import { raw } from "hono/html";
import { limitsChange, severities, sideOfThreshold } from "../../core/alert.ts";
import { isAddress } from "../../core/metric-key.ts";
import type { AlertRun, AlertSummary } from "../../core/ports/alert-log.ts";
import { type LearnedName, shortAddress } from "../../core/subject-name.ts";
import { isNumberIn, writeDistance, writeShortNumber } from "../../ground/numbers/format-number.ts";
import { cleanLine } from "../../ground/text/clean.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import { minuteMs } from "../../ground/time/spans.ts";
import type { WebDeps } from "../web-deps.ts";
import { SeverityMark, titleOf } from "./alert-text.tsx";
import { initialsOf, OutcomeMarks } from "./delivery-chips.tsx";
import { ClockTime, dayWords, Instant, isSameDay } from "./instants.tsx";
import { keepHtml } from "./kept-html.tsx";
import { addressOf, isFiltered, type LogFilters } from "./log-filters.tsx";
import { findHits, Marked, snippetOf } from "./marked.tsx";

interface AlertTableProps {
  alerts: AlertSummary[];
  now: number;
  filters: LogFilters;
  isNewest: boolean;
  learnedName?: WebDeps["learnedName"];
  /** The sparkline of each alert as SVG, by id. Empty or absent where there is none. */
  sparks?: ReadonlyMap<string, string>;
  /** The names of all destinations, so each gets its own initials. */
  destinations: readonly string[];
}

/** Days and times are UTC. The script shows them in the reader's own zone. */
export function AlertTable({ alerts, now, filters, isNewest, learnedName, sparks, destinations }: AlertTableProps) {
  const initials = initialsOf([
    ...destinations,
    ...alerts.flatMap((one) => one.deliveries.map((delivery) => delivery.destination)),
  ]);
  return (
    <table
      class="log"
      data-newest={isNewest ? "" : undefined}
      data-filtered={isFiltered(filters) ? "" : undefined}
      data-view={filters.view}
    >
      <thead>
        <tr>
          {["Time", "Severity", "Alert", "From the limit", "Who got it"].map((name) => (
            <th scope="col">{name}</th>
          ))}
        </tr>
      </thead>
      <tbody id="rows">
        {joinTwins(alerts).map(({ alert, twins }, index, rows) => {
          const above = rows[index - 1]?.alert;
          const isFirstOfDay = above === undefined || !isSameDay(above.receivedAt, alert.receivedAt);
          const input = { alert, twins, hits: filters.hits, rawHits: filters.rawHits, initials };
          const learned = alert.facts && learnedName?.(alert.facts);
          // The row's HTML stays the same for at least a minute. The script updates its times.
          const minute = isOfEarlierDay(alert) ? Math.floor(now / minuteMs) * minuteMs : undefined;
          return (
            <>
              {isFirstOfDay && <DayRow at={alert.receivedAt} now={now} />}
              <AlertRow {...input} learned={learned} spark={sparks?.get(alert.id)} now={minute} />
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

interface Row {
  alert: AlertSummary;
  /** Less severe alerts about the same event. */
  twins: AlertSummary[];
}

/** Joins alerts of two rules over one metric that fired within the same second: one event with two severities. */
function joinTwins(alerts: readonly AlertSummary[]): Row[] {
  const rows = new Map<string, Row>();
  for (const alert of alerts) {
    const { id, facts, origin, receivedAt } = alert;
    const { title = id, metric, token, chain, value, threshold, status, text, fields } = facts ?? {};
    // Without a measured metric the title alone does not name the subject: `High CPU` of two machines is no twin.
    const about =
      metric !== undefined && value !== undefined ? [metric, token, chain] : [metric, token, chain, text, fields];
    const said = [title, ...about, value, threshold, status];
    const same = JSON.stringify([...said, origin, alert.source, Math.floor(receivedAt / 1000)]);
    const row = rows.get(same);
    const all = row === undefined ? [] : [row.alert, ...row.twins];
    if (all.some((one) => one.facts?.severity === facts?.severity)) rows.set(id, { alert, twins: [] });
    else {
      const [worst = alert, ...twins] = [...all, alert].sort((one, other) => rankOf(one) - rankOf(other));
      rows.set(same, { alert: worst, twins });
    }
  }
  return [...rows.values()];
}

const rankOf = ({ facts }: AlertSummary) => (facts === undefined ? 0 : severities.indexOf(facts.severity));

/** The alert's page shows longer titles in full. */
const longestTitle = 140;

interface AlertRowProps extends Row {
  /** Searched words to mark. `rawHits`: those of a search in payloads. */
  hits: readonly string[];
  rawHits: readonly string[];
  initials: Readonly<Record<string, string>>;
  learned?: LearnedName;
  spark?: string;
  now?: number;
}

const AlertRow = keepHtml(({ alert, twins, hits, rawHits, initials, learned, spark, now }: AlertRowProps) => {
  const { facts } = alert;
  const whole = titleOf(alert, learned);
  const title = cut(whole, longestTitle);
  const about = [facts?.token, facts?.chain].flatMap((text) => whatElse(text, { title: whole, learned }));
  const elsewhere = findElsewhere(alert, [title, ...about], hits);
  return (
    <tr
      id={rowIdOf(alert)}
      data-alert={alert.id}
      data-also={twins.map(({ id }) => id).join(" ") || undefined}
      data-version={[alert, ...twins].map(({ version }) => version).join(" ")}
      data-unread={facts === undefined ? "" : undefined}
    >
      <td class="when">
        <ClockTime at={alert.receivedAt} />
      </td>
      <td class="how">
        {facts && <SeverityMark severity={facts.severity} status={facts.status} />}
        {twins.map(
          (twin) =>
            twin.facts && (
              <a href={`/alerts/${twin.id}`}>
                <SeverityMark severity={twin.facts.severity} status={twin.facts.status} />
              </a>
            ),
        )}
      </td>
      <td class="what">
        <a href={`/alerts/${alert.id}`} dir="auto" title={whole}>
          <Marked text={title} hits={hits} />
        </a>
        {alert.origin !== "hook" && <span class="chip off">{alert.origin}</span>}
        {alert.source !== undefined && <span class="chip off">{alert.source}</span>}
        {about.length > 0 && (
          <span class="about">
            {about.map((text) => (
              <bdi>
                <Marked text={text} hits={hits} />
              </bdi>
            ))}
          </span>
        )}
        {alert.run !== undefined && <RunText alert={alert} run={alert.run} now={now} />}
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
        <Distance alert={alert} title={whole} />
        {spark && raw(spark)}
      </td>
      <td class="where">
        <OutcomeMarks alerts={[alert, ...twins]} initials={initials} />
      </td>
    </tr>
  );
});

/** The first alert of the key came on another day. The row then says how long ago. */
const isOfEarlierDay = ({ run, receivedAt }: AlertSummary) => run !== undefined && !isSameDay(run.sinceAt, receivedAt);

/** A row of a key stays one row when the next alert of the key comes. */
function rowIdOf({ id, run, facts }: AlertSummary): string {
  if (run === undefined || facts === undefined) return `alert-${id}`;
  return `key-${createHash("sha256").update(facts.alertKey).digest("hex").slice(0, 16)}`;
}

/** `fired 3 times, first 14:02:05`, `over after 8 min`. Nothing for a key with one alert. */
function RunText({ alert, run, now }: { alert: AlertSummary; run: AlertRun; now?: number }) {
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
              {now === undefined ? <ClockTime at={sinceAt} /> : <Instant at={sinceAt} now={now} show="relative" />}
            </>
          )}
        </>
      )}
    </span>
  );
}

function findElsewhere({ facts }: AlertSummary, shown: string[], hits: readonly string[]) {
  const missing = hits.filter((hit) => !shown.some((text) => findHits(text, [hit]).length > 0));
  if (facts === undefined || missing.length === 0) return undefined;
  const { title, text, token, metric, source } = facts;
  const places = Object.entries({ title, text, token, metric, source }).map(([name, value = ""]) => ({ name, value }));
  for (const { name, value } of [...places, ...facts.fields]) {
    const [first] = findHits(value, missing);
    if (first !== undefined) return { name, text: snippetOf(value, first) };
  }
  return undefined;
}

/** Shows both numbers too where the title does not have them, written as in messages. */
function Distance({ alert: { facts }, title }: { alert: AlertSummary; title: string }) {
  if (facts?.value === undefined && facts?.threshold === undefined) return null;
  const { value, threshold, unit } = facts;
  const far = limitsChange(facts) ? undefined : writeDistance(threshold ?? "", value ?? "");
  const side = limitsChange(facts) ? "limit of the change" : (sideOfThreshold(facts) ?? "limit");
  // As in the title: with enough digits to tell the two apart.
  const style = { besides: [value, threshold] };
  const short = (number: string) => writeShortNumber(number, style);
  const isNumberSaid = (number: string) => isNumberIn(title, cleanLine(number), style);
  return (
    <>
      {value !== undefined && !isNumberSaid(value) && (
        <bdi>
          {short(value)}
          {unit !== undefined && (unit === "%" ? "%" : ` ${unit}`)}{" "}
        </bdi>
      )}
      {threshold !== undefined && (far !== undefined || !isNumberSaid(threshold)) && (
        <span>
          {far === undefined ? side : `${far} ${side}`}
          {!isNumberSaid(threshold) && <bdi> {short(threshold)}</bdi>}
        </span>
      )}
    </>
  );
}

/** The token or chain next to the title. Nothing where the title names it: whole, short or by its learned name. */
function whatElse(text: string | undefined, { title, learned }: { title: string; learned?: LearnedName }): string[] {
  if (text === undefined) return [];
  const whole = cleanLine(text);
  const short = isAddress(whole) ? shortAddress(whole) : whole;
  const name = learned?.address.toLowerCase() === whole.toLowerCase() ? learned.name : short;
  const isSaid = [whole, short, name].some((one) => title.toLowerCase().includes(one.toLowerCase()));
  return isSaid ? [] : [name];
}
