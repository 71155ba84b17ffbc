import { createHash } from "node:crypto";
import { isJsonObject, type Json, JsonNumber } from "../../core/json.ts";
import { lookUp } from "../../matching/path.ts";
import { type Leaf, listLeaves } from "../find/leaves.ts";
import { readTime } from "../find/read-time.ts";
import type { RequestReading } from "../read/read-request.ts";
import { unwrapPayload } from "../read/unwrap-payload.ts";

const maxKeyLength = 200;

/** Headers in which senders give each message its own id, the same for every try to deliver it. */
const keyHeaders = ["webhook-id", "svix-id", "idempotency-key", "x-github-delivery"] as const;

export interface ExplicitKeyOptions {
  /** Paths into a JSON or form payload, tried in order when no header has a key; the first scalar that is not empty is it. */
  paths?: string[];
}

/**
 * The key by which a sender marks its repeats, or undefined. It begins with where it was found (`webhook-id:…`,
 * `payload.event.id:…`), so that equal words from two places stay two keys; a long one is hashed. A CloudEvents id is only
 * unique together with its source (CloudEvents 1.0, "id"). Header names are lower case. The body is read only for `paths`,
 * and only when no header has a key. Never throws.
 */
export function explicitKey(
  headers: Record<string, string>,
  request: RequestReading,
  options: ExplicitKeyOptions = {},
): string | undefined {
  for (const header of keyHeaders) {
    const value = headers[header]?.trim();
    if (value) return bounded(header, value);
  }
  const eventId = headers["ce-id"]?.trim();
  if (eventId) return bounded("ce-id", `${JSON.stringify(headers["ce-source"]?.trim() ?? "")} ${eventId}`);
  return options.paths?.length ? keyOfPayload(request.payload(), options.paths) : undefined;
}

function keyOfPayload(payload: Json | undefined, paths: string[]): string | undefined {
  if (payload === undefined) return undefined;
  for (const path of paths) {
    const value = lookUp(payload, path);
    const text = typeof value === "string" || value instanceof JsonNumber ? String(value).trim() : "";
    if (text !== "") return bounded(`payload.${path.replace(/^payload\./, "")}`, text);
  }
  return undefined;
}

function bounded(kind: string, value: string): string {
  const key = `${kind}:${value}`;
  return key.length <= maxKeyLength
    ? key
    : `${kind.slice(0, 60)}:sha256:${createHash("sha256").update(key).digest("hex")}`;
}

/**
 * Ids that a sender makes anew for each event. A bare `id`, or an id of an alert, rule, metric or subscription, is not
 * among them: it stays the same when the same thing happens again, and dropping that would lose an alert.
 */
const eventIds = new Set(
  `eventid eventuuid messageid notificationid deliveryid webhookid requestid occurrenceid nonce`.split(" "),
);

/** Times of the event itself. When an alert began (`startsAt`) or a rule was made (`createdAt`) is the same in every reminder. */
const eventTimes = new Set(
  `timestamp time ts datetime eventtime eventtimestamp occurredat triggeredat firedat detectedat sentat alerttime
  alerttimestamp statechangetime timenow`.split(/\s+/),
);

const eventContainers = new Set("data event alert payload message notification body heartbeat".split(" "));

/**
 * Whether a body carries its own event id or time, so that the very same bytes again are the same event sent again. Ask only
 * about a byte-equal match. In doubt false: then the second is delivered as a true repeat. A batch names itself when each
 * of its alerts does. Never throws.
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
