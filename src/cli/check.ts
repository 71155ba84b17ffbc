import type { ConfigDescription } from "../config/describe-config.ts";
import { command, type Run } from "./command.ts";
import { configFile } from "./options.ts";
import { withConfig } from "./relay/connect-relay.ts";
import { joinSections, type Output } from "./shell/output.ts";
import { terminalText } from "./shell/terminal-text.ts";

/**
 * `tocsin check`: all mistakes of the configuration with their lines, or what is configured. Starts and sends
 * nothing.
 */
export const check = command({
  name: "check",
  summary: "every mistake of the configuration, with its line",
  says: "validate the configuration: every mistake with its line, or the destinations and routes that it makes",
  options: { config: configFile },
  examples: ["tocsin check", "tocsin check --config staging.yaml --json"],
  run: checkConfig,
});

async function checkConfig({ config: file }: { config?: string }, run: Run): Promise<void> {
  const { loadConfig } = await import("../config/load-config.ts");
  const { ConfigError } = await import("../config/shape/problem-list.ts");
  const { findDataDirProblem } = await import("../config/check-data-dir.ts");
  const { describeConfig } = await import("../config/describe-config.ts");
  const { context, output } = withConfig(run, file);
  try {
    const description = describeConfig(
      loadConfig({ env: context.env, cwd: context.cwd, inspectDataDir: findDataDirProblem }),
    );
    await output.result({ valid: true, ...description }, () => formatDescription(description, output));
    for (const { where, message, instead } of description.warnings) {
      await output.note(`warning: ${where}: ${message}${instead === undefined ? "" : ` (${instead})`}`);
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    context.setExitStatus(2);
    await output.result({ valid: false, problems: error.problems }, () => toText(error.message));
  }
}

function formatDescription(description: ConfigDescription, output: Output): string {
  const { file, server, upstream, market, retention, heartbeat, silence, canary } = description;
  const { destinations, routes, mutes, mapping, sources } = description;
  const sections = [
    output.fields([
      ["configuration", file ?? "environment variables only"],
      ["listens on", server.listensOn],
      ["public address", server.publicUrl ?? "not set (PUBLIC_URL)"],
      ...(server.dataDir ? [["data", server.dataDir] as [string, string]] : []),
      ...(server.database ? [["database", server.database] as [string, string]] : []),
      ...(server.spool ? [["spool", server.spool] as [string, string]] : []),
      ["alerting interface", upstream.alerting ?? "not set (needs both ALERTING_URL and ALERTING_API_KEY)"],
      ["of the market", market.length === 0 ? "nothing is asked" : market.join(", ")],
      ["kept for", retention],
      ...(heartbeat ? [["heartbeat", describeHeartbeat(heartbeat)] as [string, string]] : []),
      ...(canary ? [["canary", describeCanary(canary)] as [string, string]] : []),
      ["silence", silence.length === 0 ? "not watched (silence)" : silence.join(", ")],
    ]),
    destinations.length === 0
      ? "No destination: alerts are stored and shown, and sent to nobody."
      : output.table(
          [
            { title: "destination", keep: true },
            { title: "type", keep: true },
            { title: "reaches" },
            { title: "quiet hours", optional: true },
            { title: "detail", optional: true },
            { title: "defined at" },
          ],
          destinations.map((one) => [
            one.name,
            one.type,
            one.reaches,
            one.quietHours ?? "",
            one.detail ?? "",
            one.definedAt,
          ]),
        ),
    routes.length === 0
      ? ""
      : output.table(
          [{ title: "route", keep: true }, ...["when", "to", "then"].map((title) => ({ title }))],
          routes.map((one) => [one.name, one.when, one.to.join(", ") || "nobody (dropped on purpose)", thenOf(one)]),
        ),
  ];
  if (mutes.length > 0) {
    sections.push(
      output.table(
        ["mute", "reason", "until"].map((title) => ({ title })),
        mutes.map((one) => [one.when, one.reason, one.until]),
      ),
    );
  }
  if (sources.length > 0) {
    const rows = sources.map((one) => [
      one.name,
      one.secret,
      one.checks.join(", "),
      one.idempotency.join(", "),
      describeMapping(one.mapping),
    ]);
    const columns = ["source", "secret", "check", "idempotency", "mapping"].map((title) => ({ title }));
    sections.push(output.table(columns, rows));
  }
  if (mapping !== undefined) {
    const { severities = {}, ...places } = mapping;
    const rows = Object.entries(places).map(([fact, paths]) => [fact, `${paths.join(", else ")}, else guessed`]);
    for (const [word, severity] of Object.entries(severities)) rows.push([`severity "${word}"`, severity]);
    sections.push(output.table([{ title: "fact", keep: true }, { title: "read from" }], rows));
  }
  return `${joinSections(sections)}\nThe configuration is in order.\n`;
}

function describeHeartbeat({ to, service, every }: NonNullable<ConfigDescription["heartbeat"]>): string {
  return `to ${to} every ${every}${service === "other" ? "" : ` (${service})`}`;
}

function describeCanary({ when, to }: NonNullable<ConfigDescription["canary"]>): string {
  return `${when}${to.length === 0 ? "" : `; to ${to.join(", ")}`}`;
}

function describeMapping(mapping: ConfigDescription["mapping"] = {}): string {
  return Object.keys(mapping).join(", ");
}

function thenOf(route: ConfigDescription["routes"][number]): string {
  const parts = [route.continue ? "continue" : "stop"];
  if (route.fallback !== undefined) parts.push(`fallback ${route.fallback}`);
  return parts.join(", ");
}

function toText(message: string): string {
  return `${message.split("\n").map(terminalText).join("\n")}\n`;
}
