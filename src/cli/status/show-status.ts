import { formatBytes } from "../../ground/text/format-bytes.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import type { DestinationOnWire } from "../relay/relay-client.ts";
import { describeAge, withAge } from "../shell/amounts.ts";
import type { Output } from "../shell/output.ts";
import { terminalText } from "../shell/terminal-text.ts";
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
    ["version", describeVersion(status, version)],
    ["started", status.relay && withAge(status.relay.startedAt, now)],
    ["public URL", status.publicUrl ?? "not set (PUBLIC_URL)"],
    ["hook", hook],
    ["data", status.dataDir],
    ["alerts", store.alerts?.toLocaleString("en-US")],
    ["last received", store.lastReceivedAt === undefined ? "none yet" : withAge(store.lastReceivedAt, now)],
    ["not routed yet", describeUnrouted(status, now)],
    ["unreadable", describeUnreadable(status)],
    ["damage", describeDamage(status)],
    ["database", store.databaseBytes === undefined ? undefined : formatBytes(store.databaseBytes)],
    ["disk", describeDisk(status)],
  ];
  const facts = output.fields(
    rows.flatMap(([title, value]) => (value === undefined ? [] : [[title, value] as [string, string]])),
  );
  return `${facts}\n${formatDestinations(destinations, output, now, status.running)}`;
}

function describeState({ running, ready, url, relay }: RelayStatus): string {
  if (!running) return `not running (nothing answers at ${url})`;
  if (ready) return `running at ${url}, ready`;
  return terminalText(`running at ${url}, NOT READY: ${relay?.reasons.join("; ")}`);
}

function describeVersion({ relay }: RelayStatus, ofCommand: string): string {
  if (relay === undefined) return `${ofCommand} (of this command)`;
  return relay.version === ofCommand ? ofCommand : `${relay.version} (this command is ${ofCommand})`;
}

function describeUnreadable({ relay }: RelayStatus): string | undefined {
  if (!relay || relay.unreadableAlerts === 0) return undefined;
  return `${relay.unreadableAlerts} since the start went out as they came; the page says why`;
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
    { title: "health", keep: true },
    ...["sent", "waiting", "held", "failed"].map((title) => ({ title, align: "right" as const })),
    { title: "oldest waiting", keep: true },
  ];
  const table = output.table(
    columns,
    destinations.map((destination) => toRow(destination, now)),
  );
  const troubles = destinations.flatMap((destination) => describeTrouble(destination, now));
  return troubles.length === 0 ? table : `${table}\n${troubles.map((line) => `${terminalText(line)}\n`).join("")}`;
}

function toRow({ name, channel, health, counts, oldestWaitingAt }: DestinationOnWire, now: number): string[] {
  const count = (...states: (keyof typeof counts)[]) =>
    states.reduce((total, state) => total + (counts[state] ?? 0), 0).toLocaleString("en-US");
  return [
    name,
    channel,
    health,
    count("sent", "digested"),
    count("queued", "waiting", "sending"),
    count("held"),
    count("failed", "expired"),
    oldestWaitingAt === undefined ? "" : describeAge(Date.parse(oldestWaitingAt), now),
  ];
}

function describeTrouble(destination: DestinationOnWire, now: number): string[] {
  const { name, health, reason, since, nextTryAt, movedTo, counts } = destination;
  const notes = movedTo === undefined ? [] : [`${name}: the group was upgraded; messages go to ${movedTo}`];
  const failed = (counts.failed ?? 0) + (counts.expired ?? 0);
  if (failed > 0) {
    const command = `tocsin alerts resend --failed --destination ${name}`;
    notes.push(`${name}: ${failed} failed; resend with: ${command}`);
  }
  if (health === "ok") return notes;
  const duration = since === undefined ? "" : ` since ${withAge(since, now)}`;
  const next =
    nextTryAt === undefined
      ? ""
      : `; next try ${describeAge(Date.parse(nextTryAt), now)}, or at once with: tocsin destinations try ${name}`;
  return [`${name}: ${health}${duration}: ${reason || "no reason is known"}${next}`, ...notes];
}
