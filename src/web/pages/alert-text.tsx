import { type AlertStatus, limitsChange, type Severity, sideOfThreshold } from "../../core/alert.ts";
import type { AlertSummary } from "../../core/ports/alert-log.ts";
import { groupDigits, writeDistance } from "../../ground/numbers/format-number.ts";

/** What stands for the title until the alert has been read. */
export function titleOf(alert: AlertSummary): string {
  return alert.facts?.title ?? "Stored, not read yet";
}

const severityWords: Record<Severity, string> = {
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
      {resolved && <span class="status"> resolved</span>}
    </span>
  );
}

/**
 * A number with its digits in groups, all of them as sent. The gaps are not in the text, so that what is copied or
 * searched for on the page is the number itself.
 */
export function Digits({ sent }: { sent: string }) {
  const [first, ...groups] = groupDigits(sent).split(",");
  if (groups.length === 0 || sent.includes(",")) return <>{sent}</>;
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
    <>
      <Digits sent={sent} />
      {unit !== undefined && (unit === "%" ? "%" : ` ${unit}`)}
    </>
  );
}

/** Value, unit and threshold, digit for digit as sent, and how far apart the two are where that is certain. */
export function ValueText({ alert }: { alert: AlertSummary }) {
  const { facts } = alert;
  if (facts?.value === undefined && facts?.threshold === undefined) return null;
  return (
    <>
      {facts.value !== undefined && (
        <bdi class="value">
          <Amount sent={facts.value} unit={facts.unit} />
        </bdi>
      )}
      {facts.threshold !== undefined && (
        <span class="threshold">
          {wordsBeforeThreshold(facts)}{" "}
          <bdi>
            <Digits sent={facts.threshold} />
          </bdi>
        </span>
      )}
    </>
  );
}

function wordsBeforeThreshold(facts: NonNullable<AlertSummary["facts"]>): string {
  if (limitsChange(facts)) return "threshold of the change";
  const side = sideOfThreshold(facts);
  if (side === undefined) return "threshold";
  const far = writeDistance(facts.threshold ?? "", facts.value ?? "");
  return far === undefined ? side : `${far} ${side}`;
}
