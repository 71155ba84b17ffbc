import { hostname } from "node:os";
import type { Severity } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import {
  describeStored,
  formatOutcomes,
  hasReached,
  type Settling,
  toDeliveries,
  waitUntilSettled,
} from "../alerts/outcomes.ts";
import { connectRelay, type RelayConnection, type RelayRun } from "../relay/connect-relay.ts";

export interface TestOptions {
  severity: Severity;
  /** Milliseconds. */
  timeout: number;
}

/**
 * Posts to the relay's own hook, as a sender does, and follows what becomes of it. Exit status 1 unless all were
 * reached.
 */
export async function sendTest(run: RelayRun, options: TestOptions): Promise<void> {
  const { context, output } = run;
  const connection = await connectRelay(run);
  const { client } = connection;
  const secret = await findHookSecret(connection);
  const body = testBody(options.severity, context.now());
  const id = await client.postToHook(secret, body, { "x-tocsin-test": "1" });
  const settling = await waitUntilSettled(run, client, id, {
    timeoutMs: options.timeout,
    isWanted: () => true,
  });
  if (settling === undefined) throw new AppError("failed", `the relay has lost the test alert ${id}`);

  const { alert, deliveries } = settling;
  const difference = describeStored(alert, body);
  const verdict = difference === undefined ? judge(settling, options) : judgeSpoiled(difference);
  await output.result(
    { id, page: alert.url, ok: verdict.ok, timedOut: settling.timedOut, deliveries: toDeliveries(deliveries) },
    () => {
      const table = deliveries.length === 0 ? "" : `${formatOutcomes(deliveries, output, context.now())}\n`;
      return `${table}${output.style(verdict.ok ? "green" : "red", verdict.words)}\n${alert.url}\n`;
    },
  );
  if (!verdict.ok) context.setExitStatus(1);
}

async function findHookSecret({ loadConfig, findKeptSecret }: RelayConnection): Promise<Secret> {
  const { webhookSecret } = await loadConfig();
  const found = webhookSecret ?? (await findKeptSecret("webhook-secret"))?.secret;
  if (found !== undefined) return found;
  throw new AppError("config_invalid", "the hook's secret is not known here", {
    hint: "set WEBHOOK_SECRET, or run this with the relay's DATA_DIR or DATABASE_URL",
  });
}

/** Its own id and time, so that no two tests are taken for one. */
function testBody(severity: Severity, now: number): Record<string, string> {
  const sentAt = new Date(now).toISOString();
  const host = hostname();
  return {
    title: `Test from ${host}`,
    severity,
    source: "tocsin test",
    eventId: `test-${host}-${now}`,
    occurredAt: sentAt,
  };
}

function judgeSpoiled(difference: string): { ok: false; words: string } {
  const words = `The test ${difference}. Something in front of the relay changes what is posted; see: tocsin doctor`;
  return { ok: false, words };
}

function judge(settling: Settling, { timeout }: TestOptions): { ok: boolean; words: string } {
  const { alert, deliveries, timedOut } = settling;
  const seconds = timeout / 1_000;
  if (alert.routedAt === null) {
    const why = alert.routingError === undefined ? "" : `: ${alert.routingError}`;
    return { ok: false, words: `After ${seconds} s it was not routed${why}.` };
  }
  if (alert.deliveries.length === 0 && alert.dropped) {
    const words = `A route drops an alert of severity ${alert.severity} on purpose: it went nowhere; see: tocsin explain ${alert.id}`;
    return { ok: false, words };
  }
  if (alert.deliveries.length === 0) {
    return { ok: false, words: `No route wants an alert of severity ${alert.severity}: it went nowhere.` };
  }
  const reached = deliveries.filter(hasReached).length;
  const words = `${reached} of ${deliveries.length} reached`;
  if (timedOut) return { ok: false, words: `${words} after ${seconds} s; the relay keeps trying the others.` };
  return { ok: reached === deliveries.length, words: `${words}.` };
}
