import { groupDigits } from "../../ground/numbers/format-number.ts";

/** A number for people with all its digits: `1,234,567.89`. */
export function formatNumber(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : groupDigits(String(value));
}

/** To the cent; between a dollar and a thousand with up to `fraction` digits, and below with `significant` ones. */
function dollars(fraction: number, significant: number) {
  const inDollars = (digits: Intl.NumberFormatOptions) =>
    new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", ...digits });
  const large = inDollars({});
  const middle = inDollars({ maximumFractionDigits: fraction });
  const small = inDollars({ maximumSignificantDigits: significant });
  return (value: number | null | undefined): string => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    return (size >= 1_000 ? large : size >= 1 || size === 0 ? middle : small).format(value);
  };
}

/** An amount of money: `$1,234.57`, `$0.001235`. */
export const formatUsd = dollars(2, 4);

/** A price with the digits that matter: `$91,204.15`, `$1.000213` (a stable coin a little off), `$0.00001234`. */
export const formatPrice = dollars(6, 6);
