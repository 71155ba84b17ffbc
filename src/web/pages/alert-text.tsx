import type { AlertStatus, Severity } from "../../core/alert.ts";
import type { AlertSummary } from "../../core/store.ts";

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

/** Value, unit and threshold, digit for digit as sent. */
export function ValueText({ alert }: { alert: AlertSummary }) {
  const { value, unit, threshold } = alert.facts ?? {};
  if (value === undefined && threshold === undefined) return null;
  return (
    <>
      {value !== undefined && (
        <bdi class="value">
          {value}
          {unit !== undefined && (unit === "%" ? "%" : ` ${unit}`)}
        </bdi>
      )}
      {threshold !== undefined && (
        <span class="threshold">
          threshold <bdi>{threshold}</bdi>
        </span>
      )}
    </>
  );
}
