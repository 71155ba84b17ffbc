import type { AlertStatus, Severity } from "../../core/alert.ts";
import type { AlertSummary } from "../../core/ports/alert-log.ts";
import { type LearnedName, titleForPeople } from "../../core/subject-name.ts";
import { groupDigits } from "../../ground/numbers/format-number.ts";

export const notRead = "Stored, not read yet";

/** The title as in the alert's messages, so readers who come from there recognise it. See `titleForPeople`. */
export function titleOf({ origin, facts }: AlertSummary, learned?: LearnedName): string {
  return facts === undefined ? notRead : titleForPeople({ origin, facts }, learned);
}

export const severityWords: Record<Severity, string> = {
  critical: "critical",
  warning: "warning",
  info: "info",
  unknown: "no severity",
};

export function SeverityMark({ severity, status }: { severity: Severity; status: AlertStatus }) {
  const resolved = status === "resolved";
  return (
    <span class={`severity ${resolved ? "resolved" : severity}`}>
      {severityWords[severity]}
      {resolved && <span class="status good"> resolved</span>}
    </span>
  );
}

/** Margins group the digits: a copy or a search finds the number as sent. */
function Digits({ sent }: { sent: string }) {
  const [first, ...groups] = sent.includes(",") ? [sent] : groupDigits(sent).split(",");
  if (groups.length === 0) return <>{sent}</>;
  return (
    <span class="digits">
      {first}
      {groups.map((group) => (
        <span>{group}</span>
      ))}
    </span>
  );
}

export function Amount({ sent, unit }: { sent: string; unit: string | undefined }) {
  return (
    <bdi>
      <Digits sent={sent} />
      {unit !== undefined && (unit === "%" ? "%" : ` ${unit}`)}
    </bdi>
  );
}
