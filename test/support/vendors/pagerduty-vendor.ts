import { createHttpVendor, json, parseObject, type VendorAnswer } from "./http-vendor.ts";

/** Refuses as the Events API v2 does; stricter in one thing: it refuses what PagerDuty would cut. */
export async function createPagerdutyVendor() {
  const routingKey = "canaryPagerdutyRoutingKeyXXXXXXX";
  /** Summaries of the events that were taken. */
  const seen: string[] = [];
  /** The state of each, by its `dedup_key`. */
  const incidents = new Map<string, "triggered" | "acknowledged" | "resolved">();
  const vendor = await createHttpVendor((request): VendorAnswer => {
    if (request.path !== "/v2/enqueue") return json(404, { error: "Not Found" });
    if (request.method !== "POST") return json(405, {});
    const event = parseObject(request.body) as Record<string, unknown> | undefined;
    const errors = event === undefined ? ["JSON is invalid"] : errorsOf(event, routingKey);
    if (event === undefined || errors.length > 0 || request.body.length > 512 * 1024)
      return json(400, { status: "invalid event", message: "Event object is invalid", errors });
    const key = String(event.dedup_key ?? `made-${seen.length}`);
    const states = { trigger: "triggered", acknowledge: "acknowledged", resolve: "resolved" } as const;
    const isOpen = incidents.has(key) && incidents.get(key) !== "resolved";
    // What acknowledges or resolves nothing that is open is taken, and dropped.
    if (event.event_action === "trigger" ? !isOpen : isOpen)
      incidents.set(key, states[event.event_action as keyof typeof states]);
    seen.push((event.payload as { summary: string }).summary);
    return json(202, { status: "success", message: "Event processed", dedup_key: key });
  });
  return { ...vendor, routingKey, seen, incidents };
}

function errorsOf(event: Record<string, unknown>, routingKey: string): string[] {
  const { summary, source, severity, timestamp } = (event.payload ?? {}) as Record<string, unknown>;
  const isText = (value: unknown, most: number) => typeof value === "string" && value !== "" && value.length <= most;
  const links = (event.links ?? []) as { href?: unknown }[];
  const isTime = timestamp === undefined || !Number.isNaN(Date.parse(String(timestamp)));
  const rules: [isKept: boolean, error: string][] = [
    [event.routing_key === routingKey, "Invalid routing key"],
    [["trigger", "acknowledge", "resolve"].includes(String(event.event_action)), "'event_action' is invalid"],
    [event.dedup_key === undefined || isText(event.dedup_key, 255), "'dedup_key' is too long"],
    [isText(summary, 1024), "'payload.summary' is missing, blank or too long"],
    [isText(source, 1024), "'payload.source' is missing or blank"],
    [["critical", "error", "warning", "info"].includes(String(severity)), "'payload.severity' is invalid"],
    [isTime, "'payload.timestamp' is invalid"],
    [links.every(({ href }) => typeof href === "string" && URL.canParse(href)), "'links' is invalid"],
  ];
  return rules.flatMap(([isKept, error]) => (isKept ? [] : [error]));
}
