import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { type Leaf, perPlace } from "../../facts/leaves.ts";
import { wordSet, wordsOf } from "../../ground/text/plain-text.ts";
import { readTime } from "../../ground/time/read-time.ts";
import { listContent } from "../read/unwrap-payload.ts";

/**
 * Names of ids that a sender makes anew for each event. Not among them: a bare `id`, and ids of an alert, rule, metric
 * or subscription. They stay the same when something happens again, so an alert would be lost.
 */
const eventIds = wordSet(
  `eventid eventuuid messageid notificationid deliveryid webhookid requestid occurrenceid nonce`,
);

/** Names of times of the event. Not `startsAt` or `createdAt`, which each reminder repeats. */
const eventTimes =
  wordSet(`timestamp time ts datetime eventtime eventtimestamp occurredat triggeredat firedat detectedat sentat alerttime
  alerttimestamp statechangetime timenow`);

const eventContainers = wordSet("data event alert payload message notification body heartbeat");

/**
 * Whether a body has an id or time of its event. The same bytes again are then the same event. In doubt false: a repeat is then
 * sent as a new event. `leaves`: from `listContent`.
 */
export function namesItself(payload: Json, leaves: Leaf[]): boolean {
  return isJsonObject(payload) && (isCloudEvent(payload) || isForgeEvent(payload) || leaves.some(namesEvent));
}

/** True where the body without its list names itself, or each of its alerts does. */
export function batchNamesItself(items: JsonObject[], envelope: JsonObject | undefined): boolean {
  const isNamed = (payload: JsonObject) => namesItself(payload, listContent(payload).leaves);
  return (envelope !== undefined && isNamed({ ...envelope, alerts: null })) || items.every(isNamed);
}

function isCloudEvent(payload: JsonObject): boolean {
  return typeof payload.specversion === "string" && typeof payload.id === "string";
}

/** Subjects of events of GitHub, Gitea or Forgejo. Every event sets the subject's time of change. */
const forgeSubjects =
  wordsOf(`issue pull_request comment review check_suite workflow_run workflow_job deployment deployment_status
  release discussion alert head_commit`);
const forgeTimes = ["updated_at", "submitted_at", "timestamp"];

function isForgeEvent(payload: JsonObject): boolean {
  const { repository, sender } = payload;
  if (!isJsonObject(repository) || !isJsonObject(sender) || typeof sender.login !== "string") return false;
  return forgeSubjects.some((name) => {
    const subject = payload[name];
    if (!isJsonObject(subject)) return false;
    return forgeTimes.some((time) => typeof subject[time] === "string" && readTime(subject[time]) !== undefined);
  });
}

/** What a place's names mean. `none` for the names of a thing that is no event. */
const eventNameOf = perPlace(({ names }): "id" | "time" | "none" => {
  if (!names.slice(0, -1).every((name) => eventContainers.has(name))) return "none";
  const name = names.at(-1) ?? "";
  // `event.id` is the event's. `alert.id` and `data.id` may be a rule's.
  if (eventIds.has(name) || (name === "id" && names.at(-2) === "event")) return "id";
  return eventTimes.has(name) ? "time" : "none";
});

function namesEvent(leaf: Leaf): boolean {
  const name = eventNameOf(leaf);
  if (name === "none" || leaf.kind === "boolean") return false;
  return name === "id" || readTime(leaf.text) !== undefined;
}
