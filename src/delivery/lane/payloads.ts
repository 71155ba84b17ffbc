import type { Json } from "../../core/json.ts";
import type { Log } from "../../core/log.ts";
import type { BodyReader } from "../../core/ports/body-reader.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import type { LoadedDelivery } from "../plan/plan-claim.ts";

/** Fetches what an outgoing webhook passes on besides the facts: the sender's payload, digit for digit. */
export interface PayloadReader {
  /** Sets `payload` where there is one and room for it. Rejects as the store does. */
  fill(deliveries: LoadedDelivery[]): Promise<void>;
}

export interface PayloadDeps {
  store: Pick<Dispatch, "findRequests">;
  reader: BodyReader;
  log: Log;
}

/** For channels that carry none. */
export const noPayloads: PayloadReader = { fill: async () => {} };

/** Bodies that are read for one digest. */
const maxBodyBytes = 4 * 1024 * 1024;
/** Payloads of one digest, as JSON text. The first is always among them; the rest of their alerts go without. */
const maxPayloadUnits = 1024 * 1024;

export function createPayloadReader({ store, reader, log }: PayloadDeps): PayloadReader {
  async function readPayloads(alertSeqs: number[]): Promise<Map<number, Json | undefined>> {
    const payloads = new Map<number, Json | undefined>();
    const requests = await store.findRequests(alertSeqs, maxBodyBytes);
    const readings = await reader.read(requests);
    for (const [index, { alerts }] of requests.entries()) {
      const reading = readings[index];
      if (reading?.kind === "read")
        for (const { seq, item } of alerts) payloads.set(seq, reading.translations[item]?.payload);
      else log.error("payload.unreadable", { error: reading?.reason });
    }
    return payloads;
  }

  return {
    async fill(deliveries) {
      // What could not be read when it was routed is not tried again at each delivery.
      const readable = deliveries.filter(({ facts }) => facts.format !== "unreadable");
      if (readable.length === 0) return;
      const payloads = await readPayloads(readable.map(({ alertSeq }) => alertSeq));
      let units = 0;
      for (const delivery of deliveries) {
        const payload = payloads.get(delivery.alertSeq);
        if (payload === undefined) continue;
        units += JSON.stringify(payload).length;
        if (units > maxPayloadUnits && delivery !== deliveries[0]) return;
        delivery.payload = payload;
      }
    },
  };
}
