import { type Command, InvalidArgumentError, Option } from "commander";
import type { AlertFilters, FailedFilters } from "../../contract/alert-query.ts";
import { severities } from "../../core/alert.ts";
import { failedStates } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import { idPartPattern } from "../../core/id.ts";
import { parseDuration, parseInstant, wholeWithin } from "../options.ts";
import { addRelayOptions, type RelayFlags, type RelayRun } from "../relay/connect-relay.ts";
import type { CliContext } from "../shell/context.ts";
import { addExamples, openOutput } from "../shell/output.ts";
import type { ExportOptions } from "./export.ts";
import { addFilterOptions, maxPageSize, parseCursor, pickFilters } from "./filters.ts";
import type { ReleaseOptions } from "./release.ts";
import type { ResendOptions } from "./resend.ts";
import type { ResendFailedOptions } from "./resend-failed.ts";
import type { TailOptions } from "./tail.ts";

type BeginRun = (command: Command, flags: RelayFlags) => RelayRun;

/** `tocsin alerts …`: the log from a terminal. */
export function registerAlerts(program: Command, context: CliContext): void {
  const alerts = program
    .command("alerts")
    .description("read the log: what arrived, where it was sent and why; resend, release what is held, export");
  addExamples(alerts, "tocsin alerts list --state failed", "tocsin alerts tail");
  const begin: BeginRun = (command, flags) => ({ context, flags, output: openOutput(context, command) });
  registerList(alerts, begin, context);
  registerShow(alerts, begin);
  registerTail(alerts, begin);
  registerResend(alerts, begin, context);
  registerRelease(alerts, begin);
  registerExport(alerts, begin, context);
}

function registerList(alerts: Command, begin: BeginRun, context: CliContext): void {
  const command = addFilterOptions(alerts.command("list").description("one page of the log, newest first"), context)
    .option("--limit <n>", "how many at most, up to 200", wholeWithin(1, maxPageSize), 50)
    .option("--cursor <cursor>", "go on after an earlier page", parseCursor)
    .action(async (options: AlertFilters & RelayFlags & { limit: number; cursor?: string }, self: Command) => {
      const { listAlerts } = await import("./list.ts");
      await listAlerts(begin(self, options), pickFilters(options), options);
    });
  addExamples(addRelayOptions(command), "tocsin alerts list --severity critical --from -6h");
}

function registerShow(alerts: Command, begin: BeginRun): void {
  const command = alerts
    .command("show")
    .description("one alert: what it says, what was decided and why, every delivery and attempt")
    .argument("<id>", "id of the alert, or its end or beginning", parseId)
    .option("--raw", "print the body as received, byte for byte")
    .option("--headers", "also show the headers of its request")
    .action(async (id: string, options: RelayFlags & { raw?: boolean; headers?: boolean }, self: Command) => {
      const { showAlert } = await import("./show.ts");
      await showAlert(begin(self, options), id, options);
    });
  addExamples(
    addRelayOptions(command),
    "tocsin alerts show ac120002",
    "tocsin alerts show 019aa5a0-7c3e-7d2a-9b1c-0242ac120002 --raw > body.json",
  );
}

function registerTail(alerts: Command, begin: BeginRun): void {
  const command = alerts
    .command("tail")
    .description("follow the log: each alert as it arrives, and its outcome, until Ctrl-C")
    .option("-n, --lines <n>", "begin with this many that are there already", wholeWithin(0, maxPageSize), 20)
    .addOption(new Option("--severity <severity>", "only of this severity").choices(severities))
    .option("--destination <name>", "only what goes to this destination")
    .action(async (options: RelayFlags & TailOptions, self: Command) => {
      const { tailAlerts } = await import("./tail.ts");
      await tailAlerts(begin(self, options), options);
    });
  addExamples(addRelayOptions(command), "tocsin alerts tail -n 5 --severity critical");
}

