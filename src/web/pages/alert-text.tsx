import type { AlertStatus, Severity } from "../../core/alert.ts";
import type { AlertSummary } from "../../core/ports/alert-log.ts";

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

const decimal = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const rounded = new Intl.NumberFormat("en", {
  notation: "compact",
  compactDisplay: "long",
  maximumSignificantDigits: 4,
});

/**
 * `≈ 24.32 million` for a number too long to be read at a glance; undefined for all others, and for what is no plain
 * number.
 */
export function approximate(value: string): string | undefined {
  const size = decimal.test(value) ? Math.abs(Number(value)) : 0;
  return size >= 1e6 && size < 1e15 ? `≈ ${rounded.format(Number(value))}` : undefined;
}

/** Value, unit and threshold, digit for digit as sent. */
export function ValueText({ alert }: { alert: AlertSummary }) {
  const { value, unit, threshold } = alert.facts ?? {};
  if (value === undefined && threshold === undefined) return null;
  const approximated = value === undefined ? undefined : approximate(value);
  return (
    <>
      {value !== undefined && (
        <bdi class="value">
          {value}
          {unit !== undefined && (unit === "%" ? "%" : ` ${unit}`)}
        </bdi>
      )}
      {approximated !== undefined && <span class="threshold">{approximated}</span>}
      {threshold !== undefined && (
        <span class="threshold">
          threshold <bdi>{threshold}</bdi>
        </span>
      )}
    </>
  );
}
