import type { Json } from "../core/json.ts";
import { inheritEnvelope, limitEnvelope } from "./find/inherit-envelope.ts";
import { readRequest } from "./read/read-request.ts";

/**
 * The payloads of a body's alerts, as `translateRequest` gives them, without the facts. The body is read at once, and a
 * payload is put together when it is asked for. Undefined where there is none.
 */
export function readPayloads(body: Uint8Array, contentType: string | undefined): (item: number) => Json | undefined {
  const request = readRequest(body, contentType).content();
  if (request.kind === "single") {
    const payload = "value" in request.body ? request.body.value : undefined;
    return () => payload;
  }
  const { items, envelope } = request;
  const shared = envelope === undefined ? undefined : limitEnvelope(envelope, items.length).envelope;
  return (index) => {
    const item = items[index];
    return item === undefined ? undefined : inheritEnvelope(item, shared);
  };
}
