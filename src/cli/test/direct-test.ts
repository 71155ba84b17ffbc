import { toIso } from "../../contract/encode.ts";
import type { DeliveryDetailView } from "../../contract/operations.ts";
import type { Severity } from "../../core/alert.ts";
import type { ReasonCode } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import { repairOf } from "../../vendors/advice.ts";
import { formatOutcomes, hasReached, toDeliveries, waitUntilSettled } from "../alerts/outcomes.ts";
import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import type { RelayClient } from "../relay/relay-client.ts";
import { describeAge } from "../shell/amounts.ts";
import { terminalText } from "../shell/terminal-text.ts";

export interface DirectTestOptions {
  /** Names of destinations; one that is not configured is refused before anything is sent. */
  to: readonly string[];
  severity: Severity;
  /** Milliseconds to wait for all of them together. */
  timeout: number;
}

/** What has become of the test of one destination. */
export interface DirectTest {
  destination: string;
  /** Of the alert on the log. */
  id: string;
  page: string;
  /** False: an earlier test was still on its way, or only just sent, and is this one. */
  isNew: boolean;
  receivedAt: number;
  timedOut: boolean;
  /** One for each recipient. */
  deliveries: DeliveryDetailView[];
}

/** `tocsin test --to`: straight to these destinations. Exit status 1 unless all were reached. */
export async function sendDirectTests(run: RelayRun, options: DirectTestOptions): Promise<void> {
  const { context, output } = run;
  const { client } = await connectRelay(run);
  const configured = await findConfigured(client, options.to);
  const tests = await testDestinations(run, client, options);
  const deliveries = tests.flatMap((test) => test.deliveries);
  const timedOut = tests.some((test) => test.timedOut);
  const missed = deliveries.filter((delivery) => !hasReached(delivery));
  const ok = deliveries.length > 0 && missed.length === 0;
  for (const { isNew, destination, receivedAt } of tests) {
    if (isNew) continue;
    const age = describeAge(receivedAt, context.now());
    await output.note(`no second test was sent to ${destination}: this is what became of the one of ${age}`);
  }
  const data = { ok, timedOut, tests: toTests(tests), deliveries: toDeliveries(deliveries) };
  await output.result(data, () => {
    const reached = `${deliveries.length - missed.length} of ${deliveries.length} reached`;
    const more = timedOut ? ` after ${options.timeout / 1_000} s; the relay keeps trying the others.` : ".";
    const advice = missed.map((delivery) => adviseOn(delivery, configured.get(delivery.destination)));
    return [
      formatOutcomes(deliveries, output, context.now()),
      output.style(ok ? "green" : "red", `${reached}${more}`),
      ...new Set(advice.map(terminalText)),
      ...tests.map(({ page }) => page),
      "",
    ].join("\n");
  });
  if (!ok) context.setExitStatus(1);
}

/** For `--json`. */
export function toTests(tests: readonly DirectTest[]): object[] {
  return tests.map((test) => ({
    ...test,
    receivedAt: toIso(test.receivedAt),
    deliveries: toDeliveries(test.deliveries),
  }));
}

/** Sends one to each, and waits until all are settled or the time has run out. */
export async function testDestinations(
  run: RelayRun,
  client: RelayClient,
  { to, severity, timeout }: DirectTestOptions,
): Promise<DirectTest[]> {
  const endAt = run.context.now() + timeout;
  const sent: [string, Awaited<ReturnType<RelayClient["testDestination"]>>][] = [];
  for (const name of new Set(to)) sent.push([name, await client.testDestination({ name, severity })]);
  return Promise.all(
    sent.map(async ([destination, { isNew, alert }]) => {
      const settling = await waitUntilSettled(run, client, alert.id, {
        timeoutMs: Math.max(0, endAt - run.context.now()),
        isWanted: () => true,
      });
      if (settling === undefined) throw new AppError("failed", `the relay has lost the test ${alert.id}`);
      const { deliveries, timedOut } = settling;
      const { id, url: page, receivedAt } = alert;
      return { destination, id, page, isNew, receivedAt, timedOut, deliveries };
    }),
  );
}

/** Where each is configured. @throws AppError `usage` for a name that none has. */
async function findConfigured(client: RelayClient, names: readonly string[]): Promise<Map<string, string>> {
  const known = new Map((await client.listDestinations()).map(({ name, definedAt }) => [name, definedAt]));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length === 0) return known;
  throw new AppError("usage", `there is no destination ${unknown.join(", ")}`, {
    hint: `configured are: ${[...known.keys()].join(", ") || "none"}`,
  });
}

function adviseOn({ destination, channel, attempts }: DeliveryDetailView, definedAt = "the configuration"): string {
  // The relay may be of another version, and its code unknown here: for that there is general advice.
  const reason = attempts.at(-1)?.reason as ReasonCode | undefined;
  if (reason === undefined) return `${destination}: its turn has not come; see: tocsin status`;
  return `${destination}: ${repairOf(reason, { channel, definedAt })}`;
}
