const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Reads `90s`, `1h30m`, `7d` (ms, s, m, h, d, w) to milliseconds. Undefined for a number without a unit. */
export function parseDuration(text: string): number | undefined {
  const trimmed = text.trim();
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(trimmed)) return undefined;
  let total = 0;
  for (const [, amount, unit] of trimmed.matchAll(/(?<![\d.])([\d.]+)(ms|[smhdw])/g)) {
    total += Number(amount) * unitMs[unit as keyof typeof unitMs];
  }
  const rounded = Math.round(total);
  return Number.isSafeInteger(rounded) ? rounded : undefined;
}

/** The shortest exact form: `90s`, `15m`, `2h`, `7d`. */
export function writeDuration(durationMs: number): string {
  if (durationMs === 0) return "0s";
  for (const unit of ["d", "h", "m", "s"] as const) {
    if (durationMs % unitMs[unit] === 0) return `${durationMs / unitMs[unit]}${unit}`;
  }
  return `${durationMs}ms`;
}
