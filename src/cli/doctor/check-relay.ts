import type { Config } from "../../config/config.ts";
import { countRefused, type StatusView } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import { connectRelay, type RelayRun, readKeptSecret } from "../relay/connect-relay.ts";
import { fromWire } from "../relay/from-wire.ts";
import type { RelayClient } from "../relay/relay-client.ts";
import { checkPublicUrl } from "../setup/check-public-url.ts";
import { countOf, toSeconds } from "../shell/amounts.ts";
import { describeTrouble } from "./describe-trouble.ts";
import { type Finding, toFinding } from "./finding.ts";

/** The relay itself, and the way to it from outside. */
export async function checkRelay(run: RelayRun, config: Config): Promise<Finding[]> {
  const publicUrl = await lookFromOutside(run, config).catch((error) => [toFinding("public URL", error)]);
  return [...(await checkClient(run, config)), ...publicUrl];
}

async function checkClient(run: RelayRun, config: Config): Promise<Finding[]> {
  try {
    const { client } = await connectRelay(run);
    // Asked without the token first, so that a wrong one is not taken for a relay that is down.
    const ready = await client.isReady();
    const [access, status] = await readAccess(client);
    return [
      describeRunning(client.url, ready, status),
      ...access,
      ...(status === undefined
        ? []
        : [...describeTroubles(status, config), ...describeWell(status), ...compare(status, config)]),
    ];
  } catch (error) {
    return [toFinding("relay", error)];
  }
}

/** Whether the admin token found here opens it, and what it says of itself. */
async function readAccess(client: RelayClient): Promise<[Finding[], StatusView?]> {
  const check = "admin token";
  try {
    const status = fromWire<StatusView>(await client.readStatus());
    return [[{ check, verdict: "ok", detail: "the relay takes it" }, describeSocket(status.relay)], status];
  } catch (error) {
    const isRefused = error instanceof AppError && error.code === "unauthorized";
    return [[toFinding(isRefused ? check : "relay's status", error)]];
  }
}

function describeRunning(url: string, wasReady: boolean, status: StatusView | undefined): Finding {
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

/** Those of relays are said where the database is looked at, which every relay reports to. */
function describeTroubles(status: StatusView, { databaseUrl }: Config): Finding[] {
  return (status.troubles ?? [])
    .filter(({ kind }) => kind !== "relay" || databaseUrl === undefined)
    .map((trouble) => describeTrouble(trouble, status));
}

/** Proofs worth a line though nothing is wrong, and watches that can never tell anybody. */
function describeWell({ watches, canary, silence, sources }: StatusView): Finding[] {
  const heartbeat = watches.find(({ name, verdict }) => name === "heartbeat" && verdict !== "trouble");
  const last = canary?.lastOkAt;
  const came =
    last === undefined ? "the first is about to be sent" : `last arrived ${toSeconds(new Date(last).toISOString())}`;
  const rare = silence.filter(({ learning }) => learning !== undefined && learning.days >= learning.daysNeeded);
  const isTold = watches.some(({ name, verdict }) => name === "sources" && verdict === "trouble");
  const refusing = sources.filter((source) => !isTold && countRefused(source) > 0);
  return [
    ...(heartbeat ? [{ check: "heartbeat", verdict: "ok" as const, detail: heartbeat.summary }] : []),
    ...(canary && canary.state !== "fails" ? [{ check: "canary", verdict: "ok" as const, detail: came }] : []),
    ...rare.map(({ of, name, learning }): Finding => {
      const detail = `alerts are too rare for auto (${learning?.arrivals} spans with one in six weeks): silence would never be reported`;
      const check = name === undefined ? "silence" : `silence of ${of} ${name}`;
      return { check, verdict: "warning", detail, mend: "write a time instead of auto" };
    }),
    ...refusing.map(({ name, accepted, lastAcceptedAt = 0, lastRefusedAt = 0, ...source }): Finding => {
      const passes =
        lastAcceptedAt >= lastRefusedAt ? `its sender passes (${accepted} accepted)` : "none has passed after it";
      const detail = `${countOf(countRefused(source), "request")} refused since the start; ${passes}`;
      return {
        check: `source ${name}`,
        verdict: "warning",
        detail,
        mend: `see what was refused: tocsin refused list --source ${name}`,
      };
    }),
  ];
}

/** What the configuration here has, and the relay that runs does not: it has not read it yet. */
function compare({ watches, canary, sources }: StatusView, config: Config): Finding[] {
  const mend = "restart the relay, or give it the same configuration";
  const unsent = (check: string): Finding => {
    return { check, verdict: "warning", detail: "it is configured here, and the running relay sends none", mend };
  };
  const unread = config.sources.filter(({ name }) => sources.every((one) => one.name !== name));
  const hasHeartbeat = watches.some(({ name }) => name === "heartbeat");
  return [
    ...(config.heartbeat !== undefined && !hasHeartbeat ? [unsent("heartbeat")] : []),
    ...(config.canary && canary === undefined ? [unsent("canary")] : []),
    ...unread.map(({ name }): Finding => {
      const detail = "it is configured here, and the running relay does not know it: its sender gets 404";
      return { check: `source ${name}`, verdict: "problem", detail, mend };
    }),
  ];
}

function describeSocket({ socketIsHeld }: StatusView["relay"]): Finding {
  const check = "restarts";
  if (socketIsHeld) return { check, verdict: "ok", detail: "alerts that arrive meanwhile wait in the socket" };
  return {
    check,
    verdict: "warning",
    detail: "alerts are refused during a restart",
    mend: "to avoid that, start it by deploy/tocsin.socket and deploy/tocsin.service, or by: tocsin serve --supervised",
  };
}

/** From this machine, which is not always what the service sees. What is not as it should be, or else that all is. */
async function lookFromOutside({ context }: RelayRun, config: Config): Promise<Finding[]> {
  const check = "public URL";
  const { publicUrl } = config.server;
  if (publicUrl === undefined) {
    const detail = "PUBLIC_URL is not set, so no sender outside of this machine has an address to send to";
    const mend = "set it to the address by which the internet reaches this relay";
    return [{ check, verdict: "warning", detail, mend }];
  }
  const secret = config.webhookSecret ?? (await readKeptSecret(config, "webhook-secret"))?.secret;
  if (secret === undefined) {
    const detail = "there is no hook secret yet; it is made when the relay starts";
    return [{ check, verdict: "skipped", detail }];
  }
  const findings: Finding[] = [];
  const hook = { url: publicUrl, secret, serviceUrl: config.upstream.alerting?.url };
  const look = { now: context.now(), maxBodyBytes: config.intake.maxBodyBytes, signal: context.signal };
  for await (const finding of checkPublicUrl(hook, look)) {
    if (finding.verdict !== "ok") findings.push(finding);
  }
  if (findings.some(({ verdict }) => verdict === "problem")) return findings;
  return [{ check, verdict: "ok", detail: `${publicUrl}/hooks/*** is this relay's hook` }, ...findings];
}
