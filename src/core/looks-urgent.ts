const words = /\b(?:critical|crit|fatal|emerg(?:ency)?|panic|disaster|severe|urgent|p[01]|sev-?[01])\b/i;
const mostBytes = 16 * 1024;

/**
 * Whether an unread body may be about something critical: its first 16 KiB have a word that senders use for their worst severity,
 * and texts seldom have otherwise. A guess, for the order of reading alone.
 */
export function looksUrgent({ buffer, byteOffset, length }: Uint8Array): boolean {
  return words.test(Buffer.from(buffer, byteOffset, Math.min(length, mostBytes)).toString("latin1"));
}
