import type { Json } from "../../core/json.ts";
import type { Log } from "../../core/log.ts";
import type { ReadPayloads } from "../../core/ports/body-reader.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import type { LoadedDelivery } from "../plan/plan-claim.ts";

/** Fetches what an outgoing webhook passes on besides the facts: the sender's payload, digit for digit. */
export interface PayloadReader {
  /** Sets `payload` where there is one and room for it. Rejects as the store does. */
  fill(deliveries: LoadedDelivery[]): Promise<void>;
  /**
   * The same for several messages with one question.
   * @returns for each whether it is filled: there may have been no room for all that they carry
   */
  fillEach(messages: LoadedDelivery[][]): Promise<boolean[]>;
}

export interface PayloadDeps {
  store: Pick<Dispatch, "findRequests">;
  readPayloads: ReadPayloads;
  log: Log;
}

/** For channels that carry none. */
export const noPayloads: PayloadReader = {
  fill: async () => {},
  fillEach: async (messages) => messages.map(() => true),
};

/** Bodies that are read at a time. */
const maxBodyBytes = 4 * 1024 * 1024;
/** Payloads of one digest, as JSON text. The first is always among them; the rest of their alerts go without. */
const maxPayloadUnits = 1024 * 1024;

export function createPayloadReader({ store, readPayloads, log }: PayloadDeps): PayloadReader {
  /** Outside the fence: whoever has facts was read behind it, and what is left to do here is to read their JSON. */
  async function fetchPayloads(alertSeqs: number[]): Promise<Map<number, Json | undefined>> {
    const payloads = new Map<number, Json | undefined>();
    const requests = await store.findRequests(alertSeqs, maxBodyBytes);
    for (const { body, contentType, alerts } of requests) {
      try {
        const payloadOf = readPayloads(body, contentType);
        for (const { seq, item } of alerts) payloads.set(seq, payloadOf(item));
      } catch (error) {
        log.error("payload.unreadable", { error: String(error).slice(0, 300) });
      }
    }
    return payloads;
  }

  function put(deliveries: LoadedDelivery[], payloads: Map<number, Json | undefined>): void {
    let units = 0;
    for (const delivery of deliveries) {
      const payload = payloads.get(delivery.alertSeq);
      if (payload === undefined) continue;
      // What goes alone has room, whatever its size.
      if (deliveries.length > 1) units += JSON.stringify(payload).length;
      if (units > maxPayloadUnits && delivery !== deliveries[0]) return;
      delivery.payload = payload;
    }
  }

  return {
    async fill(deliveries) {
      const readable = deliveries.filter(isReadable);
      if (readable.length > 0) put(deliveries, await fetchPayloads(readable.map(({ alertSeq }) => alertSeq)));
    },
    async fillEach(messages) {
      const readable = messages.flat().filter(isReadable);
      const payloads = await fetchPayloads(readable.map(({ alertSeq }) => alertSeq));
      return messages.map((deliveries) => {
        const isComplete = deliveries.every((one) => !isReadable(one) || payloads.has(one.alertSeq));
        if (isComplete) put(deliveries, payloads);
        return isComplete;
      });
    },
  };
}

/** What could not be read when it was routed is not tried again at each delivery. */
function isReadable({ facts }: LoadedDelivery): boolean {
  return facts.format !== "unreadable";
}
