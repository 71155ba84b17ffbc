import type { Alert, Severity } from "../alert.ts";
import type { Mute } from "../rules.ts";

/** What a mute has held back at one destination, and nobody has released, the latest alert of each key. */
export interface SilencedKeys {
  /** Alerts, without those that were sent since. */
  alerts: number;
  /** Alert keys, and of those that still fire how many by the severity of their latest alert. */
  keys: number;
  firing: Partial<Record<Severity, number>>;
  /** What still fires first, the worst first, of equals the newest. As many as were asked for. */
  latest: Alert[];
  /** The worst of all that fired, also of those that are over since; among equals the newest. Absent: nothing fired. */
  worst?: Alert;
}

/**
 * Mutes made at run time, with who made them. They are kept after their end too. A relay that has them in memory listens
 * to `mutes` (signals.ts) and reads them anew now and then.
 */
export interface MuteStore {
  /** The newest first, at most 1,000: those that are active or still to come, or all. */
  listMutes(now: number, includeEnded: boolean): Promise<Mute[]>;
  /** `over`: no mute was made. It would hold until its key is over, and the last alert of the key is its end. */
  addMute(mute: Mute): Promise<"done" | "over">;
  /** Ends it now; false when there is none that is active. */
  endMute(id: string, at: number): Promise<boolean>;
  /**
   * How many alerts each of these mutes (`keptNameOf`) has held back that nobody has released. A mute without such alerts is left
   * out.
   */
  countSilenced(mutes: readonly string[]): Promise<{ mutedBy: string; alerts: number }[]>;
  /** Where a mute has held alerts back that nobody has released, by the name of the destination. */
  listSilenced(mute: string, most: number): Promise<Map<string, SilencedKeys>>;
}

/** The same text may be a key of each kind. */
export type KeyKind = "used-login-code" | "ended-session";

export interface ExpiringKey {
  /** A hash where what it stands for is secret. */
  key: string;
  /** From then on it counts as absent. */
  expiresAt: number;
}

/** A small set of keys that every process on this store shares. */
export interface ExpiringKeyStore {
  /** True when it was absent and is there now: of all who put it, at once or one after another, one gets it. */
  putKeyIfAbsent(kind: KeyKind, entry: ExpiringKey, now: number): Promise<boolean>;
  hasKey(kind: KeyKind, key: string, now: number): Promise<boolean>;
  /** In no particular order. */
  listKeys(kind: KeyKind, now: number): Promise<ExpiringKey[]>;
}

/** One that is used: `burst` at once, then one after each interval. */
export interface Allowance {
  name: string;
  burst: number;
  intervalMs: number;
}

/** Budgets that all relays of a store share, by the clock of the store. */
export interface SharedAllowances {
  /**
   * Uses one of each, or none while one of them is used up.
   * @returns in their order: for how long each is used up, milliseconds; 0: it is not
   */
  useAllowances(allowances: readonly Allowance[]): Promise<number[]>;
}