function registerResend(alerts: Command, begin: BeginRun, context: CliContext): void {
  const parseTime = (text: string) => parseInstant(text, context.now());
  const command = alerts
    .command("resend")
    .description(
      "send one alert once more, or with --failed all that failed; asks first on a terminal when it goes to several",
    )
    .argument("[id]", "id of the alert, or its end or beginning", parseId)
    .option("--to <destination>", "one alert: to this destination (default: to all that it had)")
    .option("--wait", "one alert: wait for the outcome; exit status 1 unless all were sent")
    .addOption(
      new Option("--timeout <duration>", "wait at most this long").argParser(parseDuration).default(60_000, "60s"),
    )
    .option("--failed", "everything that failed and was not resent, to where it failed")
    .option("--destination <name>", "with --failed: only what failed there")
    .addOption(new Option("--state <state>", "with --failed: only these (default: both)").choices(failedStates))
    .addOption(new Option("--severity <severity>", "with --failed: only of this severity").choices(severities))
    .option("-q, --q <words>", "with --failed: only alerts with all these words")
    .option("--from <time>", "with --failed: received at or after: ISO 8601, or e.g. -6h", parseTime)
    .option("--until <time>", "with --failed: received at or before", parseTime)
    .option("--dry-run", "with --failed: show how much it is and resend nothing")
    .option("--yes", "do not ask; needed for --failed where nobody can be asked")
    .action(async (id: string | undefined, options: RelayFlags & ResendFlags, self: Command) => {
      const run = begin(self, options);
      requireOneWay(id, options);
      if (id !== undefined) {
        const { resendAlert } = await import("./resend.ts");
        await resendAlert(run, id, options);
        return;
      }
      const { resendFailed } = await import("./resend-failed.ts");
      const { q, severity, state, destination, from, until } = options;
      await resendFailed(run, { q, severity, state, destination, from, to: until }, options);
    });
  addExamples(
    addRelayOptions(command),
    "tocsin alerts resend ac120002 --to desk --wait",
    "tocsin alerts resend --failed --destination desk --from -6h",
  );
}

interface ResendFlags extends ResendOptions, ResendFailedOptions, Omit<FailedFilters, "to"> {
  failed?: boolean;
  until?: number;
}

/** @throws AppError `usage` unless it is one alert, or all that failed, with what belongs to that. */
function requireOneWay(id: string | undefined, options: ResendFlags): void {
  if ((id === undefined) === (options.failed === undefined)) {
    throw new AppError("usage", "resend what? Give either the id of one alert or --failed", {
      hint: "see how much failed with: tocsin alerts resend --failed --dry-run",
    });
  }
  const { destination, state, severity, q, from, until, dryRun } = options;
  const ofFailed = Object.entries({ destination, state, severity, q, from, until, "dry-run": dryRun });
  const ofOne = Object.entries({ to: options.to, wait: options.wait });
  const wrong = (id === undefined ? ofOne : ofFailed).find(([, value]) => value !== undefined);
  if (wrong === undefined) return;
  const why = id === undefined ? "goes with the id of one alert" : "goes with --failed";
  throw new AppError("usage", `--${wrong[0]} ${why}`);
}

function registerRelease(alerts: Command, begin: BeginRun): void {
  const command = alerts
    .command("release")
    .description("send now what quiet hours hold, as the summary that their end would bring")
    .argument("[ids...]", "ids of alerts (default: all that is held); of these also what may have arrived", collectIds)
    .option("--destination <name>", "only for this destination")
    .option("-y, --yes", "do not ask")
    .action(async (ids: string[], options: RelayFlags & ReleaseOptions, self: Command) => {
      const { releaseHeld } = await import("./release.ts");
      await releaseHeld(begin(self, options), ids, options);
    });
  addExamples(
    addRelayOptions(command),
    "tocsin alerts release --destination night-desk",
    "tocsin alerts release ac120002",
  );
}

function registerExport(alerts: Command, begin: BeginRun, context: CliContext): void {
  const command = addFilterOptions(
    alerts.command("export").description("write the log to a file or to stdout, newest first, in flat memory"),
    context,
  )
    .addOption(
      new Option("--format <format>", "ndjson: one alert a line with its deliveries; csv: for spreadsheets")
        .choices(["ndjson", "csv"])
        .default("ndjson"),
    )
    .option("--full", "with decisions, attempts, headers and raw bodies: all that the log has of each")
    .option("-o, --output <file>", "file to write; it gets its name when it is complete")
    .action(async (options: AlertFilters & RelayFlags & ExportOptions, self: Command) => {
      const { exportAlerts } = await import("./export.ts");
      await exportAlerts(begin(self, options), pickFilters(options), options);
    });
  addExamples(
    addRelayOptions(command),
    "tocsin alerts export --format csv --from -7d --output week.csv",
    "tocsin alerts export --state failed | wc -l",
    "tocsin alerts export --format ndjson --full --to -30d --output old.ndjson",
  );
}

/** The id, or a part of it that `resolveId` finds it by. */
function parseId(text: string): string {
  const id = text.toLowerCase();
  if (idPartPattern.test(id)) return id;
  throw new InvalidArgumentError(
    "an id looks like 019aa5a0-7c3e-7d2a-9b1c-0242ac120002; its last 8 characters will do; see: tocsin alerts list",
  );
}

function collectIds(text: string, before: string[] = []): string[] {
  return [...before, parseId(text)];
}
