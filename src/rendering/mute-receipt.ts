import { type Alert, type AlertFacts, type AlertStatus, isWorse } from "../core/alert.ts";
import { ownFacts } from "../core/own-facts.ts";
import type { SilencedKeys } from "../core/ports/shared.ts";
import { keptNameOf, type Mute } from "../core/rules.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { countOf } from "../ground/text/count-of.ts";
import { cut } from "../ground/text/graphemes.ts";
import { createTimeFormat } from "../ground/time/time-format.ts";
import { wakes, writeAlertLine, writeWhile } from "./compose-digest.ts";
import { stateSymbol } from "./headline.ts";

/** The number of alert keys that a receipt names. With these it still fits one message. */
export const mostReceiptKeys = 8;
const maxReasonUnits = 200;
const { full } = createTimeFormat("UTC");

/** Makes a sound only if a critical alert still fires, as nobody there knows of it. */
export function writeMuteReceipt(mute: Mute, silenced: SilencedKeys, publicUrl: string): AlertFacts {
  const { alerts, keys, firing, latest, worst } = silenced;
  const stillFiring = Object.values(firing).reduce((sum, one) => sum + one, 0);
  const lines = latest.map((alert, index) => writeLine(alert, index < stillFiring ? "firing" : "resolved"));
  const firstFiring = stillFiring > 0 ? latest[0] : undefined;
  const isSaid = worst === undefined || (firstFiring && !isWorse(worst.facts.severity, firstFiring.facts.severity));
  const more = keys - latest.length;
  const span = mute.startsAt === 0 ? "until" : `from ${full(mute.startsAt)} to`;
  const reason = cut(cleanLine(mute.reason), maxReasonUnits);
  return ownFacts({
    title: writeWhile("muted", countOf(alerts, "alert"), firing),
    text: [
      `Muted ${span} ${full(mute.endsAt)}, made by ${mute.createdBy}: ${reason}`,
      ...(isSaid || !wakes.includes(worst.facts.severity) ? [] : [`Worst: ${writeLine(worst, "firing")}; over`]),
      ...lines,
      ...(more > 0 ? [`and ${countOf(more, "more alert key")}`] : []),
      stillFiring > 0
        ? `Send what still fires: tocsin mutes release ${keptNameOf(mute)}, or on the page.`
        : `All of it is over. To send it anyway: tocsin mutes release ${keptNameOf(mute)} --all, or on the page.`,
    ].join("\n"),
    severity: (firing.critical ?? 0) > 0 ? "critical" : "info",
    status: stillFiring > 0 ? "firing" : "resolved",
    key: `mute:${mute.id}`,
    link: `${publicUrl}/mutes`,
  });
}

function writeLine(alert: Alert, status: AlertStatus): string {
  const words = writeAlertLine(alert, alert.receivedAt).map((inline) =>
    inline.kind === "time" ? full(inline.at) : inline.text,
  );
  return `${stateSymbol(alert.facts.severity, status)} ${words.join("")}`;
}
