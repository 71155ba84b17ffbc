import type { IncomingHttpHeaders } from "node:http";
import { type Json, JsonNumber } from "../../core/json.ts";
import type { Source } from "../../core/source.ts";
import { valueAtPath } from "../../matching/path.ts";
import type { RequestReading } from "../read/read-request.ts";
import { writeKey } from "./keys.ts";

/** Headers with the id of a message. It is the same each time the message is sent again. */
const keyHeaders = ["webhook-id", "svix-id", "idempotency-key", "x-github-delivery"] as const;

/**
 * The key by which a sender marks its repeats. It begins with its place (`webhook-id:…`, `payload.event.id:…`), so
 * equal words from two places are two keys. A source's keys begin with its name (`github/webhook-id:…`). A long key is
 * hashed. A CloudEvents id is unique only together with its source (CloudEvents 1.0, "id"). Never throws.
 * @param headers names in lower case
 * @param request is read only for paths
 * @param paths such as `payload.event.id`, tried in order when no header has a key. The first scalar that is not empty
 * counts
 * @param source the source whose hook got the request. Its places are tried first. Default: the account's hook
 * @param signed the key that the sender has signed. It comes before headers, which anyone could have changed. A key in
 * the signed body comes before it
 */
export function explicitKey(
  headers: IncomingHttpHeaders,
  request: RequestReading,
  paths: readonly string[],
  source?: KeyedSource,
  signed?: string,
): string | undefined {
  if (source === undefined) return usualKey(headers, request, paths);
  const ofSigned = signed && writeKey(signed.slice(0, signed.indexOf(":")), signed.slice(signed.indexOf(":") + 1));
  const places = signed === undefined ? source.keyPlaces : source.keyPlaces.filter((place) => "path" in place);
  const key = ownKey(headers, request, places) ?? ofSigned ?? usualKey(headers, request, paths);
  return key === undefined ? undefined : `${source.name}/${key}`;
}

export type KeyedSource = Pick<Source, "name" | "keyPlaces">;

function ownKey(
  headers: IncomingHttpHeaders,
  request: RequestReading,
  places: KeyedSource["keyPlaces"],
): string | undefined {
  for (const place of places) {
    const key = "path" in place ? keyOfPayload(request.payload(), [place.path]) : keyOfHeader(headers, place.header);
    if (key !== undefined) return key;
  }
  return undefined;
}

function keyOfHeader(headers: IncomingHttpHeaders, header: string): string | undefined {
  const value = headerText(headers[header]);
  return value === "" ? undefined : writeKey(header, value);
}

function usualKey(headers: IncomingHttpHeaders, request: RequestReading, paths: readonly string[]): string | undefined {
  for (const header of keyHeaders) {
    const key = keyOfHeader(headers, header);
    if (key !== undefined) return key;
  }
  const eventId = headerText(headers["ce-id"]);
  if (eventId) return writeKey("ce-id", `${JSON.stringify(headerText(headers["ce-source"]))} ${eventId}`);
  return paths.length === 0 ? undefined : keyOfPayload(request.payload(), paths);
}

function keyOfPayload(payload: Json | undefined, paths: readonly string[]): string | undefined {
  if (payload === undefined) return undefined;
  for (const path of paths) {
    const value = valueAtPath(payload, path);
    const text = typeof value === "string" || value instanceof JsonNumber ? String(value).trim() : "";
    if (text !== "") return writeKey(`payload.${path.replace(/^payload\./, "")}`, text);
  }
  return undefined;
}

/** Node joins the values of a repeated header. Only `set-cookie` is a list. */
export function headerText(value: string | string[] | undefined): string {
  return String(value ?? "").trim();
}
