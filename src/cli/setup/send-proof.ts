import { hostname } from "node:os";
import type { DeliveryDetailView } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import { describeStored, formatOutcomes, hasReached, type Settling, waitUntilSettled } from "../alerts/outcomes.ts";
import { createRelayClient } from "../relay/relay-client.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import type { OwnHook } from "./check-public-url.ts";
import type { ProvenRelay } from "./prove.ts";

const timeoutMs = 60_000;

/** What came of the marked test, for `--json` and for people. */
export interface ProofTest {
  /** Every destination has it. */
  ok: boolean;
  /** One line. */
  words: string;
  id?: string;
  page?: string;
  deliveries: DeliveryDetailView[];
}

/**
 * Sends one alert, marked as a test, through the public address as the service will, and waits until every destination
 * has it. The routes decide where it goes, as always; to those that they leave out the relay is asked to send it as well.
 * Of what fails the result tells; only an interruption is thrown.
 */
export async function sendProof(
  run: { context: CliContext; output: Output },
  { client, destinations }: ProvenRelay,
  hook: OwnHook,
): Promise<ProofTest> {
  const { context, output } = run;
  const endAt = context.now() + timeoutMs;
  const wait = (id: string, isWanted: () => boolean) =>
    waitUntilSettled({ ...run, flags: {} }, client, id, { timeoutMs: Math.max(0, endAt - context.now()), isWanted });
  const post = await createRelayClient({ url: hook.url, signal: context.signal });
  let id: string | undefined;
  try {
    await output.progress.update("sending a test through the public address");
    const body = testBody(context.now());
    id = await post.postToHook(hook.secret, body, { "x-tocsin-test": "1" });
    const routed = await wait(id, () => false);
    if (routed === undefined) return lost(id);
    const difference = describeStored(routed.alert, body);
    if (difference !== undefined) return spoiled(routed, difference);
    const named = new Set(routed.alert.deliveries.map(({ destination }) => destination));
    for (const name of destinations.filter((destination) => !named.has(destination)))
      await client.resend({ id, destination: name });
    const { alert, deliveries, timedOut } = (await wait(id, () => true)) ?? routed;
    const arrived = destinations.filter((name) => hasArrived(name, deliveries));
    const count = `${arrived.length} of ${destinations.length} destinations have the test`;
    const ok = arrived.length === destinations.length;
    const words = timedOut ? `${count} after ${timeoutMs / 1_000} s; the relay keeps trying the others.` : `${count}.`;
    return { ok, words, id, page: alert.url, deliveries };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "cancelled") throw error;
    return { ok: false, words: `The test could not be followed: ${error.message}.`, id, deliveries: [] };
  }
}

function hasArrived(name: string, deliveries: DeliveryDetailView[]): boolean {
  const own = deliveries.filter(({ destination }) => destination === name);
  return own.length > 0 && own.every(hasReached);
}

function lost(id: string): ProofTest {
  const words = `The test was taken at the public address as ${id}, and the relay that was asked does not have it.`;
  return { ok: false, words, id, deliveries: [] };
}

/** It is sent to no further destination: it no longer says that it is a test. */
function spoiled({ alert: { id, url: page }, deliveries }: Settling, difference: string): ProofTest {
  const words = `The test ${difference}. Something in front of the relay changes what is posted.`;
  return { ok: false, words, id, page, deliveries };
}

/** Its own id and time, so that no two tests are taken for one. */
function testBody(now: number): Record<string, string> {
  const host = hostname();
  return {
    title: `Test of the setup on ${host}`,
    text: "Sent by tocsin setup through the public address, as alerts of the account are.",
    severity: "info",
    source: "tocsin setup",
    eventId: `setup-${host}-${now}`,
    occurredAt: new Date(now).toISOString(),
  };
}

export function formatProof(test: ProofTest, output: Output, now: number): string {
  const { deliveries, ok, words } = test;
  const table = deliveries.length === 0 ? "" : `${formatOutcomes(deliveries, output, now)}\n`;
  return `${table}${output.style(ok ? "green" : "red", words)}`;
}
