import type { AlertDetailView, DeliveryDetailView } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import { deliveriesTable } from "../../panels/alert.ts";
import type { OwnHook } from "../../upstream/check-public-url.ts";
import { describeStored, hasReached, verdictNote, waitUntilSettled } from "../alerts/one-alert.ts";
import { createRelayClient, type RelayRun } from "../relay/connect-relay.ts";
import { describeSpoiled, postTest } from "../test/run-test.ts";
import type { FoundRelay } from "./prove.ts";

const timeoutMs = 60_000;

/** The result of the marked test, for `--json` and for people. */
export interface ProofTest {
  ok: boolean;
  id?: string;
  page?: string;
  detail: string;
  deliveries: DeliveryDetailView[];
}

/**
 * Sends a marked test through the public address, and waits until every destination has it. The relay sends it to
 * destinations that no route reaches. Only an interruption is thrown.
 */
export async function sendProof(run: RelayRun, relay: FoundRelay, hook: OwnHook): Promise<ProofTest> {
  const { output } = run;
  const configured = (name: string) => relay.destinations.find((one) => one.name === name);
  const { alert, ...test } = await follow(run, relay, hook);
  const { ok, detail, deliveries } = test;
  const isShown = alert !== undefined && deliveries.length > 0;
  // The other destinations get it as a resend, which is their first message.
  const asTests = deliveries.map((one) => ({ ...one, purpose: "test" as const }));
  const table = isShown && deliveriesTable({ ...alert, deliveries: asTests }, { now: output.now(), configured });
  await output.print(`\n${output.draw([table, verdictNote(ok, detail)])}\n`);
  return test;
}

async function follow(
  run: RelayRun,
  { client, destinations }: FoundRelay,
  hook: OwnHook,
): Promise<ProofTest & { alert?: AlertDetailView }> {
  const { context, output } = run;
  const endAt = context.now() + timeoutMs;
  const wait = (id: string, isWanted?: () => boolean) =>
    waitUntilSettled(run, client, id, { timeoutMs: Math.max(0, endAt - context.now()), isWanted });
  let id: string | undefined;
  try {
    await output.progress.update("sending a test through the public address");
    const outside = await createRelayClient({ url: hook.url, signal: context.signal });
    const sent = await postTest(outside, hook.secret, context.now(), {
      begins: "Test of the setup on",
      text: "Sent by tocsin setup through the public address, as alerts of the account are.",
      severity: "info",
      source: "tocsin setup",
    });
    id = sent.id;
    const routed = await wait(id, () => false);
    if (routed === undefined) {
      const detail = `The test was taken at the public address as ${id}, and the relay that was asked does not have it.`;
      return { ok: false, id, detail, deliveries: [] };
    }
    const page = routed.alert.url;
    const difference = describeStored(routed.alert, sent.body);
    // It is sent no further: the mark of a test may be lost.
    if (difference !== undefined) {
      const { alert, deliveries } = routed;
      return { ok: false, id, page, detail: describeSpoiled(difference), alert, deliveries };
    }
    const named = new Set(routed.alert.deliveries.map(({ destination }) => destination));
    for (const { name } of destinations) if (!named.has(name)) await client.resend({ id, destination: name });
    const { alert, deliveries, timedOut } = (await wait(id)) ?? routed;
    const arrived = destinations.filter(({ name }) => {
      const own = deliveries.filter(({ destination }) => destination === name);
      return own.length > 0 && own.every(hasReached);
    });
    const count = `${arrived.length} of ${destinations.length} destinations have the test`;
    const detail = timedOut ? `${count} after ${timeoutMs / 1_000} s; the relay keeps trying the others.` : `${count}.`;
    return { ok: arrived.length === destinations.length, id, page, detail, deliveries, alert };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "cancelled") throw error;
    return { ok: false, id, detail: `The test could not be followed: ${error.message}.`, deliveries: [] };
  }
}
