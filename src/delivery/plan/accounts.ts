import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { Destination, Pace } from "../../core/rules.ts";
import { settingsOf, vendorOf } from "../../vendors/index.ts";

/** One limit that a call falls under: its chat's, and its bot's. */
export interface PaceKey {
  key: string;
  pace: Pace;
}

/**
 * The account that a destination shares with others: refused credentials stop them all, and all share its pace.
 * Channels without one (each webhook stands alone) have none. The name holds no secret.
 */
export function accountOf(destination: Destination): string | undefined {
  const account = vendorOf(destination.type).account?.(destination);
  return account === undefined ? undefined : `account:${account}`;
}

/** The lane group: destinations that share limits at the vendor, and that one relay runs at a time. */
export function laneGroupOf(destination: Destination): string {
  return accountOf(destination) ?? `destination:${destination.name}`;
}

/** The limits that a call to `recipient` falls under. Destinations that name the same chat share its pace. */
export function paceKeysOf(destination: Destination, recipient: string, settings: DeliverySettings): PaceKey[] {
  const keys: PaceKey[] = [{ key: chatKeyOf(destination, recipient), pace: destination.pace }];
  const account = accountOf(destination);
  if (account !== undefined) keys.push({ key: account, pace: settingsOf(destination.type, settings).accountPace });
  return keys;
}

export function chatKeyOf(destination: Destination, recipient: string): string {
  return vendorOf(destination.type).paceKey?.(destination, recipient) ?? `${destination.name}:${recipient}`;
}

/** Calls that may be in flight to one destination at a time. */
export function concurrencyOf(destination: Destination): number {
  return vendorOf(destination.type).concurrency ?? 1;
}
