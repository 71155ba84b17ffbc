import type { Hono } from "hono";
import type { DestinationView, SourceView } from "../../core/operations.ts";
import type { AlertCounts, AlertSummary, ChangeCursor, Position } from "../../core/ports/alert-log.ts";
import { listAlertPage } from "../alert-query.ts";
import type { WebEnv } from "../web-env.ts";
import { SeverityMark, titleOf, ValueText } from "./alert-text.tsx";
import { DeliveryChips } from "./delivery-chips.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant } from "./instants.tsx";
import { HeadRow, Layout, Notice } from "./layout.tsx";
import { addressOf, FilterForm, type LogFilters, readLogFilters } from "./log-filters.tsx";
import { resendAddress } from "./resend-page.tsx";

/** `GET /`: the newest alerts, filtered by the address; older ones by its cursor. */
export function addLogPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { store, operations } = deps;

  app.get("/", async (c) => {
    const filters = readLogFilters((name) => c.req.query(name));
    const asked = c.req.query("cursor");
    const cursor = asked !== undefined && store.isPosition(asked) ? asked : undefined;
    const [version, page, counts, duplicates, destinations] = await Promise.all([
      // Asked before the list, so that whatever changes while it is read comes by the stream.
      store.latestChange(),
      listAlertPage(store, filters.read, { cursor }),
      store.countAlerts(),
      store.countDuplicates(),
      operations.destinations(),
    ]);
    return c.html(
      <LogPage
        frame={frameOf(c, deps)}
        version={version}
        filters={filters}
        isNewest={cursor === undefined}
        alerts={page.alerts}
        nextCursor={page.nextCursor}
        searchedTo={page.searchedTo}
        counts={counts}
        duplicates={duplicates}
        destinations={destinations}
        sources={operations.sources()}
      />,
    );
  });
}

interface LogPageProps {
  frame: Frame;
  version: ChangeCursor;
  filters: LogFilters;
  /** Nothing newer stands before the first row. */
  isNewest: boolean;
  alerts: AlertSummary[];
  nextCursor?: Position;
  /** Older alerts were not looked at yet, and may match as well. */
  searchedTo?: number;
  counts: AlertCounts;
  duplicates: number;
  destinations: DestinationView[];
  sources: SourceView[];
}

function LogPage(props: LogPageProps) {
  const { frame, filters, alerts, isNewest, nextCursor, searchedTo, counts, duplicates } = props;
  return (
    <Layout frame={frame} title="Alerts" section="/" version={props.version}>
      <h1 class="hidden">Alerts</h1>
      <FilterForm
        filters={filters}
        destinations={props.destinations.map(({ name }) => name)}
        sources={props.sources.map(({ name }) => name)}
      />
      {filters.problems.length > 0 && (
        <Notice kind="failed">Not filtered by everything: {filters.problems.join("; ")}.</Notice>
      )}
      <p class="count" data-live="count">
        {counts.kept} {counts.kept === 1 ? "alert" : "alerts"} stored
        {counts.lastReceivedAt !== undefined && (
          <>
            , the last <Instant at={counts.lastReceivedAt} now={frame.now} show="relative" />
          </>
        )}
        {duplicates > 0 && `, ${duplicates} ${duplicates === 1 ? "duplicate" : "duplicates"} recognised`}.
      </p>
      {(filters.read.state === "failed" || filters.read.state === "expired") && alerts.length > 0 && (
        <p class="count">
          <a class="button" href={resendAddress(filters.written)}>
            {resendWords(filters, props.destinations)}
          </a>
        </p>
      )}
      <p class="news" role="status">
        <a id="news" href={addressOf(filters.written)} hidden>
          New alerts
        </a>
      </p>
      {alerts.length > 0 && <AlertTable alerts={alerts} now={frame.now} isNewest={isNewest} />}
      {alerts.length === 0 && searchedTo === undefined && <Empty total={counts.kept} isNewest={isNewest} />}
      {searchedTo !== undefined && <SearchedTo at={searchedTo} now={frame.now} found={alerts.length} />}
      <nav class="pager" aria-label="Pages">
        {!isNewest && <a href={addressOf(filters.written)}>Newest</a>}
        {nextCursor !== undefined && (
          <a href={addressOf(filters.written, { cursor: nextCursor })} rel="next">
            {searchedTo === undefined ? "Older" : "Search further back"}
          </a>
        )}
      </nav>
    </Layout>
  );
}

