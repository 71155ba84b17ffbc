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
import { describeSpoiled, postTest } from "./post-test.ts";

export interface TestOptions {
  severity: Severity;
  /** Milliseconds. */
  timeout: number;
}

/**
 * Posts to the relay's own hook, as a sender does, and follows what becomes of it. Exit status 1 unless all were
 * reached.
 */
export async function sendTest(run: RelayRun, { severity, timeout: timeoutMs }: TestOptions): Promise<void> {
  const { context, output } = run;
  const connection = await connectRelay(run);
  const { client } = connection;
  const secret = await findHookSecret(connection);
  const facts = { begins: "Test from", severity, source: "tocsin test" };
  const { id, body } = await postTest(client, secret, context.now(), facts);
  const settling = await waitUntilSettled(run, client, id, { timeoutMs, isWanted: () => true });
  if (settling === undefined) throw new AppError("failed", `the relay has lost the test alert ${id}`);

  const { alert, deliveries, timedOut } = settling;
  const difference = describeStored(alert, body);
  const reached = deliveries.filter(hasReached).length;
  const ok = difference === undefined && !timedOut && reached > 0 && reached === deliveries.length;
  const words =
    difference === undefined
      ? describeReached(settling, reached, timeoutMs)
      : `${describeSpoiled(difference)} See: tocsin doctor`;
  await output.result({ id, page: alert.url, ok, timedOut, deliveries: toDeliveries(deliveries) }, () => {
    const table = deliveries.length === 0 ? "" : `${formatOutcomes(deliveries, output, context.now())}\n`;
    return `${table}${output.style(ok ? "green" : "red", output.asTyped(words))}\n${alert.url}\n`;
  });
  if (!ok) context.setExitStatus(1);
}

async function findHookSecret({ loadConfig, findKeptSecret }: RelayConnection): Promise<Secret> {
  const { webhookSecret } = await loadConfig();
  const found = webhookSecret ?? (await findKeptSecret("webhook-secret"))?.secret;
  if (found !== undefined) return found;
  throw new AppError("config_invalid", "the hook's secret is not known here", {
    hint: "set WEBHOOK_SECRET, or run this with the relay's DATA_DIR or DATABASE_URL",
  });
}

function describeReached({ alert, deliveries, timedOut }: Settling, reached: number, timeoutMs: number): string {
  const { id, severity, routedAt, routingError } = alert;
  const inTime = `${timeoutMs / 1_000} s`;
  if (routedAt === null)
    return `After ${inTime} it was not routed${routingError === undefined ? "" : `: ${routingError}`}.`;
  if (deliveries.length === 0) {
    return alert.dropped
      ? `A route drops an alert of severity ${severity} on purpose: it went nowhere; see: tocsin explain ${id}`
      : `No route wants an alert of severity ${severity}: it went nowhere.`;
  }
  const count = `${reached} of ${deliveries.length} reached`;
  return timedOut ? `${count} after ${inTime}; the relay keeps trying the others.` : `${count}.`;
}
