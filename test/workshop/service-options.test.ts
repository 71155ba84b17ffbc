import { afterEach, expect, test } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createAlertingClient } from "../../src/upstream/alerting-client.ts";
import { type SandboxFixture, startSandbox } from "./service-fixture.ts";

/** What the interface leaves open can be set, so that a client's tolerance can be tried. */

let fixture: SandboxFixture | undefined;
afterEach(() => fixture?.sandbox.close());

const clientOf = ({ sandbox, now }: SandboxFixture) =>
  createAlertingClient({ url: sandbox.alertingUrl, apiKey: new Secret(sandbox.apiKey), now });

test("timestamps in milliseconds name the same instants", async () => {
  fixture = await startSandbox({ timestampUnit: "milliseconds" });
  const client = clientOf(fixture);
  const { account } = await client.readAccount();
  expect(account.apiKeyExpirationTimestamp).toBe(String(fixture.now() + 90 * 24 * 3_600_000));
  expect(account.apiKeyExpiresAt).toBe(Number(account.apiKeyExpirationTimestamp));
  const [metric] = await client.listMetrics({ chainId: "eth", page: 1 });
  const history = await client.readHistory({ key: String(metric?.key) });
  expect(history.points.at(-1)?.at).toBe(fixture.now());
  const lastHour = await client.readHistory({ key: String(metric?.key), fromAt: fixture.now() - 3_600_000 });
  expect(lastHour.points.length).toBeGreaterThan(1);
  expect(lastHour.points.length).toBeLessThan(history.points.length);
});

test("pages that count from 0 hold the same metrics, and a walk finds out where they begin", async () => {
  const keys = async (sandboxFixture: SandboxFixture, firstPage?: number) => {
    const found: unknown[] = [];
    for await (const { items } of clientOf(sandboxFixture).walkMetrics({ chainId: "eth" }, { firstPage })) {
      found.push(...items.map(({ key }) => key));
    }
    return found;
  };
  fixture = await startSandbox({ firstPage: 0 });
  const fromZero = await keys(fixture, 0);
  expect(await keys(fixture)).toEqual(fromZero);
  await fixture.sandbox.close();
  fixture = await startSandbox({ firstPage: 1 });
  expect(fromZero).toEqual(await keys(fixture, 1));
  expect(fromZero).toEqual(await keys(fixture));
  expect(fromZero).toHaveLength(360);
});

test.each(["", "a b", "a\nb", "schlüssel"])("a key that no header can carry is refused: %j", async (key) => {
  await expect(startSandbox({ key })).rejects.toMatchObject({ code: "usage" });
});
