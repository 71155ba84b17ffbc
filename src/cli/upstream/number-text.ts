const plain = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 15 });

/** A number for people with all its digits: `1,234,567.89`. Tiny and huge ones in scientific notation. */
export function formatNumber(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-9 || size >= 1e18) ? String(value) : plain.format(value);
}

/** An amount of money to the cent, `$1,234.57`; below a dollar with four significant digits. */
export function formatUsd(value: number | null | undefined): string {
  return formatMoney(value, 2, 4);
}

/** A price with the digits that matter: `$91,204.15`, `$1.000213` (a stable coin a little off), `$0.00001234`. */
export function formatPrice(value: number | null | undefined): string {
  return formatMoney(value, 6, 6);
}

function formatMoney(value: number | null | undefined, fraction: number, significant: number): string {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const sign = value < 0 ? "-" : "";
  if (size !== 0 && size < 1) return `${sign}$${formatNumber(Number(size.toPrecision(significant)))}`;
  const maximumFractionDigits = size >= 1_000 ? 2 : fraction;
  const digits = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits });
  return `${sign}$${digits.format(size)}`;
}

/** UTC without seconds that say nothing: `2026-11-21 12:00:05 UTC`. */
export function formatInstant(at: number): string {
  return new Date(at)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");
}

/** How far away an instant is: `in 23 days`, `5 minutes ago`. */
export function formatDistance(at: number, now: number): string {
  const size = Math.abs(at - now);
  const [ms, unit] =
    size < 3_600_000
      ? ([60_000, "minute"] as const)
      : size < 172_800_000
        ? ([3_600_000, "hour"] as const)
        : ([86_400_000, "day"] as const);
  return new Intl.RelativeTimeFormat("en").format(Math.trunc((at - now) / ms), unit);
}
