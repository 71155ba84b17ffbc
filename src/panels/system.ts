import type { RelayView, RunningRelay, SpoolView, StatusView, SystemView } from "../contract/operations.ts";
import { describeRetention } from "../core/ports/retention.ts";
import { describeHearing } from "../core/ports/signals.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { countOf } from "../ground/text/count-of.ts";
import { formatBytes } from "../ground/text/format-bytes.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import type { Card, Cell, Panel, Section, Tone } from "./panel.ts";
import { factsOf, groupOf, joined, noteFailed, noteWarning, paragraph, say, titledFacts } from "./sections.ts";
import { verdictTones } from "./watches.ts";

/** The status, or the known part of it where no relay runs. */
export type KnownStatus = Partial<Omit<StatusView, "disk">> & {
  disk?: Omit<StatusView["disk"], "full"> & { full?: boolean };
};

/** @param system facts that the relay gives only to its own page */
export function systemPanel(status: KnownStatus, system?: SystemView): Panel {
  const { relay, relays = [], alerts, queue, disk, retention, account, spool } = status;
  return [
    ...configurationNotes(system?.configuration),
    relay?.ready === false && { kind: "note", note: "failed", text: `Not ready: ${relay.reasons.join("; ")}.` },
    system && {
      kind: "list",
      title: "Parts",
      id: "parts-title",
      items: system.parts.map(
        ({ name, verdict, detail }) => say`${{ chip: name, tone: verdictTones[verdict] }} ${detail}`,
      ),
    },
    relaysPanel(relays, relay?.hearing),
    alerts &&
      titledFacts({ title: "Alerts", id: "load-title" }, [
        ["last minute", system?.accepted.minute],
        ["last hour", system?.accepted.hour],
        ["last day", system?.accepted.day],
        ["last received", alerts.lastReceivedAt === undefined ? "none yet" : { at: alerts.lastReceivedAt }],
        ["kept", describeKept(alerts, retention)],
        ["not routed yet", queue && describeOldest(queue.unrouted, queue.oldestUnroutedAt)],
        [
          "unreadable",
          (relay?.unreadableAlerts ?? 0) > 0 && say`${relay?.unreadableAlerts} since the start, sent as received`,
        ],
        ["spool", spool && describeSpool(spool)],
      ]),
    disk &&
      titledFacts({ title: "Disk", id: "disk-title" }, [
        ["the log takes", formatBytes(disk.databaseBytes)],
        [
          "free",
          disk.full === true
            ? say`${{ chip: "FULL", tone: "bad" }}: new alerts are refused until there is room`
            : disk.freeBytes !== undefined && formatBytes(disk.freeBytes),
        ],
        [
          "grows by",
          system?.growth && `about ${formatBytes(system.growth.bytesPerDay)} a day, going on as in the last one`,
        ],
        ["forecast", system && describeForecast(system.growth, disk.freeBytes !== undefined)],
        [
          "damage",
          disk.damage !== undefined &&
            say`the database is probably damaged, and repeats may be sent; ask: ${{ code: "tocsin doctor" }}`,
        ],
      ]),
    relay &&
      titledFacts({ title: "Process", id: "process-title" }, [
        ["Tocsin", relay.version],
        ["Node.js", system?.nodeVersion],
        ["started", say`${{ at: relay.startedAt }}, up ${formatDuration(relay.uptimeMs)}`],
        ["public address", account?.publicUrl ?? "PUBLIC_URL is not set, so there is no address to give to senders"],
        ["configuration", system && describeConfiguration(system.configuration)],
        ["metrics", system && say`${{ code: "GET /metrics" }} with the admin token, for Prometheus`],
      ]),
  ];
}

function configurationNotes(configuration: SystemView["configuration"] | undefined): Panel {
  const file: Cell = { code: configuration?.file ?? "" };
  return [
    ...(configuration?.refused ?? []).map((line) => noteFailed`Refused: ${line}`),
    configuration?.onDisk === "differs" &&
      noteWarning`${file} has changed and is not in force: it is taken over within some seconds when it has no mistake.
        See ${{ code: "tocsin check" }}.`,
    configuration?.onDisk === "gone" && noteFailed`${file} cannot be read any more: the next start cannot use it.`,
  ];
}

const onDiskWords: Record<SystemView["configuration"]["onDisk"], string> = {
  same: "the same as on disk",
  differs: "changed on disk since",
  gone: "gone from the disk",
  none: "",
};

