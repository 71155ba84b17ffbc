import type { Config } from "../../config/config.ts";
import type { Outcome, ReasonCode } from "../../core/delivery.ts";
import { type Finding, ok, problem, toFinding, warning } from "../../core/finding.ts";
import type { Channel } from "../../core/ports/channel.ts";
import type { Destination } from "../../core/rules.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";
import { createChannel, recipientsOf, vendorOf } from "../../vendors/index.ts";
import { repairOf } from "../../vendors/verdict.ts";
import type { RelayRun } from "../relay/connect-relay.ts";

const probeMs = 20_000;
/** The destination answers, and wants to be asked later. */
const asksForTime: ReasonCode[] = ["rate_limited", "temporary_refusal"];

export async function checkDestinations(run: RelayRun, { rules }: Config): Promise<Finding[]> {
  const findings = await Promise.all(rules.destinations.map((destination) => checkDestination(run, destination)));
  return findings.flat();
}

export async function checkDestination({ context }: RelayRun, destination: Destination): Promise<Finding[]> {
  let channel: Channel | undefined;
  try {
    channel = await createChannel(destination, { now: context.now });
    const findings = new Map<string, Finding>();
    for (const recipient of recipientsOf(destination)) {
      const finding = judge(destination, recipient, await probe(channel, recipient, context.signal));
      // Recipients of a mail server mostly fail together, which is one finding.
      findings.set(`${finding.verdict} ${finding.detail}`, finding);
    }
    return [...findings.values()];
  } catch (error) {
    return [toFinding(`destination ${destination.name}`, error)];
  } finally {
    await channel?.close();
  }
}

async function probe(channel: Channel, recipient: string, signal: AbortSignal): Promise<Outcome> {
  return withTimeLimit(probeMs, signal, async (limit) => {
    const outcome = await channel.probe(recipient, limit.signal);
    if (signal.aborted) throw signal.reason;
    return outcome;
  });
}

function judge(destination: Destination, recipient: string, outcome: Outcome): Finding {
  const { name, type, definedAt } = destination;
  const check = `destination ${name}`;
  if (outcome.kind === "sent") {
    const words = vendorOf(type).describeProbe?.(destination, outcome.note);
    return ok(check, `${type} ${words ?? outcome.note ?? "its host takes connections"}`);
  }
  if (outcome.kind === "retry" && outcome.movedTo !== undefined) {
    const detail = `the group ${recipient} is now ${outcome.movedTo}; messages go there`;
    return warning(check, detail, `write that id into ${definedAt}`);
  }
  const { kind, reason, detail } = outcome;
  const isMild = kind === "ambiguous" || asksForTime.includes(reason);
  const mend = repairOf(reason, { channel: type, definedAt });
  return (isMild ? warning : problem)(check, `${type}: ${detail}`, mend);
}
