import type { Json } from "../core/json.ts";
import { inheritEnvelope, limitEnvelope } from "./find/inherit-envelope.ts";
import { readRequest } from "./read/read-request.ts";

/** The payloads that `translateRequest` would give, without reading facts. The body is read at once. Undefined: no payload. */
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
