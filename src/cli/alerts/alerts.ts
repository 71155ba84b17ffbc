import { setImmediate as nextTurn } from "node:timers/promises";
import type { AlertFilters } from "../../contract/alert-query.ts";
import type { Said } from "../../contract/api.ts";
import type { Client } from "../../contract/client.ts";
import type { AlertDetailView, AlertView } from "../../contract/operations.ts";
import { stateFilters } from "../../contract/search-language.ts";
import { severities } from "../../core/alert.ts";
import { failedStates } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import { idPartPattern } from "../../core/id.ts";
import { command, type GivenOptions, group, type Run } from "../command.ts";
import { choice, duration, flag, instant, many, reader, text, Unreadable, whole, yes } from "../options.ts";
import { relayOptions, unlessMissing } from "../relay/connect-relay.ts";
import { question } from "../relay/question.ts";
import { refuseAlone } from "../shell/confirm.ts";

const filterOptions = {
  q: text('words, a "phrase", or fields: token:USDC severity:critical value>1000000 route:desk state:failed', {
    short: "q",
    of: "words",
  }),
  severity: choice(severities, "only of this severity"),
  state: choice(stateFilters, "a state of at least one delivery, or of the alert itself"),
  destination: text("only what was to go to this destination", { of: "name" }),
  route: text("only what went by this route", { of: "name" }),
  key: text("only alerts with this alert key, as `alerts show` says it"),
  source: text("only what arrived at the hook of this source", { of: "name" }),
  from: instant("received at or after: ISO 8601, or e.g. -6h"),
  to: instant("received at or before"),
};

export function filtersOf(options: AlertFilters): AlertFilters {
  return Object.fromEntries(Object.entries(options).filter(([name]) => name in filterOptions));
}

function isFiltered(options: AlertFilters): boolean {
  return Object.values(filtersOf(options)).some((value) => value !== undefined);
}

async function refuseSearch(options: AlertFilters): Promise<AppError | undefined> {
  const { readSearch } = await import("../../contract/alert-query.ts");
  const { q, from: _from, to: _to, ...others } = filtersOf(options);
  const { problems } = readSearch(q, others);
  if (problems.length === 0) return undefined;
  return new AppError("usage", `-q cannot be read: ${problems.join("; ")}`, {
    hint: "what it may say: tocsin alerts list --help",
  });
}

/** The API's limit. Repeated here, as the help must not load the schemas. */
const maxPageSize = 200;

/** Newest first, page by page, so a log of any length needs the memory of one page. `limit`: of all pages. */
export async function* walkLog(
  client: Pick<Client, "listAlerts">,
  filters: AlertFilters,
  signal: AbortSignal,
  { limit: left = Number.POSITIVE_INFINITY, cursor }: { limit?: number; cursor?: string } = {},
): AsyncGenerator<Said<"listAlerts">> {
  for (;;) {
    signal.throwIfAborted();
    const page = await client.listAlerts({ ...filters, limit: Math.min(left, maxPageSize), cursor });
    yield page;
    left -= page.data.length;
    if (page.meta.nextCursor === null || left <= 0) return;
    cursor = page.meta.nextCursor;
  }
}

export async function readFullPage(...asked: Parameters<typeof walkLog>): Promise<Said<"listAlerts">> {
  const all: Said<"listAlerts"> = { data: [], meta: { nextCursor: null } };
  for await (const { data, meta } of walkLog(...asked)) {
    all.data.push(...data);
    all.meta = { nextCursor: meta.nextCursor };
  }
  return all;
}

/** Asked one by one, each alert would wait for the relay. The bodies of more might not fit into memory. */
const askedAtOnce = 8;

/** A missing alert has been removed since its page was read. */
export async function* findEach(
  client: Pick<Client, "findAlert">,
  alerts: readonly AlertView[],
  signal: AbortSignal,
): AsyncGenerator<AlertDetailView> {
  for (let from = 0; from < alerts.length; from += askedAtOnce) {
    // A database file is read in this thread, so without this Ctrl-C would wait for the end.
    await nextTurn();
    signal.throwIfAborted();
    const asked = alerts.slice(from, from + askedAtOnce).map(({ id }) => unlessMissing(client.findAlert({ id })));
    for (const alert of await Promise.all(asked)) if (alert !== undefined) yield alert;
  }
}

