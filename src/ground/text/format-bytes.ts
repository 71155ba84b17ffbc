const units = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const;

/** `512 bytes`, `3.2 MiB`. */
export function formatBytes(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? amount : amount.toFixed(1)} ${units[unit]}`;
}
