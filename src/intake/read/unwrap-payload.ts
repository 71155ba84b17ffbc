import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { readChatMessage } from "./chat-message.ts";
import { parseJson } from "./parse-json.ts";

/** Members in which senders put a whole JSON document as a string. */
const stringified = new Set([
  "message",
  "msg",
  "payload",
  "body",
  "data",
  "detail",
  "details",
  "content",
  "event",
  "alert",
  "raw",
]);

/** Proof of origin and the means to end the subscription: nothing for a chat, where anybody may follow a link. */
const snsPlumbing = [
  "Signature",
  "SignatureVersion",
  "SigningCertURL",
  "SigningCertUrl",
  "UnsubscribeURL",
  "UnsubscribeUrl",
  "Token",
];

/**
 * A payload without its packing: JSON in strings is taken out (an SNS envelope's `Message`, one level), the plumbing of
 * SNS is left out, and messages in the form of Slack or Discord become plain members. The argument stays as it is.
 */
export function unwrapPayload(payload: JsonObject): JsonObject {
  const copy = Object.assign(Object.create(null) as JsonObject, payload);
  for (const [key, value] of Object.entries(copy)) {
    if (typeof value !== "string" || !/^\s*\{/.test(value) || !stringified.has(key.toLowerCase())) continue;
    const parsed = parseJson(value);
    if (parsed.ok && isJsonObject(parsed.value)) copy[key] = parsed.value;
  }
  if (typeof copy.TopicArn === "string" && typeof copy.Type === "string") {
    for (const key of snsPlumbing) delete copy[key];
  }
  return readChatMessage(copy) ?? copy;
}
