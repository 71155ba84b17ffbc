import { type AlertFilters, alertFilters, readSearch } from "../../contract/alert-query.ts";
import { wordOf } from "../../contract/panels/state-words.ts";
import { type Search, searchFields, stateFilters } from "../../contract/search-language.ts";
import { severities } from "../../core/alert.ts";
import { severityWords } from "./alert-text.tsx";

const fieldNames = ["q", "severity", "state", "destination", "route", "source", "key", "from", "to"] as const;
type FieldName = (typeof fieldNames)[number];

/** The filters of the page as they stand in its address, and what of them could not be read. */
export interface LogFilters {
  written: Partial<Record<FieldName | "view" | "span", string>>;
  read: AlertFilters;
  /** Words that are searched for, and what facts are to be, for the rows to mark. */
  hits: string[];
  /** The same of what payloads are searched for. */
  rawHits: readonly string[];
  problems: string[];
  view: LogView;
  /** What the bars cover. Default: see `stepsOf`. */
  span?: SpanName;
}

/** What the bars may cover; each is an address. */
export const spanNames = ["1h", "24h", "7d"] as const;
export type SpanName = (typeof spanNames)[number];

/** `keys`: of each alert key the newest alert, with how often it came. `events`: every alert. */
export type LogView = "keys" | "events";

/** Reads a page's address: empty fields are left out, and a wrong one costs only itself. */
export function readLogFilters(parameter: (name: string) => string | undefined): LogFilters {
  const written: LogFilters["written"] = {};
  const problems: string[] = [];
  const read: Record<string, unknown> = {};
  for (const name of fieldNames) {
    const text = parameter(name)?.trim();
    if (text === undefined || text === "") continue;
    written[name] = text;
    const isTime = name === "from" || name === "to";
    const result = alertFilters.shape[name].safeParse(isTime ? withZone(text) : text);
    if (result.success) read[name] = result.data;
    else problems.push(`${name} ${result.error.issues[0]?.message ?? "cannot be read"}`);
  }
  const { q, ...others } = read as AlertFilters;
  const search = readSearch(q, others);
  problems.push(...search.problems);
  // Its other words would find what was not asked for.
  if (search.problems.length > 0) delete read.q;
  // What was filtered for is often one of several of its key, and would be hidden behind the newest.
  const usual = Object.keys(written).length === 0 ? "keys" : "events";
  const asked = parameter("view");
  const view = asked === "keys" || asked === "events" ? asked : usual;
  if (view !== usual) written.view = view;
  const span = spanNames.find((name) => name === parameter("span"));
  if (span !== undefined) written.span = span;
  return {
    written,
    read: read as AlertFilters,
    hits: hitsOf(search.search),
    rawHits: search.search.raw ?? [],
    problems,
    view,
    span,
  };
}

function hitsOf({ q = "", phrases = [], facts = [] }: Search): string[] {
  const ofFacts = facts.flatMap((one) => ("is" in one ? [one.is] : "has" in one ? [one.has] : []));
  return [...q.split(" ").filter((word) => /[\p{L}\p{N}]/u.test(word)), ...phrases, ...ofFacts];
}

/** By anything but how the page shows it. */
export function isFiltered({ written }: Pick<LogFilters, "written">): boolean {
  const { view: _view, span: _span, ...filters } = written;
  return Object.keys(filters).length > 0;
}

/** What a browser's date and time field sends has no zone; the page says that it is UTC. */
function withZone(text: string): string {
  const time = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?$/.exec(text);
  return time === null ? text : `${time[1]}${time[2] ?? ":00"}Z`;
}

/** The address of the log with these filters. */
export function addressOf(written: LogFilters["written"], more: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...written, ...more }).toString();
  return query === "" ? "/" : `/?${query}`;
}

export interface FilterFormProps {
  filters: LogFilters;
  destinations: string[];
  routes: string[];
  /** Without any there is nothing to choose from. */
  sources: string[];
}

export function FilterForm({ filters, destinations, routes, sources }: FilterFormProps) {
  const { written } = filters;
  const { view: _view, span: _span, ...chosenFilters } = written;
  const chosen = Object.keys(chosenFilters).length;
  return (
    <form method="get" action="/" class="filters" aria-label="Filter the alerts">
      {/* Unfolds the rest of the form, without a script. */}
      <input type="checkbox" id="more" class="hidden" checked={chosen > (written.q === undefined ? 0 : 1)} />
      <div class="row">
        <label class="search">
          <span class="hidden">Search</span>
          <input
            type="search"
            name="q"
            value={written.q}
            placeholder='words, "a phrase", token:USDC value>1000000 …'
            title={`Words, a phrase in quotes, or fields: ${searchFields.join(", ")}`}
          />
        </label>
        <label for="more" class="button">
          Filters
        </label>
        <button type="submit" class="primary">
          Search
        </button>
        {chosen > 0 && <a href="/">Show all</a>}
      </div>
      <div class="more">
        <Choice name="severity" label="Severity" values={severities} chosen={written.severity} words={severityWords} />
        <Choice name="state" label="State" values={stateFilters} chosen={written.state} words={stateWords} />
        <Choice name="destination" label="Destination" values={destinations} chosen={written.destination} />
        <Choice name="route" label="Route" values={routes} chosen={written.route} />
        {(sources.length > 0 || written.source !== undefined) && (
          <Choice name="source" label="Source" values={sources} chosen={written.source} />
        )}
        <label>
          <span>From (UTC)</span>
          <input
            type="datetime-local"
            name="from"
            value={localPart(filters.read.from)}
            data-at={isoOf(filters.read.from)}
          />
        </label>
        <label>
          <span>To (UTC)</span>
          <input type="datetime-local" name="to" value={localPart(filters.read.to)} data-at={isoOf(filters.read.to)} />
        </label>
        {written.key !== undefined && (
          <label>
            <span>Alert key</span>
            <input type="text" name="key" value={written.key} />
          </label>
        )}
      </div>
      {written.view !== undefined && <input type="hidden" name="view" value={written.view} />}
      {written.span !== undefined && <input type="hidden" name="span" value={written.span} />}
    </form>
  );
}

interface ChoiceProps {
  name: FieldName;
  label: string;
  values: readonly string[];
  chosen?: string;
  /** What is shown of a value, as rows and chips say it. Default: the value itself. */
  words?: Readonly<Record<string, string>>;
}

const stateWords = Object.fromEntries(stateFilters.map((state) => [state, wordOf(state)]));

function Choice({ name, label, values, chosen, words = {} }: ChoiceProps) {
  const known = chosen === undefined || values.includes(chosen) ? values : [...values, chosen];
  return (
    <label>
      <span>{label}</span>
      <select name={name}>
        <option value="">any</option>
        {known.map((value) => (
          <option value={value} selected={value === chosen}>
            {words[value] ?? value}
          </option>
        ))}
      </select>
    </label>
  );
}

const isoOf = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());

/** What a date and time field takes: no zone. Minutes, unless the filter has seconds. */
function localPart(at: number | undefined): string | undefined {
  if (at === undefined) return undefined;
  return new Date(at).toISOString().slice(0, at % 60_000 === 0 ? 16 : 19);
}
