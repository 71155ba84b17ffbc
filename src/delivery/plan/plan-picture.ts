import { type Alert, toNumber } from "../../core/alert.ts";
import type { MessagePicture } from "../../core/message.ts";
import type { MessageContext } from "../../core/message-context.ts";
import { recordKeyIn } from "../../core/metric-key.ts";
import type { Capabilities } from "../../core/ports/channel.ts";
import type { Destination } from "../../core/rules.ts";
import { cleanLine } from "../../ground/text/clean.ts";
import { cut } from "../../ground/text/graphemes.ts";

export interface PicturePlanDeps {
  /** Whether the market-data service can be asked for records of metrics. */
  hasRecords: boolean;
  /** Alerts of these sources belong to other accounts. */
  sources: ReadonlySet<string>;
  /** The address from which the picture can be fetched. Undefined when there is none, or too many were asked for. */
  linkTo?(alertId: string, destination: Pick<Destination, "name" | "timeZone">): string | undefined;
}

export type PlanPicture = ReturnType<typeof createPicturePlan>;

const maxAltUnits = 200;

/** The alert needs a value, and a record of its metric or an earlier alert of its key. Makes no request. */
export function createPicturePlan({ hasRecords, sources, linkTo }: PicturePlanDeps) {
  return (
    alert: Alert,
    { purpose, resolvedBy = alert, hasEarlier = false }: Pick<MessageContext, "purpose" | "resolvedBy" | "hasEarlier">,
    destination: Pick<Destination, "name" | "chart" | "timeZone">,
    can: Capabilities["pictures"],
  ): MessagePicture | undefined => {
    if (destination.chart !== true || (can !== "linked" && can !== "inline")) return undefined;
    if (alert.origin !== "hook" || purpose === "test") return undefined;
    const { facts, id } = resolvedBy;
    if (toNumber(facts.value) === null) return undefined;
    const { source } = facts;
    const hasRecord = hasRecords && recordKeyIn(facts) !== undefined && !(source !== undefined && sources.has(source));
    if (!hasRecord && !hasEarlier && resolvedBy === alert) return undefined;
    const alt = `Value over time: ${cut(cleanLine(facts.title), maxAltUnits)}`;
    if (can === "inline") return { alt };
    const url = linkTo?.(id, destination);
    return url === undefined ? undefined : { alt, url };
  };
}