function describeConfiguration({ file, hash, onDisk }: SystemView["configuration"]): Cell {
  if (file === undefined) return "the environment alone, no file";
  return say`${{ code: file }} (${hash}), ${onDiskWords[onDisk]}`;
}

function describeKept(
  { kept, total, oldestReceivedAt }: StatusView["alerts"],
  retention: KnownStatus["retention"],
): Cell {
  const length =
    retention && say`, for ${describeRetention(retention)} (${{ code: "retention" }} in the configuration)`;
  return [describeOldest(kept === total ? kept : say`${kept} of ${total}`, oldestReceivedAt), length];
}

function describeOldest(count: Cell, at: number | undefined): Cell {
  return at === undefined ? count : say`${count}, the oldest ${{ at }}`;
}

function describeSpool({ alerts, bytes, maxBytes, oldestAt, problem, damagedFiles }: SpoolView): Cell {
  const waits =
    alerts === 0
      ? say`nothing waits`
      : say`${{ chip: `${countOf(alerts, "alert")} WAITING`, tone: "bad" }} for the
        database${oldestAt !== undefined && say`, the oldest of ${{ at: oldestAt }}`}; ${formatBytes(bytes)} of
        ${formatBytes(maxBytes)}`;
  const damaged = damagedFiles.length > 0 && say`; DAMAGED: ${damagedFiles.join(", ")}`;
  return [waits, damaged, problem !== undefined && say`; full or failing: ${problem}`];
}

function describeForecast(growth: SystemView["growth"], isKnown: boolean): string {
  if (growth === undefined) return "not known yet: that takes 1,000 alerts";
  const { fullInDays, heldByRetention } = growth;
  if (!isKnown) return "not known: the database is another machine's";
  if (heldByRetention) return "does not fill: as much is removed before";
  if (fullInDays === undefined) return "not full within ten years";
  return fullInDays < 1 ? "full within a day" : `full in about ${groupThousands(fullInDays)} days`;
}

function relaysPanel(relays: readonly RunningRelay[], hearing: RelayView["hearing"]): Section {
  const heard = hearing === undefined ? undefined : say`Relays hear of each other ${describeHearing(hearing)}.`;
  const isAlone = relays.length < 2;
  return groupOf({ title: "Relays", id: "relays-title", where: isAlone && heard === undefined ? "page" : undefined }, [
    isAlone
      ? paragraph`This one alone: it accepts, routes and delivers everything.`
      : { kind: "cards", cards: relays.map(relayCard) },
    heard !== undefined && { kind: "text", isSoft: true, text: heard },
  ]);
}

function relayCard(relay: RunningRelay): Card {
  const { name, isSelf, version, startedAt, accepted, spooled = 0, ready, reasons } = relay;
  return {
    name: isSelf ? say`${name} (this one)` : name,
    ...stateOf(relay),
    panel: [
      factsOf([
        ["because", ready === false && reasons.length > 0 && reasons.join("; ")],
        ["Tocsin", version],
        ["started", { age: startedAt }],
        ["accepted", accepted !== undefined && `${countOf(accepted, "alert")} since`],
        ["in its spool", spooled > 0 && countOf(spooled, "alert")],
      ]),
      { kind: "text", text: describeWork(relay) },
    ],
  };
}

const configurationChips: Record<RunningRelay["configuration"], { chip: string; tone: Tone }> = {
  newest: { chip: "ready", tone: "good" },
  older: { chip: "older configuration", tone: "busy" },
  starting: { chip: "starting", tone: "busy" },
};

function stateOf({ configuration, ready, unheardMs }: RunningRelay): { chip: string; tone: Tone } {
  if (unheardMs !== undefined) return { chip: `not heard of for ${formatDuration(unheardMs)}`, tone: "bad" };
  if (ready === false && configuration !== "starting") return { chip: "not ready", tone: "bad" };
  return configurationChips[configuration];
}

function describeWork({ configuration, destinations, watches, unheardMs }: RunningRelay): Cell {
  if (unheardMs !== undefined) return say`Others take over what it does 15 s after its last word.`;
  if (configuration !== "newest") return say`Accepts alerts, and leaves the rest to the others.`;
  const taken = destinations.flatMap((one) => one.since ?? []);
  const names = destinations.map(({ name }) => name);
  const last = taken.length > 0 && say` (the last taken over ${{ age: Math.max(...taken) }})`;
  const delivers =
    names.length === 0 ? say`Delivers to no destination just now` : say`Delivers to ${joined(", ", names)}${last}`;
  return watches ? say`${delivers}; watches account, silence and the like for all.` : say`${delivers}.`;
}
