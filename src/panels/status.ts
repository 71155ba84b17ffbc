import { destinationsTable } from "./destinations.ts";
import { describeTrouble, healthPanel } from "./health.ts";
import type { Cell, Panel } from "./panel.ts";
import { factsOf, noteFailed, noteWarning, say } from "./sections.ts";
import { silencePanel } from "./silence.ts";
import { sourcesPanel } from "./sources.ts";
import { type KnownStatus, systemPanel } from "./system.ts";
import { watchesPanel } from "./watches.ts";

/** The state of a relay, running or not, as far as a command knows it. */
export interface RelayStatus extends KnownStatus {
  running: boolean;
  ready: boolean;
  url: string;
  publicUrl?: string;
  hook: string;
  dataDir?: string;
  /** `PostgreSQL tocsin at db.example.com:5432`; absent: SQLite in the folder. */
  database?: string;
  /** The mistakes in the configuration file here. Absent: the file has none, or the relay is elsewhere. */
  mistakes?: readonly string[];
  /** The version of the command that asks. */
  version: string;
}

const noAccount = { serviceConfigured: false, canPutBack: false };

/** For a terminal: troubles first, the destinations last. */
export function statusPanel(status: RelayStatus): Panel {
  const { running, relay, canary, alerts, mistakes = [], account = noAccount } = status;
  const { destinations = [], troubles = [], watches = [], silence = [], sources = [] } = status;
  const lastAlertAt = alerts && (alerts.lastReceivedAt ?? null);
  return [
    ...(running ? healthPanel({ troubles, watches, destinations, lastAlertAt }) : []),
    ...mistakes.map((line) => noteFailed`Refused: ${line}`),
    mistakes.length > 0 &&
      (running
        ? noteWarning`The configuration file here has a mistake: the relay runs with what it read before, and the next start fails.`
        : noteWarning`The configuration file here has a mistake: no relay starts with it.`),
    troubles.length > 1 && { kind: "list", title: "Also wrong", items: troubles.slice(1).map(describeTrouble) },
    factsOf([
      ["relay", describeState(status)],
      ["this command", relay?.version === status.version ? undefined : `Tocsin ${status.version}`],
      ["hook", status.hook],
      ["public address", !running && (status.publicUrl ?? "PUBLIC_URL is not set")],
      ["data", status.database ?? status.dataDir],
    ]),
    ...systemPanel(status),
    sourcesPanel(sources.map((view) => ({ name: view.name, view }))),
    watchesPanel({ watches, account, sources }),
    ...silencePanel(silence, canary),
    ...destinationsTable(destinations),
    destinations.length === 0 && {
      kind: "text",
      text: running
        ? say`No destination is configured: alerts are stored and go nowhere.`
        : say`Nothing is known of its destinations yet.`,
    },
  ];
}

function describeState({ running, ready, url }: RelayStatus): Cell {
  if (!running) return say`${{ chip: "not running", tone: "bad" }} (nothing answers at ${url})`;
  if (ready) return say`${{ chip: "running", tone: "good" }} at ${url}, ready`;
  return say`${{ chip: "NOT READY", tone: "bad" }}, running at ${url}`;
}
