import { type Health, healthPanel } from "../../contract/panels/health.ts";
import { silencePanel } from "../../contract/panels/silence.ts";
import { countRefused, type StatusView } from "../../core/operations.ts";
import { describeRetention } from "../../core/ports/retention.ts";
import { describeHearing } from "../../core/ports/signals.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { fromWire } from "../relay/from-wire.ts";
import type { DestinationOnWire } from "../relay/relay-client.ts";
import { countOf, describeAge, withAge } from "../shell/amounts.ts";
import { drawPanel } from "../shell/draw-panel.ts";
import { joinSections, type Output, type StyleName } from "../shell/output.ts";
import type { Field } from "../shell/table.ts";
import { hangText, terminalText } from "../shell/terminal-text.ts";
import { type RelayStatus, readStatus } from "./read-status.ts";

/** Prints the status; exit status 1 unless the relay runs and is ready. */
export async function showStatus(run: RelayRun, version: string): Promise<void> {
  const { output, context } = run;
  const status = await readStatus(run);
  const hook = `${status.publicUrl ?? status.url}/hooks/***`;
  await output.result({ version, hook, ...status }, () =>
    formatStatus(status, { version, hook }, output, context.now()),
  );
  if (!status.ready) context.setExitStatus(1);
}

function formatStatus(
  status: RelayStatus,
  { version, hook }: { version: string; hook: string },
  output: Output,
  now: number,
): string {
  const { store, destinations } = status;
  const rows: [string, string | undefined][] = [
    ["relay", describeState(status)],
    ...listRows("also wrong", describeTroubles(status, now)),
    ...listRows("relays", describeRelays(status, now)),
    ["signals", status.relay?.hearing && `relays hear of each other ${describeHearing(status.relay.hearing)}`],
    ["version", describeVersion(status, version)],
    ["started", status.relay && withAge(status.relay.startedAt, now)],
    ["public URL", status.publicUrl ?? "not set (PUBLIC_URL)"],
    ["hook", hook],
    ["data", status.database ?? status.dataDir],
    ["alerts", describeAlerts(status)],
    ["oldest kept", store.oldestReceivedAt === undefined ? undefined : withAge(store.oldestReceivedAt, now)],
    ["kept for", status.retention && describeRetention(status.retention)],
    ["last received", store.lastReceivedAt === undefined ? "none yet" : withAge(store.lastReceivedAt, now)],
    ["spool", status.spool && describeSpool(status.spool, now)],
    ["not routed yet", describeUnrouted(status, now)],
    ["unreadable", describeUnreadable(status)],
    ["damage", describeDamage(status)],
    ["database", store.databaseBytes === undefined ? undefined : formatBytes(store.databaseBytes)],
    ["disk", describeDisk(status)],
    ...(status.sources ?? []).map((source): [string, string] => [`source ${source.name}`, describeSource(source, now)]),
    ...describeWatches(status, now),
  ];
  const facts = output.fields(
    rows.flatMap(([title, value]): Field[] => {
      if (value === undefined) return [];
      const colour = title === "relay" && status.ready ? "green" : alarming.test(value) ? "red" : undefined;
      return [colour === undefined ? [title, value] : [title, value, (text) => output.style(colour, text)]];
    }),
  );
  const troubles = (status.watches ?? []).flatMap((watch) => watch.troubles);
  const told = troubles.map((trouble) => `${hangText(terminalText(trouble), output.width, 2)}\n`).join("");
  const { silence = [], canary } = fromWire<Pick<StatusView, "silence" | "canary">>(status);
  return joinSections([
    status.running ? drawPanel(healthPanel(healthOf(status)), output, now) : "",
    facts,
    told,
    drawPanel(silencePanel(silence, canary), output, now),
    formatDestinations(destinations, output, now, status.running),
  ]);
}

function healthOf(status: RelayStatus): Health {
  const { troubles = [], watches = [] } = fromWire<Pick<StatusView, "troubles" | "watches">>(status);
  const { lastReceivedAt } = status.store;
  return {
    troubles,
    watches,
    // Of a relay that is too old to judge them nothing is said.
    destinations: status.destinations.map(({ verdict = "untried" }) => ({ verdict })),
    lastAlertAt: lastReceivedAt === undefined ? undefined : Date.parse(lastReceivedAt),
  };
}

/** What the functions below write in capitals, and what is as bad. */
const alarming = /^not running|\b(?:NOT READY|NOT HEARD OF|FULL|WAITING|TROUBLE|REFUSED|SILENT|FAILS)\b/;

