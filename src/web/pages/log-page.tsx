import type { Hono } from "hono";
import { countMatches, defaultPageSize, exportFormats, listAlertPage } from "../../contract/alert-query.ts";
import { inPayloads } from "../../contract/search-language.ts";
import { AppError } from "../../core/errors.ts";
import { groupThousands } from "../../ground/numbers/format-number.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { breakOffOf } from "../export.ts";
import { frameOf, type PageDeps, type WebContext, type WebEnv } from "../web-env.ts";
import { Instant } from "./instants.tsx";
import { Layout, Notice } from "./layout.tsx";
import { LogBars, stepsOf } from "./log-bars.tsx";
import { addressOf, FilterForm, isFiltered, type LogFilters, type LogView, readLogFilters } from "./log-filters.tsx";
import { AlertTable } from "./log-rows.tsx";
import { createSparks, type SparksOf } from "./log-sparks.ts";
import { resendAddress } from "./resend-page.ts";

/** The most rows that the script of an open page may ask for. */
const mostRows = 350;

function readRows(text: string | undefined): number {
  const rows = /^\d{1,3}$/.test(text ?? "") ? Number(text) : defaultPageSize;
  return Math.min(Math.max(rows, defaultPageSize), mostRows);
}

/** How long each page counts for its bars until all steps are counted, milliseconds. */
const mostBarsMs = 3;

/** `GET /`: the newest alerts, filtered by the address. `GET /export`: all of them as a file. */
export function addLogPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const sparksOf = createSparks(deps.store);

  app.get("/", async (c) => c.render(<LogPage {...(await readLog(c, deps, sparksOf))} />));

  app.get("/export", (c) => {
    const filters = readLogFilters((name) => c.req.query(name));
    const { read, problems, view } = filters;
    const format = exportFormats.find((one) => one === (c.req.query("format") ?? "csv"));
    if (format === undefined) problems.push(`format must be ${exportFormats.join(" or ")}`);
    if (format === undefined || problems.length > 0) {
      throw new AppError("invalid_request", `Nothing was exported: ${problems.join("; ")}.`, {
        hint: "Fix the filter in the log, and export from there.",
      });
    }
    return deps.answerExport({
      filters: read,
      format,
      newestOfKey: view === "keys",
      isForPeople: true,
      breakOff: breakOffOf(c),
    });
  });
}

type Log = Awaited<ReturnType<typeof readLog>>;

/** Independent reads go to the reading thread at once. */
async function readLog(c: WebContext, deps: PageDeps, sparksOf: SparksOf) {
  const { store, operations } = deps;
  const frame = frameOf(c, deps);
  const asked = readLogFilters((name) => c.req.query(name));
  const given = c.req.query("cursor");
  const cursor = given !== undefined && store.isPosition(given) ? given : undefined;
  const newestOfKey = asked.view === "keys";
  const limit = readRows(c.req.query("rows"));
  // Read before the list, so the stream sends changes that happen meanwhile.
  const [version, counts] = await Promise.all([store.latestChange(), store.countAlerts()]);
  const steps = stepsOf(asked, deps.clock.now(), counts.oldestReceivedAt);
  const [found, duplicates, counted] = await Promise.all([
    listAlertPage(store, asked.read, { limit, cursor, newestOfKey }),
    store.countDuplicates(),
    store.countOverTime(steps, mostBarsMs),
  ]);
  // A word that is in no fact may be in a body. Without any result payloads are searched unasked.
  const payloads = payloadFiltersOf(asked);
  const isNowhere = found.alerts.length === 0 && found.searchedTo === undefined && cursor === undefined;
  const unasked = isNowhere ? payloads : undefined;
  const filters = unasked ?? asked;
  const page = unasked === undefined ? found : await listAlertPage(store, unasked.read, { newestOfKey });
  const isWhole = cursor === undefined && page.nextCursor === undefined;
  const [sparks, matches] = await Promise.all([
    newestOfKey ? sparksOf(page.alerts) : undefined,
    !isFiltered(filters)
      ? undefined
      : // What was searched for a moment already is not searched once more only to be counted.
        isWhole || page.searchedTo !== undefined
        ? { count: page.alerts.length, isMore: !isWhole || page.searchedTo !== undefined }
        : countMatches(store, filters.read, { newestOfKey }),
  ]);
  return {
    ...{ frame, version, filters, page, counts, duplicates, sparks },
    isNewest: cursor === undefined,
    learnedName: deps.learnedName,
    /** The address of the same search in payloads. `unasked`: payloads were searched, since no fact has the words. */
    payloads: unasked ? ("unasked" as const) : payloads && addressOf(payloads.written),
    matches,
    bars: { steps, counted, timeZone: frame.timeZone },
    choices: {
      destinations: operations.destinationNames(),
      sources: operations.sources().map(({ name }) => name),
      routes: operations.routeNames(),
    },
  };
}

