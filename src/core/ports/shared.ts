import type { Alert, Severity } from "../alert.ts";
import type { Mute } from "../rules.ts";

/** The alerts that a mute has held back at one destination and nobody has released. */
export interface SilencedKeys {
  /** Without those that were sent since. */
  alerts: number;
  /** Alert keys. `firing`: those that still fire, by the severity of their latest alert. */
  keys: number;
  firing: Partial<Record<Severity, number>>;
  /** The latest alert of each key, as many as were asked for: firing ones first, the worst first, then the newest. */
  latest: Alert[];
  /** The worst alert that fired, even if its key is over. Among equals the newest. Absent: nothing fired. */
  worst?: Alert;
}

/** Mutes that people made at run time, also ended ones. A relay that keeps them in memory listens to `mutes`. */
export interface MuteStore {
  /** Newest first, at most 1,000. Ended ones only where `includeEnded`. */
  listMutes(now: number, includeEnded: boolean): Promise<Mute[]>;
  /** `over`: no mute was made. It would hold until its key is over, and the key is over. */
  addMute(mute: Mute): Promise<"done" | "over">;
  /** False when no active mute has this id. */
  endMute(id: string, at: number): Promise<boolean>;
  /** The alerts that each mute (`keptNameOf`) has held back and nobody has released. Mutes without any are left out. */
  countSilenced(mutes: readonly string[]): Promise<{ mutedBy: string; alerts: number }[]>;
  /** The held alerts of a mute that nobody has released, by destination. */
  listSilenced(mute: string, most: number): Promise<Map<string, SilencedKeys>>;
}

/** Two kinds may contain the same key. */
export type KeyKind = "used-login-code" | "ended-session";

export interface ExpiringKey {
  /** A hash, where the key would be a secret. */
  key: string;
  /** From then on the key counts as absent. */
  expiresAt: number;
}

/** A small set of keys, the same for all processes on this store. */
export interface ExpiringKeyStore {
  /** True when the key was absent. When several callers add it at once, one gets true. */
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

/** Budgets that the relays of a store share, by the store's clock. */
export interface SharedAllowances {
  /** Uses one of each budget, or none while any is used up. Gives the milliseconds until each is free again, in order. */
  useAllowances(allowances: readonly Allowance[]): Promise<number[]>;
}
