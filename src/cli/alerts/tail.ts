import type { Severity } from "../../core/alert.ts";
import { standingDeliveries } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import { hasSeveralRecipients } from "../../vendors/index.ts";
import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import type { AlertOnWire } from "../relay/relay-client.ts";
import { toSeconds } from "../shell/amounts.ts";
import type { Output } from "../shell/output.ts";
import { fitText, terminalText } from "../shell/terminal-text.ts";
import { readFullPage } from "./filters.ts";
import { followChanges } from "./follow-changes.ts";
import { summarizeDeliveries } from "./format-alert.ts";
import { leastTableWidth } from "./list.ts";

export interface TailOptions {
  /** How many that are there already. */
  lines: number;
  severity?: Severity;
  destination?: string;
}

/** `tocsin alerts tail`: what is there, then what comes, until Ctrl-C. */
export async function tailAlerts(run: RelayRun, { lines, severity, destination }: TailOptions): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  const list = output.json ? output.openList() : undefined;
  const { alertSchema } = await import("../../web/api/schemas.ts");
  const isNew = createNews();
  /** Versions of those that were there already: the stream may bring them once more. */
  const listed = new Map<string, number>();

  const print = async (alert: AlertOnWire) => {
    if (list !== undefined) return list.item(alert);
    if (isNew(alert)) await output.print(formatLine(alert, output));
  };

  const following = followChanges(context, client, {
    // The stream is open before the log is read, so that nothing falls between the two.
    async onOpen() {
      const [newest] = (await client.listAlerts({}, { limit: 1 })).alerts;
      const version = String(newest?.version ?? 0);
      if (lines === 0) return version;
      const { alerts } = await readFullPage(client, { severity, destination }, { limit: lines }, context.signal);
      for (const alert of alerts.reverse()) {
        listed.set(alert.id, alert.version);
        await print(alert);
      }
      if (alerts.length === 0) await output.note("no such alerts yet; waiting for the first");
      return version;
    },
    async onEvent(event) {
      if (event.type === "reset") {
        listed.clear();
        await output.note("the relay's database was put back from a copy; going on from there");
        return;
      }
      if (event.type !== "alert") return;
      const alert: AlertOnWire = alertSchema.parse(JSON.parse(event.data));
      if (alert.version <= (listed.get(alert.id) ?? -1)) return;
      if (isWanted(alert, severity, destination)) await print(alert);
    },
    onBreak: (why, pauseMs) => output.note(`${why}; trying again in ${pauseMs / 1_000} s`),
  });
  try {
    await following;
  } catch (error) {
    // What was written so far stays one document.
    throw list !== undefined && error instanceof AppError ? await list.fail(error) : error;
  }
  await list?.close();
}

function isWanted(alert: AlertOnWire, severity?: Severity, destination?: string): boolean {
  if (severity !== undefined && alert.severity !== severity) return false;
  if (destination === undefined) return true;
  return alert.deliveries.some((delivery) => delivery.destination === destination);
}

const remembered = 1_000;

/**
 * An alert changes several times while it is delivered. It is printed when it has been routed, when something does
 * not go well, and when all deliveries have ended.
 */
function createNews(): (alert: AlertOnWire) => boolean {
  const printed = new Map<string, string>();
  return (alert) => {
    const story = storyOf(alert);
    if (alert.routedAt === null || printed.get(alert.id) === story) return false;
    printed.delete(alert.id);
    printed.set(alert.id, story);
    if (printed.size > remembered) printed.delete(printed.keys().next().value ?? "");
    return true;
  };
}

/** What is worth a line of its own: while some are under way, only what does not go well. */
function storyOf(alert: AlertOnWire): string {
  const standing = standingDeliveries(alert.deliveries, hasSeveralRecipients);
  if (!standing.some(isUnderWay)) return summaryOf(alert);
  const troubled = standing.filter((delivery) => !isUnderWay(delivery) && delivery.state !== "sent");
  return `under way, ${troubled.length === 0 ? "well" : summarizeDeliveries({ ...alert, deliveries: troubled })}`;
}

function isUnderWay({ state }: { state: string }): boolean {
  return state === "queued" || state === "sending";
}

function summaryOf(alert: AlertOnWire): string {
  const standing = standingDeliveries(alert.deliveries, hasSeveralRecipients);
  const settled = standing.filter((delivery) => !isUnderWay(delivery));
  const open = standing.length - settled.length;
  if (open === 0) return summarizeDeliveries(alert);
  const words = settled.length === 0 ? "" : `${summarizeDeliveries({ ...alert, deliveries: settled })}, `;
  return `${words}${open} under way`;
}

/** One line, or on a narrow terminal two: an id is never cut, since the reader copies it. */
function formatLine(alert: AlertOnWire, output: Output): string {
  const severity = (alert.severity ?? "unknown").padEnd(8);
  const colour = alert.severity === "critical" ? "red" : alert.severity === "warning" ? "yellow" : "dim";
  const head = `${toSeconds(alert.receivedAt)}  ${output.style(colour, severity)}`;
  const title = terminalText(alert.title ?? "(not read yet)");
  const outcome = `[${summaryOf(alert)}]`;
  if (output.width === undefined) return `${head}  ${title}  ${outcome}  ${alert.id}\n`;
  if (output.width < leastTableWidth) {
    return `${head}  ${outcome}\n  ${alert.id}  ${fitText(title, output.width - alert.id.length - 4)}\n`;
  }
  const taken = toSeconds(alert.receivedAt).length + severity.length + outcome.length + alert.id.length + 8;
  return `${head}  ${fitText(title, Math.max(20, output.width - taken))}  ${outcome}  ${alert.id}\n`;
}
