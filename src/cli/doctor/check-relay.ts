import type { Config } from "../../config/config.ts";
import { AppError } from "../../core/errors.ts";
import { connectRelay, type RelayRun, readKeptSecret } from "../relay/connect-relay.ts";
import type { DestinationOnWire, RelayClient, StatusOnWire } from "../relay/relay-client.ts";
import { checkPublicUrl } from "../setup/check-public-url.ts";
import { countOf, toSeconds } from "../shell/amounts.ts";
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
      ...describeHeartbeat(status, config),
      ...describeCanary(status, config),
      ...describeSilence(status),
      ...describeSources(status, config),
    ];
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
      describeSocket(status.relay),
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

function describeHeartbeat(status: StatusOnWire | undefined, config: Config): Finding[] {
  const check = "heartbeat";
  const heartbeat = status?.watches?.find(({ name }) => name === "heartbeat");
  if (heartbeat !== undefined) {
    const { verdict, summary } = heartbeat;
    if (verdict !== "trouble") return [{ check, verdict: "ok", detail: summary }];
    const mend = "compare the address with the one that the service shows; it reports there that the relay is gone";
    return [{ check, verdict: "problem", detail: summary, ...(status?.relay.ready && { mend }) }];
  }
  return status === undefined || config.heartbeat === undefined ? [] : [describeUnsent(check)];
}

function describeUnsent(check: string): Finding {
  const detail = "it is configured here, and the running relay sends none";
  return { check, verdict: "warning", detail, mend: "restart the relay, or give it the same configuration" };
}

function describeCanary(status: StatusOnWire | undefined, config: Config): Finding[] {
  const check = "canary";
  if (status?.canary === undefined) return status && config.canary ? [describeUnsent(check)] : [];
  const { state, lastOkAt, stage, detail } = status.canary;
  if (state === "fails") {
    const mend =
      stage === "routed"
        ? "see: tocsin status"
        : stage === "body"
          ? "let the proxy pass the bodies of /hooks/ as they come"
          : "see what is found at the public URL, and whether it leads to this relay";
    return [{ check, verdict: "problem", detail: `fails at ${stage}: ${detail}`, mend }];
  }
  const came = lastOkAt === undefined ? "the first is about to be sent" : `last arrived ${toSeconds(lastOkAt)}`;
  return [{ check, verdict: "ok", detail: came }];
}

function describeSilence(status: StatusOnWire | undefined): Finding[] {
  return (status?.silence ?? []).flatMap(({ of, name, state, since, lastAt, learning }): Finding[] => {
    const check = name === undefined ? "silence" : `silence of ${of} ${name}`;
    if (state === "silent") {
      const detail = `no alert has arrived since ${toSeconds(lastAt ?? since)}`;
      const mend =
        "see whether the sender still sends to this address; if the quiet is meant, mute it at Silence on the page";
      return [{ check, verdict: "warning", detail, mend }];
    }
    if (learning === undefined || learning.days < learning.daysNeeded) return [];
    const detail = `alerts are too rare for auto (${learning.arrivals} spans with one in six weeks): silence would never be reported`;
    return [{ check, verdict: "warning", detail, mend: "write a time instead of auto" }];
  });
}

/** Of those that check their sender, and of those of the file that the relay has not read yet. */
function describeSources(status: StatusOnWire | undefined, config: Config): Finding[] {
  if (status === undefined) return [];
  const known = status.sources ?? [];
  const unread = config.sources.filter(({ name }) => known.every((one) => one.name !== name));
  return [
    ...unread.map(({ name }): Finding => {
      const detail = "it is configured here, and the running relay does not know it: its sender gets 404";
      const mend = "restart the relay, or give it the same configuration";
      return { check: `source ${name}`, verdict: "problem", detail, mend };
    }),
    ...known.flatMap(({ name, refused, lastRefusedAt, lastAcceptedAt, accepted }): Finding[] => {
      const check = `source ${name}`;
      if (lastRefusedAt === undefined) return [];
      const count = Object.values(refused).reduce((sum, one) => sum + one, 0);
      const reasons = Object.keys(refused).join(", ");
      const detail = `${countOf(count, "request")} refused since the start (${reasons}), the last ${toSeconds(lastRefusedAt)}`;
      const mend = `see what was refused: tocsin refused list --source ${name}`;
      if (lastAcceptedAt !== undefined && lastAcceptedAt >= lastRefusedAt) {
        return [{ check, verdict: "warning", detail: `${detail}; its sender passes (${accepted} accepted)`, mend }];
      }
      const both = "when its secret was changed at one end, list both under its check";
      return [
        { check, verdict: "problem", detail: `${detail}, and none has passed after it`, mend: `${mend}; ${both}` },
      ];
    }),
  ];
}

function describeSocket({ socketIsHeld }: StatusOnWire["relay"]): Finding {
  const check = "restarts";
  if (socketIsHeld) return { check, verdict: "ok", detail: "alerts that arrive meanwhile wait in the socket" };
  return {
    check,
    verdict: "warning",
    detail: "alerts are refused during a restart",
    mend: "to avoid that, start it by deploy/tocsin.socket and deploy/tocsin.service, or by: tocsin serve --supervised",
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