const alertId = reader(readId);
const idOfAlert = "id of the alert, or its end or beginning";

const list = question({
  name: "list",
  says: "one page of the log, newest first",
  options: {
    ...filterOptions,
    limit: whole("how many at most, up to 200", { from: 1, to: maxPageSize, default: "50" }),
    cursor: reader(readCursor)("continue after an earlier page"),
  },
  check: refuseSearch,
  examples: ["tocsin alerts list --severity critical --from -6h"],
  of: "listAlerts",
  ask: (client, given, { context }) => readFullPage(client, filtersOf(given), context.signal, given),
  async show({ data }, given, { output }) {
    const { logPanel } = await import("../../panels/log.ts");
    return logPanel(data, isFiltered(given), output.width);
  },
  hint: ({ meta }) => (meta.nextCursor === null ? undefined : `older ones: --cursor ${meta.nextCursor}`),
});

const show = question({
  name: "show",
  says: "one alert: what it says, what was decided and why, every delivery and attempt",
  args: { id: alertId(idOfAlert) },
  options: { headers: flag("also show the headers of its request") },
  examples: [
    "tocsin alerts show ac120002",
    "tocsin alerts show 019aa5a0-7c3e-7d2a-9b1c-0242ac120002 --raw > body.json",
  ],
  of: "findAlert",
  ask: async (client, { id }) => (await import("./one-alert.ts")).findAlert(client, id),
  async show(alert, { headers }, { output }, client) {
    const { alertPanel } = await import("../../panels/alert.ts");
    const { outcomeContext } = await import("./one-alert.ts");
    return alertPanel(alert, { ...(await outcomeContext(client, output)), headers });
  },
  body: async (alert) => (await import("./one-alert.ts")).requireBody(alert),
});

const tailOptions = {
  lines: whole("begin with this many earlier alerts", { short: "n", to: maxPageSize, default: "20" }),
  severity: filterOptions.severity,
  destination: text("only what goes to this destination", { of: "name" }),
  ...relayOptions,
};
export type TailOptions = Partial<GivenOptions<typeof tailOptions>> & { lines: number };

const tail = command({
  name: "tail",
  says: "follow the log: each alert as it arrives, and its outcome, until Ctrl-C",
  options: tailOptions,
  examples: ["tocsin alerts tail -n 5 --severity critical"],
  run: async (given, run) => (await import("./tail.ts")).tailAlerts(run, given),
});

const resendOptions = {
  to: text("one alert: to this destination (default: to all that it had)", { of: "destination" }),
  wait: flag("one alert: wait for the outcome; exit status 1 unless all were sent"),
  timeout: duration("wait at most this long", { default: "60s" }),
  failed: flag("everything that failed and was not resent, to where it failed"),
  destination: text("with --failed: only what failed there", { of: "name" }),
  state: choice(failedStates, "with --failed: only these (default: both)"),
  severity: choice(severities, "with --failed: only of this severity"),
  q: text("with --failed: only alerts with all these words", { short: "q", of: "words" }),
  from: instant("with --failed: received at or after: ISO 8601, or e.g. -6h"),
  until: instant("with --failed: received at or before"),
  dryRun: flag("with --failed: show how much it is and resend nothing"),
  yes: flag("do not ask; needed for --failed where nobody can be asked"),
  ...relayOptions,
};
export type ResendOptions = GivenOptions<typeof resendOptions>;

const resend = command({
  name: "resend",
  says: "send one alert once more, or with --failed all that failed; asks first on a terminal when it goes to several",
  args: { id: alertId(idOfAlert, { optional: true }) },
  options: resendOptions,
  check: requireOneWay,
  examples: [
    "tocsin alerts resend ac120002 --to desk --wait",
    "tocsin alerts resend --failed --destination desk --from -6h",
  ],
  run: async (given, run) => {
    const { id, state, until } = given;
    const { resendAlert, resendFailed } = await import("./resend.ts");
    if (id !== undefined) return resendAlert(run, id, given);
    await resendFailed(run, { ...filtersOf({ ...given, to: until }), state }, given);
  },
});

