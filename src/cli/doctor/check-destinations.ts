import type { Config } from "../../config/config.ts";
import type { Outcome, ReasonCode } from "../../core/delivery.ts";
import type { Channel } from "../../core/ports/channel.ts";
import type { Destination } from "../../core/rules.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";
import { repairOf } from "../../vendors/advice.ts";
import { createChannel, recipientsOf, vendorOf } from "../../vendors/index.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { type Finding, toFinding } from "./finding.ts";

const probeMs = 20_000;
/** It answers, and wants to be asked later. */
const asksForTime: ReasonCode[] = ["rate_limited", "temporary_refusal"];

/** Each channel is asked whether delivery could work now. Nothing is sent to people. */
export async function checkDestinations(run: RelayRun, { rules }: Config): Promise<Finding[]> {
  const findings = await Promise.all(rules.destinations.map((destination) => checkDestination(run, destination)));
  return findings.flat();
}

/** One of them. */
export async function checkDestination({ context }: RelayRun, destination: Destination): Promise<Finding[]> {
  const check = `destination ${destination.name}`;
  let channel: Channel | undefined;
  try {
    channel = await createChannel(destination, { now: context.now });
    const outcomes: [string, Outcome][] = [];
    for (const recipient of recipientsOf(destination)) {
      outcomes.push([recipient, await probe(channel, recipient, context.signal)]);
    }
    return summarizeOutcomes(check, destination, outcomes);
  } catch (error) {
    return [toFinding(check, error)];
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

/** Recipients of a mail server mostly share their fate; then it is one finding. */
function summarizeOutcomes(check: string, destination: Destination, outcomes: [string, Outcome][]): Finding[] {
  const findings = outcomes.map(([recipient, outcome]) => judge(check, destination, recipient, outcome));
  const seen = new Set<string>();
  return findings.filter((finding) => {
    const key = `${finding.verdict} ${finding.detail}`;
    return !seen.has(key) && seen.add(key);
  });
}

function judge(check: string, destination: Destination, recipient: string, outcome: Outcome): Finding {
  const { type, definedAt } = destination;
  if (outcome.kind === "sent") {
    const note = outcome.note ?? "its host takes connections";
    const words = vendorOf(type).describeProbe?.(destination, outcome.note) ?? note;
    return { check, verdict: "ok", detail: `${type} ${words}` };
  }
  if (outcome.kind === "retry" && outcome.movedTo !== undefined) {
    const detail = `the group ${recipient} is now ${outcome.movedTo}; messages go there`;
    return { check, verdict: "warning", detail, mend: `write that id into ${definedAt}` };
  }
  const { kind, reason, detail } = outcome;
  return {
    check,
    verdict: kind === "ambiguous" || asksForTime.includes(reason) ? "warning" : "problem",
    detail: `${type}: ${detail}`,
    mend: repairOf(reason, { channel: type, definedAt }),
  };
}
