import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { Destination, Pace } from "../../core/rules.ts";
import { settingsOf, vendorOf } from "../../vendors/index.ts";

/** One limit for a call: its chat's or its bot's. */
export interface PaceKey {
  key: string;
  pace: Pace;
}

/** The account that destinations share, with its pace. Undefined for a webhook, which is alone. Holds no secret. */
export function accountOf(destination: Destination): string | undefined {
  const account = vendorOf(destination.type).account?.(destination);
  return account === undefined ? undefined : `account:${account}`;
}

/** The lane group: destinations that share limits at the vendor. One relay at a time runs it. */
export function laneGroupOf(destination: Destination): string {
  return accountOf(destination) ?? `destination:${destination.name}`;
}

/** The limits for a call to `recipient`. Destinations with the same chat share its pace. */
export function paceKeysOf(destination: Destination, recipient: string, settings: DeliverySettings): PaceKey[] {
  const keys: PaceKey[] = [{ key: chatKeyOf(destination, recipient), pace: destination.pace }];
  const account = accountOf(destination);
  if (account !== undefined) keys.push({ key: account, pace: settingsOf(destination.type, settings).accountPace });
  return keys;
}

export function chatKeyOf(destination: Destination, recipient: string): string {
  return vendorOf(destination.type).paceKey?.(destination, recipient) ?? `${destination.name}:${recipient}`;
}

export function concurrencyOf(destination: Destination): number {
  return vendorOf(destination.type).concurrency ?? 1;
}
