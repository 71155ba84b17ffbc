import type { ConfigDescription } from "../config/describe-config.ts";
import type { Panel } from "../panels/panel.ts";
import { factsOf, paragraph, tableOf } from "../panels/sections.ts";
import { command, type Run } from "./command.ts";
import { configFile } from "./options.ts";
import { withConfig } from "./relay/connect-relay.ts";
import { terminalLines } from "./shell/output.ts";

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
  const { ConfigError, lineOf } = await import("../config/shape/problem-list.ts");
  const { findDataDirProblem } = await import("../config/check-data-dir.ts");
  const { describeConfig } = await import("../config/describe-config.ts");
  const { context, output } = withConfig(run, file);
  try {
    const description = describeConfig(
      loadConfig({ env: context.env, cwd: context.cwd, inspectDataDir: findDataDirProblem }),
    );
    await output.result({ valid: true, ...description }, () => configurationPanel(description));
    for (const warning of description.warnings) await output.note(`warning: ${lineOf(warning)}`);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    context.setExitStatus(2);
    await output.result({ valid: false, problems: error.problems }, () => `${terminalLines(error.message)}\n`);
  }
}

function configurationPanel(description: ConfigDescription): Panel {
  const { file, server, upstream, market, retention, heartbeat, silence, canary } = description;
  const { destinations, routes, inhibit, mutes, mapping = {}, sources } = description;
  const { severities = {}, ...places } = mapping;
  const facts = [
    ...Object.entries(places).map(([fact, paths]) => [fact, `${paths.join(", else ")}, else guessed`] as const),
    ...Object.entries(severities).map(([word, severity]) => [`severity "${word}"`, severity] as const),
  ];
  const service = heartbeat && (heartbeat.service === "other" ? "" : ` (${heartbeat.service})`);
  const gets = canary && canary.to.length > 0 && `; to ${canary.to.join(", ")}`;
  return [
    factsOf([
      ["configuration", file ?? "environment variables only"],
      ["listens on", server.listensOn],
      ["public address", server.publicUrl ?? "not set (PUBLIC_URL)"],
      ["data", server.dataDir],
      ["database", server.database],
      ["spool", server.spool],
      ["alerting interface", upstream.alerting ?? "not set (needs both ALERTING_URL and ALERTING_API_KEY)"],
      ["of the market", market.length === 0 ? "nothing is asked" : market.join(", ")],
      ["kept for", retention],
      ["heartbeat", heartbeat && `to ${heartbeat.to} every ${heartbeat.every}${service}`],
      ["canary", canary && [canary.when, gets]],
      ["silence", silence.length === 0 ? "not watched (silence)" : silence.join(", ")],
    ]),
    destinations.length === 0 && paragraph`No destination: alerts are stored and shown, and sent to nobody.`,
    tableOf(destinations, {
      destination: ({ name }) => name,
      type: ({ type }) => type,
      reaches: ({ reaches }) => reaches,
      "quiet hours": ({ quietHours }) => quietHours,
      detail: ({ detail }) => detail,
      "defined at": ({ definedAt }) => definedAt,
    }),
    tableOf(routes, {
      route: ({ name }) => name,
      when: ({ when }) => when,
      active: ({ disabled, activeHours }) => (disabled ? "disabled" : activeHours),
      to: ({ to }) => to.join(", ") || "nobody (dropped on purpose)",
      silent: ({ silent = [] }) => silent.join(", "),
      rings: ({ ringing }) => ringing,
      group: ({ group }) => group,
      // biome-ignore lint/suspicious/noThenProperty: the title of a column
      then: ({ fallback, ...route }) => [
        route.continue ? "continue" : "stop",
        fallback !== undefined && `, fallback ${fallback}`,
      ],
    }),
    tableOf(inhibit, {
      cause: ({ name }) => name,
      while: (rule) => rule.while,
      holds: ({ hold }) => hold,
      "with the same": ({ equal }) => equal.join(", "),
      "at most": ({ atMost }) => atMost,
    }),
    tableOf(mutes, {
      mute: ({ when }) => when,
      active: ({ disabled }) => disabled && "disabled",
      reason: ({ reason }) => reason,
      from: ({ from }) => from,
      until: ({ until }) => until,
    }),
    tableOf(sources, {
      source: ({ name }) => name,
      secret: ({ secret }) => secret,
      check: ({ checks }) => checks.join(", "),
      idempotency: ({ idempotency }) => idempotency.join(", "),
      mapping: (source) => Object.keys(source.mapping ?? {}).join(", "),
    }),
    tableOf(facts, { fact: ([fact]) => fact, "read from": ([, place]) => place }),
    paragraph`The configuration is in order.`,
  ];
}