function describeSource(source: NonNullable<RelayStatus["sources"]>[number], now: number): string {
  const { accepted, lastAcceptedAt, lastRefusedAt } = source;
  const last = lastAcceptedAt === undefined ? "" : `, the last ${withAge(lastAcceptedAt, now)}`;
  const refused =
    lastRefusedAt === undefined ? "" : `; REFUSED ${countRefused(source)}, the last ${withAge(lastRefusedAt, now)}`;
  return `${countOf(accepted, "request")} since the start${last}${refused}`;
}

/** One row for each watch, named as it is; what is wrong stands below the table in full. */
function describeWatches({ watches = [], account, sources = [] }: RelayStatus, now: number): [string, string][] {
  // The row of the disk says it as long as there is room.
  const shown = watches.filter(({ name, verdict }) => name !== "disk" || verdict === "trouble");
  return shown.map(({ name, verdict, summary, lookedAt }) => {
    const looked = lookedAt === undefined ? "" : ` (looked ${describeAge(Date.parse(lookedAt), now)})`;
    const watched = name === "account" ? account : sources.find((source) => name === `account:${source.name}`)?.account;
    const expiresAt = watched?.answer?.keyExpiresAt;
    const expiry = expiresAt === undefined ? "" : `; its key expires ${withAge(expiresAt, now)}`;
    return [name, terminalText(`${verdict === "trouble" ? "TROUBLE: " : ""}${summary}${expiry}${looked}`)];
  });
}

function describeSpool(spool: NonNullable<RelayStatus["spool"]>, now: number) {
  const { alerts, bytes, maxBytes, oldestAt, problem, damagedFiles = [] } = spool;
  const room = `${formatBytes(bytes)} of ${formatBytes(maxBytes)}`;
  const oldest = oldestAt === undefined ? "" : `, the oldest of ${withAge(oldestAt, now)}`;
  const waits =
    alerts === 0 ? "nothing waits" : `${countOf(alerts, "alert")} WAITING for the database${oldest}; ${room}`;
  const damaged = damagedFiles.length === 0 ? "" : `; DAMAGED: ${damagedFiles.join(", ")}`;
  return terminalText(`${waits}${damaged}${problem === undefined ? "" : `; FULL or failing: ${problem}`}`);
}

function describeAlerts({ store: { alerts, kept } }: RelayStatus): string | undefined {
  if (alerts === undefined || kept === undefined || kept === alerts) return alerts?.toLocaleString("en-US");
  return `${kept.toLocaleString("en-US")} of ${alerts.toLocaleString("en-US")}; the others were removed`;
}

function describeState({ running, ready, url, relay }: RelayStatus): string {
  if (!running) return `not running (nothing answers at ${url})`;
  if (ready) return `running at ${url}, ready`;
  return terminalText(`running at ${url}, NOT READY: ${relay?.reasons.join("; ")}`);
}

/** Worst first, but for what the line of health says. */
function describeTroubles({ troubles = [] }: RelayStatus, now: number): string[] {
  return troubles.slice(1).map(({ what, since, notes }) => {
    return [since === undefined ? what : `${what} since ${withAge(since, now)}`, ...notes].join(", ");
  });
}

const listRows = (title: string, lines: string[]): [string, string][] =>
  lines.map((line, index) => [index === 0 ? title : "", terminalText(line)]);

/** One row for each, while several run. */
function describeRelays({ relays = [] }: RelayStatus, now: number): string[] {
  if (relays.length < 2) return [];
  return relays.map((relay) => {
    const { name, isSelf, version, startedAt, configuration, ready, reasons, destinations, watches, spooled } = relay;
    const isBad = ready === false && configuration !== "starting";
    const readiness = isBad ? `NOT READY: ${reasons.join("; ")}` : configurationWords[configuration];
    const { unheardMs } = relay;
    const state = unheardMs === undefined ? readiness : `NOT HEARD OF for ${formatDuration(unheardMs)}`;
    const delivers = destinations.length === 0 ? [] : [`delivers to ${destinations.map((one) => one.name).join(", ")}`];
    const parts = [state, version, `started ${describeAge(Date.parse(startedAt), now)}`, ...delivers];
    if (watches) parts.push("watches for all");
    if (spooled) parts.push(`${spooled} in its spool`);
    return `${name}${isSelf ? " (this one)" : ""}: ${parts.join(", ")}`;
  });
}

const configurationWords = {
  newest: "newest configuration",
  older: "older configuration, accepts alone",
  starting: "starting",
} as const;

function describeVersion({ relay }: RelayStatus, ofCommand: string): string {
  if (relay === undefined) return `${ofCommand} (of this command)`;
  return relay.version === ofCommand ? ofCommand : `${relay.version} (this command is ${ofCommand})`;
}

