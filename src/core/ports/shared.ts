import type { Alert, Severity } from "../alert.ts";
import type { Mute } from "../rules.ts";

/** The alerts that a mute has held back at one destination and nobody has released, with the latest of each key. */
export interface SilencedKeys {
  /** The number of alerts, without those that were sent since. */
  alerts: number;
  /** The number of alert keys. `firing`: those that still fire, by the severity of their latest alert. */
  keys: number;
  firing: Partial<Record<Severity, number>>;
  /** The latest alerts of keys: firing ones first, the worst first, then the newest. As many as were asked for. */
  latest: Alert[];
  /** The worst alert that fired, even if its key is over. Among equals the newest. Absent: nothing fired. */
  worst?: Alert;
}

/**
 * Mutes that people made at run time, with their makers. They are kept after their end too. A relay that has them in memory
 * listens to `mutes` (signals.ts) and reads them anew at intervals.
 */
export interface MuteStore {
  /** The newest first, at most 1,000: active and future ones, or all. */
  listMutes(now: number, includeEnded: boolean): Promise<Mute[]>;
  /** `over`: no mute was made. It would hold until its key is over, and the last alert of the key is its end. */
  addMute(mute: Mute): Promise<"done" | "over">;
  /** Ends the mute now. False when no active one has this id. */
  endMute(id: string, at: number): Promise<boolean>;
  /**
   * Counts the alerts that each of these mutes (`keptNameOf`) has held back and nobody has released. Mutes without such alerts
   * are left out.
   */
  countSilenced(mutes: readonly string[]): Promise<{ mutedBy: string; alerts: number }[]>;
  /** The alerts that a mute has held back and nobody has released, by the name of the destination. */
  listSilenced(mute: string, most: number): Promise<Map<string, SilencedKeys>>;
}

/** Two kinds may contain the same key. */
export type KeyKind = "used-login-code" | "ended-session";

export interface ExpiringKey {
  /** A hash, where the key itself would be a secret. */
  key: string;
  /** From this time on the key counts as absent. */
  expiresAt: number;
}

/** A small set of keys that all processes on this store share. */
export interface ExpiringKeyStore {
  /** Adds the key. True when it was absent: of all callers, one gets true. */
  putKeyIfAbsent(kind: KeyKind, entry: ExpiringKey, now: number): Promise<boolean>;
  hasKey(kind: KeyKind, key: string, now: number): Promise<boolean>;
  /** In no particular order. */
  listKeys(kind: KeyKind, now: number): Promise<ExpiringKey[]>;
}

/** A budget and one use of it: `burst` uses at once, then one after each interval. */
export interface Allowance {
  name: string;
  burst: number;
  intervalMs: number;
}

/** Budgets that all relays of a store share, by the clock of the store. */
export interface SharedAllowances {
  /**
   * Uses one of each budget, or none while any is used up.
   * @returns for how long each is used up, in their order, milliseconds. 0: it is not used up
   */
  useAllowances(allowances: readonly Allowance[]): Promise<number[]>;
}