function LogPage(log: Log) {
  const { frame, filters, page, isNewest, counts, duplicates, matches, payloads, learnedName, sparks } = log;
  const { alerts, nextCursor, searchedTo, looked = 0 } = page;
  return (
    <Layout frame={frame} at="/" version={log.version}>
      <FilterForm filters={filters} {...log.choices} />
      {filters.problems.length > 0 && (
        <Notice kind="failed">Not filtered by everything: {filters.problems.join("; ")}.</Notice>
      )}
      {counts.kept > 0 && <LogBars filters={filters} {...log.bars} />}
      {isResendable(filters) && alerts.length > 0 && (
        <p>
          <a class="button" href={resendAddress(filters.written)}>
            Resend these …
          </a>
        </p>
      )}
      <div class="log-tools row">
        <ViewSwitch filters={filters} />
        <p class="soft" data-live="count">
          {matches !== undefined && <Matches {...matches} view={filters.view} />}
          {countOf(counts.kept, "alert")} stored
          {duplicates > 0 && `, ${countOf(duplicates, "duplicate")} recognised`}.
        </p>
        <span class="row">
          <button type="button" id="pause" class="plain" aria-pressed="false" hidden />
          {counts.kept > 0 && filters.problems.length === 0 && <ExportMenu filters={filters} />}
          <details name="log-tool" id="alarms" class="menu" hidden>
            <summary class="plain">Notify me</summary>
            <div>
              <label class="check">
                <input type="checkbox" name="notify" />
                <span>Notification of the browser</span>
              </label>
              <label class="check">
                <input type="checkbox" name="sound" />
                <span>Sound</span>
              </label>
              <p class="soft">For what this view shows, while the page is open.</p>
            </div>
          </details>
          <button type="button" id="keys" class="plain on-desk" hidden>
            Keys ?
          </button>
        </span>
      </div>
      <p class="news" role="status">
        <a id="news" class="button primary" href={addressOf(filters.written)} hidden>
          New alerts
        </a>
      </p>
      {payloads === "unasked" && (
        <p class="soft">
          Nothing has this in its title, text, facts or fields.{" "}
          {alerts.length > 0
            ? "These have it in the payload as it came."
            : "Payloads as they came were searched as well."}
        </p>
      )}
      {alerts.length > 0 && (
        <AlertTable
          {...{ alerts, filters, isNewest, learnedName, sparks }}
          destinations={log.choices.destinations}
          now={frame.now}
        />
      )}
      {alerts.length === 0 && searchedTo === undefined && <Empty total={counts.kept} isNewest={isNewest} />}
      {searchedTo !== undefined && <SearchedTo to={searchedTo} looked={looked} now={frame.now} found={alerts.length} />}
      <nav class="row" aria-label="Pages">
        {!isNewest && (
          <a class="button" href={addressOf(filters.written)}>
            Newest
          </a>
        )}
        {nextCursor !== undefined && (
          <a class="button" href={addressOf(filters.written, { cursor: nextCursor })} rel="next">
            {searchedTo === undefined ? "Older" : "Search further back"}
          </a>
        )}
        {payloads !== undefined && payloads !== "unasked" && (
          <a class="button" href={payloads}>
            Search payloads as they came
          </a>
        )}
      </nav>
    </Layout>
  );
}