function describeUnreadable({ relay }: RelayStatus): string | undefined {
  if (!relay || relay.unreadableAlerts === 0) return undefined;
  return `${relay.unreadableAlerts} since the start were sent as received; the page says why`;
}

function describeDamage({ disk }: RelayStatus): string | undefined {
  if (disk?.damage === undefined) return undefined;
  return "the database is probably damaged, and repeats may be sent; ask: tocsin doctor";
}

function describeUnrouted({ store }: RelayStatus, now: number): string | undefined {
  const { unrouted, oldestUnroutedAt } = store;
  if (unrouted === undefined) return undefined;
  if (oldestUnroutedAt === undefined || unrouted === 0) return String(unrouted);
  return `${unrouted}, the oldest from ${withAge(oldestUnroutedAt, now)}`;
}

function describeDisk({ store }: RelayStatus): string | undefined {
  const { freeBytes, diskFull } = store;
  if (diskFull) return "FULL: new alerts are refused until there is room";
  return freeBytes === undefined ? undefined : `${formatBytes(freeBytes)} free`;
}

function formatDestinations(destinations: DestinationOnWire[], output: Output, now: number, running: boolean): string {
  if (destinations.length === 0) {
    return running
      ? "No destination is configured: alerts are stored and go nowhere.\n"
      : "Nothing is known of its destinations yet.\n";
  }
  const columns = [
    { title: "destination", keep: true },
    { title: "type" },
    { title: "state", keep: true, style: (state: string) => output.style(colourOfState(state), state) },
    ...["sent", "waiting", "held", "failed"].map((title) => ({ title, align: "right" as const })),
    { title: "oldest waiting", keep: true, optional: true },
    { title: "proven", keep: true, optional: true },
  ];
  const table = output.table(
    columns,
    destinations.map((destination) => toRow(destination, now)),
  );
  const troubles = destinations.flatMap((destination) => describeTrouble(destination, now));
  const lines = troubles.map((line) => `${hangText(terminalText(line), output.width, 2)}\n`);
  return lines.length === 0 ? table : `${table}\n${lines.join("")}`;
}

/** What was never tried is not shown as if it worked. */
function colourOfState(state: string): StyleName {
  if (state === "proven" || state === "ok") return "green";
  if (state === "untried") return "dim";
  return state === "degraded" ? "yellow" : "red";
}

function toRow(destination: DestinationOnWire, now: number): string[] {
  const { name, channel, health, verdict = health, paused, provenAt, counts, oldestWaitingAt } = destination;
  const count = (...states: (keyof typeof counts)[]) =>
    states.reduce((total, state) => total + (counts[state] ?? 0), 0).toLocaleString("en-US");
  return [
    name,
    channel,
    paused === undefined ? describeDestination(verdict, health) : "PAUSED",
    count("sent", "digested"),
    count("queued", "waiting", "sending"),
    count("held"),
    count("failed", "expired"),
    oldestWaitingAt === undefined ? "" : describeAge(Date.parse(oldestWaitingAt), now),
    provenAt === undefined ? "" : describeAge(Date.parse(provenAt), now),
  ];
}

/** The account that is refused is `paused` in the API; here that is what a person does. */
function describeDestination(verdict: string, health: DestinationOnWire["health"]): string {
  if (verdict !== "failing") return verdict;
  if (health === "ok") return "failing";
  return health === "paused" ? "refused" : health;
}

function describeTrouble(destination: DestinationOnWire, now: number): string[] {
  const { name, health, reason, since, nextTryAt, paused, movedTo, counts } = destination;
  const resume = `; resume with: tocsin destinations resume ${name}`;
  const pausing =
    paused === undefined ? [] : [`${name}: paused since ${withAge(paused.at, now)} (${paused.by})${resume}`];
  const notes = movedTo === undefined ? [] : [`${name}: the group was upgraded; messages go to ${movedTo}`];
  const failed = (counts.failed ?? 0) + (counts.expired ?? 0);
  if (failed > 0) {
    const command = `tocsin alerts resend --failed --destination ${name}`;
    notes.push(`${name}: ${failed} failed; resend with: ${command}`);
  }
  notes.unshift(...pausing);
  if (health === "ok") return notes;
  const duration = since === undefined ? "" : ` since ${withAge(since, now)}`;
  const isTriedNext = nextTryAt === undefined && (health === "dead" || health === "paused");
  const next =
    nextTryAt === undefined
      ? isTriedNext
        ? "; it can be reached, and its next message is the try"
        : ""
      : `; next try ${describeAge(Date.parse(nextTryAt), now)}, or now with: tocsin destinations try ${name}`;
  return [`${name}: ${health}${duration}: ${reason || "no reason is known"}${next}`, ...notes];
}