async function requireOneWay({ id, ...options }: ResendOptions & { id?: string }, { context }: Pick<Run, "context">) {
  if ((id === undefined) === (options.failed === undefined)) {
    return new AppError("usage", "resend what? Give either the id of one alert or --failed", {
      hint: "see how much failed with: tocsin alerts resend --failed --dry-run",
    });
  }
  const { destination, state, severity, q, from, until, dryRun, to, wait } = options;
  const ofFailed = Object.entries({ destination, state, severity, q, from, until, "dry-run": dryRun });
  const wrong = (id === undefined ? Object.entries({ to, wait }) : ofFailed).find(([, value]) => value !== undefined);
  const why = id === undefined ? "goes with the id of one alert" : "goes with --failed";
  if (wrong !== undefined) return new AppError("usage", `--${wrong[0]} ${why}`);
  const unread = id === undefined ? await refuseSearch({ state, severity, destination, q }) : undefined;
  if (unread !== undefined || id !== undefined || options.yes || dryRun) return unread;
  return refuseAlone(context, "--failed", "see the number first with: tocsin alerts resend --failed --dry-run");
}

const release = question({
  name: "release",
  says: "send now what quiet hours hold, as the summary that their end would bring",
  args: {
    ids: many(
      alertId("ids of alerts (default: all that are held); with ids also those that may have arrived", {
        optional: true,
      }),
    ),
  },
  options: { destination: text("only for this destination", { of: "name" }), yes },
  check: ({ ids = [], yes: isAgreed }, { context }) =>
    ids.length > 0 || isAgreed
      ? undefined
      : refuseAlone(context, "releasing without ids", "see what is held with: tocsin alerts list --state held"),
  examples: ["tocsin alerts release --destination night-desk", "tocsin alerts release ac120002"],
  of: "release",
  ask: async (...asked) => (await import("./resend.ts")).release(...asked),
  async show(released, _given, _run, client) {
    const { releasedPanel } = await import("../../panels/destinations.ts");
    return releasedPanel(released, await client.listDestinations());
  },
});

const exportOptions = {
  ...filterOptions,
  format: choice(["ndjson", "csv"], "ndjson: one alert a line with its deliveries; csv: for spreadsheets", {
    default: "ndjson",
  }),
  full: flag("with decisions, attempts, headers and raw bodies: all that the log has of each"),
  output: text("file to write; it gets its name when it is complete", { short: "o", of: "file" }),
  ...relayOptions,
};
export type ExportOptions = GivenOptions<typeof exportOptions>;

const exportLog = command({
  name: "export",
  says: "write the log to a file or to stdout, newest first",
  options: exportOptions,
  check: ({ format, full, output: file, ...given }, { output }) => {
    if (output.json && file === undefined) {
      return new AppError("usage", "with --json the export itself cannot go to stdout", { hint: "say --output FILE" });
    }
    if (!full || format === "ndjson") return refuseSearch(given);
    return new AppError("usage", "--full goes with --format ndjson", {
      hint: "a table has no place for bodies and attempts",
    });
  },
  examples: [
    "tocsin alerts export --format csv --from -7d --output week.csv",
    "tocsin alerts export --state failed | wc -l",
    "tocsin alerts export --format ndjson --full --to -30d --output old.ndjson",
  ],
  run: async (given, run) => (await import("./export.ts")).exportAlerts(run, given),
});

export const alerts = group({
  name: "alerts",
  summary: "the log: list, show, tail, resend, release, export",
  says: "read the log: what arrived, where it was sent and why; resend, release what is held, export",
  examples: ["tocsin alerts list --state failed", "tocsin alerts tail"],
  commands: [list, show, tail, resend, release, exportLog],
});

/** The id, or a part of it for `resolveId`. */
function readId(given: string): string {
  const id = given.toLowerCase();
  if (idPartPattern.test(id)) return id;
  throw new Unreadable(
    "an id looks like 019aa5a0-7c3e-7d2a-9b1c-0242ac120002; its last 8 characters will do; see: tocsin alerts list",
  );
}

function readCursor(given: string): string {
  if (/^\d[\w.-]{0,99}$/.test(given)) return given;
  throw new Unreadable("give meta.nextCursor of the page before");
}
