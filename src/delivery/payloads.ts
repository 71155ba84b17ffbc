import type { Translation } from "../core/alert.ts";
import type { Json } from "../core/json.ts";
import type { Log } from "../core/log.ts";
import type { Store } from "../core/store.ts";
import type { ToldDelivery } from "./claim-session.ts";

/** Fetches what an outgoing webhook passes on besides the facts: the sender's payload, digit for digit. */
export interface PayloadReader {
  /** Sets `payload` where there is one and room for it. Rejects as the store does. */
  fill(deliveries: ToldDelivery[]): Promise<void>;
}

export interface PayloadDeps {
  store: Pick<Store, "findRequests">;
  /** One translation for each alert of the body, in its order. */
  translate(body: Uint8Array, contentType: string | undefined): Translation[];
  log: Log;
}

/** For channels that carry none. */
export const noPayloads: PayloadReader = { fill: async () => {} };

/** Bodies that are read for one digest. */
const maxBodyBytes = 4 * 1024 * 1024;
/** Payloads of one digest, as JSON text. The first is always among them; the rest of their alerts go without. */
const maxPayloadUnits = 1024 * 1024;

export function createPayloadReader({ store, translate, log }: PayloadDeps): PayloadReader {
  function read(body: Uint8Array, contentType: string | undefined): Translation[] {
    try {
      return translate(body, contentType);
    } catch (error) {
      log.error("payload.unreadable", { error: error instanceof Error ? error.name : typeof error });
      return [];
    }
  }

  return {
    async fill(deliveries) {
      const seqs = deliveries.map((delivery) => delivery.alertSeq);
      const payloads = new Map<number, Json | undefined>();
      for (const { body, contentType, alerts } of await store.findRequests(seqs, maxBodyBytes)) {
        const translations = read(body, contentType);
        for (const { seq, item } of alerts) payloads.set(seq, translations[item]?.payload);
      }
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