/** Undefined without words, or where the search would be too long. */
function payloadFiltersOf({ written, read }: LogFilters): LogFilters | undefined {
  const q = read.q === undefined ? undefined : inPayloads(read.q);
  if (q === undefined) return undefined;
  const filters = readLogFilters((name) => (name === "q" ? q : written[name as keyof typeof written]));
  return filters.problems.length > 0 ? undefined : filters;
}

const isResendable = ({ read }: LogFilters) => read.state === "failed" || read.state === "expired";

function Matches({ count, isMore, view }: { count: number; isMore: boolean; view: LogView }) {
  const what = view === "keys" ? (count === 1 ? "key" : "keys") : count === 1 ? "alert" : "alerts";
  return (
    <>
      <b>
        {groupThousands(count)}
        {isMore && "+"} {what}
      </b>
      {count === 1 && !isMore ? " matches, of " : " match, of "}
    </>
  );
}

/** Finds keys whose newest alert fires. */
const firing = "status:firing";

function ViewSwitch({ filters: { written, view } }: { filters: LogFilters }) {
  const { view: _view, ...others } = written;
  const filtered = isFiltered({ written });
  const addressFor = (wanted: LogView) => addressOf(others, (wanted === "events") === filtered ? {} : { view: wanted });
  const isFiring = view === "keys" && written.q === firing;
  return (
    <nav class="views" aria-label="Rows">
      <a href={addressFor("keys")} aria-current={view === "keys" && !isFiring ? "true" : undefined}>
        Joined by key
      </a>
      <a href={addressOf({ q: firing }, { view: "keys" })} aria-current={isFiring ? "true" : undefined}>
        Still firing
      </a>
      <a href={addressFor("events")} aria-current={view === "events" ? "true" : undefined}>
        Single alerts
      </a>
      {view === "keys" && filtered && <span class="soft">Filters look at the newest alert of each key.</span>}
    </nav>
  );
}

function ExportMenu({ filters: { written, view } }: { filters: LogFilters }) {
  const { span: _span, view: _view, ...others } = written;
  const address = (rows: LogView, format: string) => `/export${addressOf(others, { view: rows, format }).slice(1)}`;
  const links = (rows: LogView) =>
    exportFormats.map((format) => <a href={address(rows, format)}>{format === "csv" ? "CSV" : "NDJSON"}</a>);
  return (
    <details name="log-tool" class="menu export">
      <summary class="plain">Export</summary>
      <div>
        {view === "keys" && (
          <p class="row">
            <b>Newest of each key</b> {links("keys")}
          </p>
        )}
        <p class="row">
          <b>{isFiltered({ written }) ? "Every alert that matches" : "Every alert"}</b> {links("events")}
        </p>
        <p class="soft">CSV for spreadsheets, NDJSON with all facts and deliveries: one alert a line.</p>
      </div>
    </details>
  );
}

/** Says how far back the search looked. Few alerts match, and to look at all would take long. */
function SearchedTo({ to, looked, now, found }: { to: number; looked: number; now: number; found: number }) {
  return (
    <div class="empty">
      {found === 0 && <h2>No match so far</h2>}
      <p>
        Searched back to <Instant at={to} now={now} />: {groupThousands(looked)} alerts. Older ones may match as well:
        search further back, or export, which looks at all of them.
      </p>
    </div>
  );
}

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
      <h2>No alert has arrived yet</h2>
      <ol>
        <li>
          Have the alerting service call this Tocsin: <code>tocsin setup</code> registers its address. To register it by
          hand, copy the address from <a href="/setup">Account</a>.
        </li>
        <li>
          Send one the whole real way: <code>tocsin test</code>, or the <code>curl</code> line on{" "}
          <a href="/setup">Account</a>.
        </li>
        <li>It appears here by itself.</li>
      </ol>
    </div>
  );
}
