import { type AlertFilters, alertFilters, readSearch } from "../../contract/alert-query.ts";
import { type Search, searchFields, stateFilters } from "../../contract/search-language.ts";
import { wordOf } from "../../contract/words.ts";
import { severities } from "../../core/alert.ts";
import { severityWords } from "./alert-text.tsx";
import { Field, Hidden } from "./form-element.tsx";

type FieldName = keyof AlertFilters;
const fieldNames = alertFilters.keyof().options;

/** The filters of the page as in its address, and the problems of unreadable ones. */
export interface LogFilters {
  written: Partial<Record<FieldName | "view" | "span", string>>;
  read: AlertFilters;
  /** Searched words and facts, which the rows mark. */
  hits: string[];
  rawHits: readonly string[];
  problems: string[];
  view: LogView;
  /** The range of the bars. Default: see `stepsOf`. */
  span?: SpanName;
}

export const spanNames = ["1h", "24h", "7d"] as const;
export type SpanName = (typeof spanNames)[number];

/** `keys`: the newest alert of each key, with its count. `events`: every alert. */
export type LogView = "keys" | "events";

/** Empty fields are left out. A wrong field does not affect the others. */
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
  // A search with a problem is dropped whole: its other words alone would find too much.
  if (search.problems.length > 0) delete read.q;
  // A filtered alert is often one of several of its key. The view by keys would hide it behind the newest.
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

/** Whether a filter is set. View and span only choose how the page shows the log. */
export function isFiltered({ written }: Pick<LogFilters, "written">): boolean {
  const { view: _view, span: _span, ...filters } = written;
  return Object.keys(filters).length > 0;
}

/** A browser's date and time field sends no zone. The page says that it is UTC. */
function withZone(text: string): string {
  const time = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?$/.exec(text);
  return time === null ? text : `${time[1]}${time[2] ?? ":00"}Z`;
}

export function addressOf(written: LogFilters["written"], more: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...written, ...more }).toString();
  return query === "" ? "/" : `/?${query}`;
}

interface FilterFormProps {
  filters: LogFilters;
  destinations: string[];
  routes: string[];
  sources: string[];
}

export function FilterForm({ filters: { written, read }, destinations, routes, sources }: FilterFormProps) {
  const { view, span, ...chosen } = written;
  const count = Object.keys(chosen).length;
  const choose = (name: FieldName, label: string, values: readonly string[], words: Record<string, string> = {}) => {
    const value = written[name];
    const known = value === undefined || values.includes(value) ? values : [...values, value];
    const options = known.map((one) => [one, words[one] ?? one] as const);
    return <Field name={name} label={label} value={value} options={[["", "any"], ...options]} />;
  };
  const time = (name: "from" | "to", label: string) => (
    <label>
      <span>{label} (UTC)</span>
      <input type="datetime-local" name={name} value={localPart(read[name])} data-at={isoOf(read[name])} />
    </label>
  );
  return (
    <form method="get" action="/" class="filters" aria-label="Filter the alerts">
      {/* Unfolds the rest of the form without a script. */}
      <input type="checkbox" id="more" class="hidden" checked={count > (written.q === undefined ? 0 : 1)} />
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
        {count > 0 && <a href="/">Show all</a>}
      </div>
      <div class="more">
        {choose("severity", "Severity", severities, severityWords)}
        {choose("state", "State", stateFilters, stateWords)}
        {choose("destination", "Destination", destinations)}
        {choose("route", "Route", routes)}
        {(sources.length > 0 || written.source !== undefined) && choose("source", "Source", sources)}
        {time("from", "From")}
        {time("to", "To")}
        {written.key !== undefined && <Field name="key" label="Alert key" value={written.key} isOptional />}
      </div>
      <Hidden fields={{ view, span }} />
    </form>
  );
}

const stateWords = Object.fromEntries(stateFilters.map((state) => [state, wordOf(state)]));

const isoOf = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());

/** The value of a date and time field, without a zone. Minutes, unless the filter has seconds. */
function localPart(at: number | undefined): string | undefined {
  if (at === undefined) return undefined;
  return new Date(at).toISOString().slice(0, at % 60_000 === 0 ? 16 : 19);
}
