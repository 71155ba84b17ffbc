/** For how long a form offers to mute. */
export const muteDurations = [
  ["30m", "30 minutes"],
  ["1h", "1 hour"],
  ["4h", "4 hours"],
  ["24h", "1 day"],
  ["7d", "7 days"],
] as const;
