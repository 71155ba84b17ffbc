import { hostname } from "node:os";
import { toIso } from "../../contract/encode.ts";
import type { DeliveryDetailView } from "../../contract/operations.ts";
import type { Severity } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { relativeTime } from "../../ground/time/ages.ts";
import { deliveriesTable } from "../../panels/alert.ts";
import type { Cell } from "../../panels/panel.ts";
import { paragraph, say } from "../../panels/sections.ts";
import { testPanel } from "../../panels/test.ts";
import {
  describeStored,
  hasReached,
  outcomeContext,
  type Settling,
  toDeliveries,
  verdictNote,
  waitUntilSettled,
} from "../alerts/one-alert.ts";
import { connectRelay, type RelayClient, type RelayConnection, type RelayRun } from "../relay/connect-relay.ts";

interface TestOptions {
  severity: Severity;
  /** The wait for all of them together, milliseconds. */
  timeout: number;
}

export interface DirectTestOptions extends TestOptions {
  /** Names of destinations. An unknown one is refused before anything is sent. */
  to: readonly string[];
}

export type DirectTest = Awaited<ReturnType<typeof testDestinations>>[number];

/** Posts to the relay's own hook like a sender, and follows the alert. */
export async function sendTest(run: RelayRun, { severity, timeout: timeoutMs }: TestOptions): Promise<void> {
  const { context, output } = run;
  const connection = await connectRelay(run);
  const { client } = connection;
  const facts = { begins: "Test from", severity, source: "tocsin test" };
  const { id, body } = await postTest(client, await findHookSecret(connection), context.now(), facts);
  const settling = await settle(run, client, id, timeoutMs);
  const { alert, deliveries, timedOut } = settling;
  const difference = describeStored(alert, body);
  const ok = difference === undefined && !timedOut && deliveries.length > 0 && deliveries.every(hasReached);
  const data = { id, page: alert.url, ok, timedOut, deliveries: toDeliveries(deliveries) };
  await output.result(data, async () => [
    deliveries.length > 0 && deliveriesTable(alert, await outcomeContext(client, output)),
    verdictNote(
      ok,
      difference === undefined
        ? describeSettling(settling, timeoutMs)
        : say`${describeSpoiled(difference)} See: ${{ code: "tocsin doctor" }}`,
    ),
    paragraph`${alert.url}`,
  ]);
  if (!ok) context.setExitStatus(1);
}

export async function sendDirectTests(run: RelayRun, options: DirectTestOptions): Promise<void> {
  const { context, output } = run;
  const { client } = await connectRelay(run);
  const configured = await findConfigured(client, options.to);
  const tests = await testDestinations(run, client, options);
  const deliveries = tests.flatMap((test) => test.deliveries);
  const timedOut = tests.some((test) => test.timedOut);
  for (const { isNew, destination, receivedAt } of tests) {
    if (isNew) continue;
    const age = relativeTime(receivedAt, context.now());
    await output.note(`no second test was sent to ${destination}: this is what became of the one of ${age}`);
  }
  const ok = deliveries.length > 0 && deliveries.every(hasReached);
  const data = { ok, timedOut, tests: toTests(tests), deliveries: toDeliveries(deliveries) };
  await output.result(data, () => [
    ...tests.flatMap((test) => testPanel(test, (name) => configured.get(name))),
    verdictNote(ok, countReached(deliveries, timedOut, options.timeout)),
    ...tests.map(({ page }) => paragraph`${page}`),
  ]);
  if (!ok) context.setExitStatus(1);
}

export function toTests(tests: readonly DirectTest[]): object[] {
  return tests.map((test) => ({
    ...test,
    receivedAt: toIso(test.receivedAt),
    deliveries: toDeliveries(test.deliveries),
  }));
}

/** Sends a test to each, and waits until all have ended or the time is over. `isNew`: false for an earlier test. */
export async function testDestinations(
  run: RelayRun,
  client: RelayClient,
  { to, severity, timeout }: DirectTestOptions,
) {
  const endAt = run.context.now() + timeout;
  const sent: [string, Awaited<ReturnType<RelayClient["testDestination"]>>][] = [];
  for (const name of new Set(to)) sent.push([name, await client.testDestination({ name, severity })]);
  return Promise.all(
    sent.map(async ([destination, { isNew, alert }]) => {
      const { id, url: page, receivedAt } = alert;
      const { deliveries, timedOut } = await settle(run, client, id, Math.max(0, endAt - run.context.now()));
      return { destination, id, page, isNew, receivedAt, timedOut, deliveries };
    }),
  );
}

async function settle(run: RelayRun, client: RelayClient, id: string, timeoutMs: number): Promise<Settling> {
  const settling = await waitUntilSettled(run, client, id, { timeoutMs });
  if (settling === undefined) throw new AppError("failed", `the relay has lost the test ${id}`);
  return settling;
}

interface TestFacts {
  /** The beginning of its title. The name of this machine follows. */
  begins: string;
  text?: string;
  severity: string;
  source: string;
}

/** Posts one marked test like a sender. It has its own id and time, so no two tests look the same. */
export async function postTest(client: RelayClient, secret: Secret, now: number, { begins, ...facts }: TestFacts) {
  const host = hostname();
  const eventId = `${facts.source}-${host}-${now}`;
  const body = { title: `${begins} ${host}`, ...facts, eventId, occurredAt: new Date(now).toISOString() };
  return { id: await client.postToHook(secret, body, { "x-tocsin-test": "1" }), body };
}

/** @param difference between the stored and the sent alert, see `describeStored` */
export function describeSpoiled(difference: string): string {
  return `The test ${difference}. Something in front of the relay changes what is posted.`;
}

async function findHookSecret({ place, findKeptSecret }: RelayConnection): Promise<Secret> {
  const { webhookSecret } = await place();
  const found = webhookSecret ?? (await findKeptSecret("webhook-secret"))?.secret;
  if (found !== undefined) return found;
  throw new AppError("config_invalid", "the hook's secret is not known here", {
    hint: "set WEBHOOK_SECRET, or run this with the relay's DATA_DIR or DATABASE_URL",
  });
}

function describeSettling({ alert, deliveries, timedOut }: Settling, timeoutMs: number): Cell {
  const { id, severity, routedAt, routingError, dropped } = alert;
  if (routedAt === null) {
    const why = routingError === undefined ? "" : `: ${routingError}`;
    return `After ${timeoutMs / 1_000} s it was not routed${why}.`;
  }
  if (deliveries.length > 0) return countReached(deliveries, timedOut, timeoutMs);
  return dropped
    ? say`A route drops an alert of severity ${severity ?? "unknown"} on purpose: it went nowhere; see: ${{ code: `tocsin explain ${id}` }}`
    : `No route wants an alert of severity ${severity}: it went nowhere.`;
}

function countReached(deliveries: readonly DeliveryDetailView[], timedOut: boolean, timeoutMs: number): string {
  const count = `${deliveries.filter(hasReached).length} of ${deliveries.length} reached`;
  return timedOut ? `${count} after ${timeoutMs / 1_000} s; the relay keeps trying the others.` : `${count}.`;
}

/** The place where each is configured. @throws AppError `usage` for an unknown name. */
async function findConfigured(client: RelayClient, names: readonly string[]): Promise<Map<string, string>> {
  const known = new Map((await client.listDestinations()).map(({ name, definedAt }) => [name, definedAt]));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length === 0) return known;
  throw new AppError("usage", `there is no destination ${unknown.join(", ")}`, {
    hint: `configured are: ${[...known.keys()].join(", ") || "none"}`,
  });
}
