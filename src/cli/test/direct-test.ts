import { toIso } from "../../contract/encode.ts";
import type { DeliveryDetailView } from "../../contract/operations.ts";
import { testPanel } from "../../contract/panels/test.ts";
import type { Severity } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import { hasReached, toDeliveries, waitUntilSettled } from "../alerts/outcomes.ts";
import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import type { RelayClient } from "../relay/relay-client.ts";
import { describeAge } from "../shell/amounts.ts";
import { drawPanel } from "../shell/draw-panel.ts";

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
  const reached = deliveries.filter(hasReached).length;
  const ok = deliveries.length > 0 && reached === deliveries.length;
  for (const { isNew, destination, receivedAt } of tests) {
    if (isNew) continue;
    const age = describeAge(receivedAt, context.now());
    await output.note(`no second test was sent to ${destination}: this is what became of the one of ${age}`);
  }
  const data = { ok, timedOut, tests: toTests(tests), deliveries: toDeliveries(deliveries) };
  await output.result(data, () => {
    const more = timedOut ? ` after ${options.timeout / 1_000} s; the relay keeps trying the others.` : ".";
    const count = output.style(ok ? "green" : "red", `${reached} of ${deliveries.length} reached${more}`);
    const pages = tests.map(({ page }) => `${page}\n`).join("");
    return `${formatTests(run, tests, (name) => configured.get(name))}\n${count}\n${pages}`;
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

/** In the words of the page. @param definedAt where a destination is configured */
export function formatTests(
  { output, context }: Pick<RelayRun, "output" | "context">,
  tests: readonly DirectTest[],
  definedAt: (name: string) => string | undefined,
): string {
  const panel = tests.flatMap((test) => testPanel(test, definedAt));
  return drawPanel(panel, output, context.now());
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
      const timeoutMs = Math.max(0, endAt - run.context.now());
      const settling = await waitUntilSettled(run, client, alert.id, { timeoutMs, isWanted: () => true });
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
