import { severities } from "../../core/alert.ts";
import { type AlertFilters, alertFilters, stateFilters } from "../alert-query.ts";

const fieldNames = ["q", "severity", "state", "destination", "source", "from", "to"] as const;
type FieldName = (typeof fieldNames)[number];

/** The filters of the page as they stand in its address, and what of them could not be read. */
export interface LogFilters {
  written: Partial<Record<FieldName, string>>;
  read: AlertFilters;
  problems: string[];
}

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
  return { written, read: read as AlertFilters, problems };
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
  /** Without any there is nothing to choose from. */
  sources: string[];
}

export function FilterForm({ filters, destinations, sources }: FilterFormProps) {
  const { written } = filters;
  const chosen = Object.keys(written).length;
  return (
    <form method="get" action="/" class="filters" aria-label="Filter the alerts">
      <label class="search">
        <span>Search</span>
        <input type="search" name="q" value={written.q} placeholder="title, token, chain, id …" />
      </label>
      {/* On a narrow screen it stands for the rest of the form; elsewhere all of it is there. */}
      <input type="checkbox" id="more" checked={chosen > (written.q === undefined ? 0 : 1)} />
      <label for="more" class="more-label">
        More filters
      </label>
      <Choice name="severity" label="Severity" values={severities} chosen={written.severity} />
      <Choice name="state" label="State" values={stateFilters} chosen={written.state} />
      <Choice name="destination" label="Destination" values={destinations} chosen={written.destination} />
      {(sources.length > 0 || written.source !== undefined) && (
        <Choice name="source" label="Source" values={sources} chosen={written.source} />
      )}
      <label class="more wide-field">
        <span>From (UTC)</span>
        <input type="datetime-local" name="from" value={localPart(filters.read.from)} />
      </label>
      <label class="more wide-field">
        <span>To (UTC)</span>
        <input type="datetime-local" name="to" value={localPart(filters.read.to)} />
      </label>
      <div class="buttons">
        <button type="submit" class="primary">
          Filter
        </button>
        {chosen > 0 && <a href="/">Show all</a>}
      </div>
    </form>
  );
}

interface ChoiceProps {
  name: FieldName;
  label: string;
  values: readonly string[];
  chosen?: string;
}

function Choice({ name, label, values, chosen }: ChoiceProps) {
  const known = chosen === undefined || values.includes(chosen) ? values : [...values, chosen];
  return (
    <label class="more">
      <span>{label}</span>
      <select name={name}>
        <option value="">any</option>
        {known.map((value) => (
          <option value={value} selected={value === chosen}>
            {value}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What a date and time field takes: no zone. Minutes, unless the filter has seconds. */
function localPart(at: number | undefined): string | undefined {
  if (at === undefined) return undefined;
  return new Date(at).toISOString().slice(0, at % 60_000 === 0 ? 16 : 19);
}
