import type { Config } from "../../config/config.ts";
import { AppError } from "../../core/errors.ts";
import { connectRelay, type RelayRun, readKeptSecret } from "../relay/connect-relay.ts";
import type { DestinationOnWire, RelayClient, StatusOnWire } from "../relay/relay-client.ts";
import { checkHook } from "../setup/check-hook.ts";
import { maskWebhookUrl } from "../upstream/mask-webhook-url.ts";
import { type Finding, toFinding } from "./finding.ts";

/** The relay itself, and the way to it from outside. */
export async function checkRelay(run: RelayRun, config: Config): Promise<Finding[]> {
  const publicUrl = await checkPublicUrl(run, config).catch((error) => toFinding("public URL", error));
  return [...(await checkClient(run)), publicUrl];
}

async function checkClient(run: RelayRun): Promise<Finding[]> {
  try {
    const { client } = await connectRelay(run);
    // Asked without the token first, so that a wrong one is not taken for a relay that is down.
    const ready = await client.isReady();
    const [access, status] = await readAccess(client);
    return [describeRunning(client.url, ready, status), ...access];
  } catch (error) {
    return [toFinding("relay", error)];
  }
}

/** Whether the admin token found here opens it, and what it says of itself and its destinations. */
async function readAccess(client: RelayClient): Promise<[Finding[], StatusOnWire?]> {
  const check = "admin token";
  try {
    const status = await client.readStatus();
    const unwell = status.destinations.filter(({ health }) => health !== "ok");
    const { damage } = status.disk;
    const findings: Finding[] = [
      { check, verdict: "ok", detail: "the relay takes it" },
      ...unwell.map(describeUnwell),
      ...(damage === undefined ? [] : [describeDamage(damage)]),
    ];
    return [findings, status];
  } catch (error) {
    const isRefused = error instanceof AppError && error.code === "unauthorized";
    return [[toFinding(isRefused ? check : "relay's status", error)]];
  }
}

function describeRunning(url: string, wasReady: boolean, status: StatusOnWire | undefined): Finding {
  const check = "relay";
  const ready = status?.relay.ready ?? wasReady;
  if (ready) return { check, verdict: "ok", detail: `running at ${url}, ready` };
  const reasons = status === undefined ? "" : `: ${status.relay.reasons.join("; ")}`;
  return {
    check,
    verdict: "problem",
    detail: `running at ${url}, and not ready to take or deliver alerts${reasons}`,
    mend: "its log says more; most often the disk is full or cannot be written",
  };
}

function describeUnwell({ name, health, reason, counts }: DestinationOnWire): Finding {
  const waiting = (counts.queued ?? 0) + (counts.waiting ?? 0);
  const failed = (counts.failed ?? 0) + (counts.expired ?? 0);
  return {
    check: `deliveries to ${name}`,
    verdict: health === "degraded" ? "warning" : "problem",
    detail: `${health}: ${reason}; ${waiting} wait, ${failed} failed`,
    mend: `see below what the destination itself says; when it is put right: tocsin destinations try ${name}${
      failed === 0 ? "" : `, then: tocsin alerts resend --failed --destination ${name}`
    }`,
  };
}

function describeDamage(why: string): Finding {
  return {
    check: "database",
    verdict: "warning",
    detail: `since its start, earlier alerts could not be looked up (${why}): alerts are stored and sent, repeats of them too`,
    mend: "see whether the database is damaged: tocsin backup FILE",
  };
}

/** From this machine, which is not always what the service sees. */
async function checkPublicUrl({ context }: RelayRun, config: Config): Promise<Finding> {
  const check = "public URL";
  const { publicUrl } = config.server;
  if (publicUrl === undefined) {
    const detail = "PUBLIC_URL is not set, so nobody outside can be told where to send alerts";
    return {
      check,
      verdict: "warning",
      detail,
      mend: "set it to the address by which the internet reaches this relay",
    };
  }
  const secret = config.webhookSecret ?? (await readKeptSecret(config.dataDir, "webhook-secret"))?.secret;
  if (secret === undefined) {
    return {
      check,
      verdict: "skipped",
      detail: "there is no hook secret yet; it is made when the relay starts",
    };
  }
  const hookUrl = `${publicUrl}/hooks/${secret.reveal()}`;
  const hook = await checkHook(hookUrl, context.signal);
  const where = maskWebhookUrl(hookUrl);
  if (hook.reached) return { check, verdict: "ok", detail: `${where} is this relay's hook` };
  return { check, verdict: "problem", detail: `${where}: ${hook.detail}`, mend: mendOf(hook.why) };
}

function mendOf(why: "unreachable" | "other_secret" | "something_else"): string {
  switch (why) {
    case "unreachable":
      return "start the relay; check DNS, the proxy and the firewall in front of it";
    case "other_secret":
      return "run this with the WEBHOOK_SECRET or DATA_DIR of the relay behind that address, then: tocsin setup";
    case "something_else":
      return "let the proxy pass /hooks/ to the relay unchanged";
    default:
      return why satisfies never;
  }
}
