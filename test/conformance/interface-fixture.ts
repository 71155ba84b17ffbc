import { expect, test } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createAlertingClient } from "../../src/upstream/alerting-client.ts";
import { createPricingClient } from "../../src/upstream/pricing-client.ts";
import { startSandbox } from "../workshop/service-fixture.ts";

export const key = "key-of-ada";

/** The sandbox and the relay's own clients, which try once and do not wait. */
export async function startInterface(options: Parameters<typeof startSandbox>[0] = {}) {
  const fixture = await startSandbox({ key, ...options });
  const { alertingUrl, pricingUrl } = fixture.sandbox;
  /** Clients with another key. */
  const withKey = (otherKey: string) => {
    const common = { apiKey: new Secret(otherKey), now: fixture.now, retry: { attempts: 1 } };
    const alerting = createAlertingClient({ ...common, url: alertingUrl });
    return { alerting, pricing: createPricingClient({ ...common, url: pricingUrl }) };
  };
  return {
    ...fixture,
    ...withKey(key),
    withKey,
    /** The status of a request below the clients, for what they would not send. */
    status: async (url: string, init?: RequestInit) => (await fixture.call(url, init)).status,
  };
}

export type InterfaceFixture = Awaited<ReturnType<typeof startInterface>>;

/** Tests of statements that requests of these paths are refused with 400, and with these words. */
export const testRefusals = (get: (path: string) => Promise<unknown>, statements: [string, string[], string?][]) =>
  test.each(statements)("%s", async (_statement, paths, words = "") => {
    const refused = { status: 400, body: { message: expect.stringContaining(words) } };
    for (const path of paths) expect(await get(path), path).toMatchObject(refused);
  });

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
