import { Secret } from "../../src/core/secret.ts";
import { type AlertingClient, createAlertingClient } from "../../src/upstream/alerting-client.ts";
import { createPricingClient, type PricingClient } from "../../src/upstream/pricing-client.ts";
import type { UpstreamClientOptions } from "../../src/upstream/requester.ts";
import { type SandboxFixture, startSandbox } from "../workshop/service-fixture.ts";

export const key = "key-of-ada";

export interface InterfaceFixture extends SandboxFixture {
  alerting: AlertingClient;
  pricing: PricingClient;
  /** Clients with another key. */
  withKey(otherKey: string): { alerting: AlertingClient; pricing: PricingClient };
  /** The status of a request below the clients, for what they would not send. */
  status(url: string, init?: RequestInit): Promise<number>;
}

/** The sandbox and the relay's own clients, which try once and do not wait. */
export async function startInterface(options: Parameters<typeof startSandbox>[0] = {}): Promise<InterfaceFixture> {
  const fixture = await startSandbox({ key, ...options });
  const { alertingUrl, pricingUrl } = fixture.sandbox;
  const withKey = (otherKey: string) => {
    const common: Omit<UpstreamClientOptions, "url"> = {
      apiKey: new Secret(otherKey),
      now: fixture.now,
      retry: { attempts: 1 },
    };
    return {
      alerting: createAlertingClient({ ...common, url: alertingUrl }),
      pricing: createPricingClient({ ...common, url: pricingUrl }),
    };
  };
  return {
    ...fixture,
    ...withKey(key),
    withKey,
    status: async (url, init) => (await fixture.call(url, init)).status,
  };
}

/** The element, or a failure that says which list was too short. */
export function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`no element ${index} in a list of ${list.length}`);
  return item;
}

/** Members whose names the interface does not show, read as text. */
export function textOf(item: object, name: string): string {
  const value = (item as Record<string, unknown>)[name];
  if (typeof value !== "string") throw new Error(`${name} is ${typeof value}, not a string`);
  return value;
}