/** Its number is on the next page where it would have to be counted first. */
function resendWords({ read }: LogFilters, destinations: DestinationView[]): string {
  const { state, destination, ...others } = read;
  const isCounted = Object.values(others).every((value) => value === undefined);
  if (!isCounted || (state !== "failed" && state !== "expired")) return "Resend these …";
  const counted = destinations.filter(({ name }) => destination === undefined || name === destination);
  const number = counted.reduce((sum, { counts }) => sum + (counts[state] ?? 0), 0);
  if (number === 0) return "Resend these …";
  return destination === undefined ? `Resend ${number} ${state}` : `Resend ${number} ${state} to ${destination}`;
}

function AlertTable({ alerts, now, isNewest }: { alerts: AlertSummary[]; now: number; isNewest: boolean }) {
  return (
    <table class="alerts" data-newest={isNewest ? "" : undefined}>
      <HeadRow names={["Received", "Severity", "Alert", "Value", "Deliveries"]} />
      <tbody id="rows">
        {alerts.map((alert) => (
          <AlertRow alert={alert} now={now} />
        ))}
      </tbody>
    </table>
  );
}

function AlertRow({ alert, now }: { alert: AlertSummary; now: number }) {
  const { facts } = alert;
  const about = [facts?.token, facts?.chain, facts?.metric].filter((text) => text !== undefined);
  return (
    <tr id={`alert-${alert.id}`} data-version={alert.version}>
      <td class="when">
        <Instant at={alert.receivedAt} now={now} />
      </td>
      <td class="how">{facts && <SeverityMark severity={facts.severity} status={facts.status} />}</td>
      <td class="what">
        <a href={`/alerts/${alert.id}`} dir="auto">
          {titleOf(alert)}
        </a>
        {alert.origin !== "hook" && <span class="origin">{alert.origin}</span>}
        {alert.source !== undefined && <span class="origin">{alert.source}</span>}
        {about.length > 0 && (
          <span class="about">
            {about.map((text) => (
              <bdi>{text}</bdi>
            ))}
          </span>
        )}
      </td>
      <td class="number">
        <ValueText alert={alert} />
      </td>
      <td class="where">
        <DeliveryChips alert={alert} />
      </td>
    </tr>
  );
}

/** Few alerts match, and to look at all of them would take long. */
function SearchedTo({ at, now, found }: { at: number; now: number; found: number }) {
  return (
    <div class="empty">
      {found === 0 && <h2>No match so far</h2>}
      <p>
        Searched back to <Instant at={at} now={now} />. Older alerts may match as well.
      </p>
    </div>
  );
}

/** Says what to do next. */
function Empty({ total, isNewest }: { total: number; isNewest: boolean }) {
  if (total > 0) {
    return (
      <div class="empty">
        <h2>{isNewest ? "No alert matches" : "No older alert matches"}</h2>
        <p>
          Take a filter away, or <a href="/">show all {total}</a>. Words are searched in titles, texts and fields, from
          the start of each word.
        </p>
      </div>
    );
  }
  return (
    <div class="empty">
      <h2>No alert has come yet</h2>
      <ol>
        <li>
          Have the alerting service call this Tocsin: <code>tocsin setup</code> registers its address. To register it by
          hand, copy the address from <a href="/setup">Setup</a>.
        </li>
        <li>
          Send one the whole real way: <code>tocsin test</code>, or the <code>curl</code> line on{" "}
          <a href="/setup">Setup</a>.
        </li>
        <li>It appears here by itself.</li>
      </ol>
    </div>
  );
}
