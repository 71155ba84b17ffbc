import { isJsonObject, type Json } from "../../core/json.ts";
import { type Leaf, listLeaves } from "../find/leaves.ts";
import { readTime } from "../find/read-time.ts";
import type { RequestReading } from "../read/read-request.ts";
import { unwrapPayload } from "../read/unwrap-payload.ts";

/**
 * Ids that a sender makes anew for each event. A bare `id`, or an id of an alert, rule, metric or subscription, is not
 * among them: it stays the same when the same thing happens again, and dropping that would lose an alert.
 */
const eventIds = new Set(
  `eventid eventuuid messageid notificationid deliveryid webhookid requestid occurrenceid nonce`.split(" "),
);

/**
 * Times of the event itself. When an alert began (`startsAt`) or a rule was made (`createdAt`) is the same in every
 * reminder.
 */
const eventTimes = new Set(
  `timestamp time ts datetime eventtime eventtimestamp occurredat triggeredat firedat detectedat sentat alerttime
  alerttimestamp statechangetime timenow`.split(/\s+/),
);

const eventContainers = new Set("data event alert payload message notification body heartbeat".split(" "));

/**
 * Whether a body carries its own event id or time, so that the very same bytes again are the same event sent again. In
 * doubt false: then the second is sent as something that truly happened again. A batch names itself when each of its
 * alerts does. Never throws.
 */
export function namesItself(request: RequestReading): boolean {
  const content = request.content();
  if (content.kind === "batch") {
    const { envelope, items } = content;
    return (envelope !== undefined && isNamed({ ...envelope, alerts: null })) || items.every(isNamed);
  }
  const payload = request.payload();
  return payload !== undefined && isNamed(payload);
}

function isNamed(payload: Json): boolean {
  if (!isJsonObject(payload)) return false;
  return isCloudEvent(payload) || listLeaves(unwrapPayload(payload)).leaves.some(namesEvent);
}

function isCloudEvent(payload: Json): boolean {
  return isJsonObject(payload) && typeof payload.specversion === "string" && typeof payload.id === "string";
}

function namesEvent(leaf: Leaf): boolean {
  if (!leaf.names.slice(0, -1).every((name) => eventContainers.has(name))) return false;
  const name = leaf.names.at(-1) ?? "";
  if (leaf.kind === "boolean") return false;
  if (eventIds.has(name)) return true;
  // `event.id` is the event's; `alert.id` and `data.id` may be the rule's.
  if (name === "id" && leaf.names.at(-2) === "event") return true;
  return eventTimes.has(name) && readTime(leaf.text) !== undefined;
}
