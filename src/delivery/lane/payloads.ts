import type { Json } from "../../core/json.ts";
import type { Log } from "../../core/log.ts";
import type { ReadPayloads } from "../../core/ports/body-reader.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import { errorText } from "../../ground/text/error-text.ts";
import type { LoadedDelivery } from "../plan/plan-claim.ts";

export interface PayloadDeps {
  store: Pick<Dispatch, "findRequests">;
  /** Absent: messages have only the facts. */
  readPayloads?: ReadPayloads;
  log: Log;
}

/** Bodies that are read at a time. */
const maxBodyBytes = 4 * 1024 * 1024;
/** The limit for the payloads of one digest, as JSON text. The first payload always fits. Alerts beyond go without. */
const maxPayloadUnits = 1024 * 1024;

/** Fetches the senders' payloads. An outgoing webhook passes them on digit for digit. */
export class PayloadReader {
  constructor(private readonly deps: PayloadDeps) {}

  /** Sets `payload` where there is one and room for it. Rejects as the store does. */
  async fill(deliveries: LoadedDelivery[]): Promise<void> {
    put(deliveries, await this.#fetch(deliveries));
  }

  /** The same for several messages with one statement. False for a message that the limit leaves no room for. */
  async fillEach(messages: LoadedDelivery[][]): Promise<boolean[]> {
    const payloads = await this.#fetch(messages.flat());
    return messages.map((deliveries) => {
      const isComplete = deliveries.every((one) => !this.#isRead(one) || payloads.has(one.alertSeq));
      if (isComplete) put(deliveries, payloads);
      return isComplete;
    });
  }

  /** A body that was unreadable when it was routed is not tried again. */
  #isRead({ facts }: LoadedDelivery): boolean {
    return this.deps.readPayloads !== undefined && facts.format !== "unreadable";
  }

  /** Reads in this thread. A body with facts was read before, so reading it is harmless. */
  async #fetch(deliveries: LoadedDelivery[]): Promise<Map<number, Json | undefined>> {
    const { store, readPayloads, log } = this.deps;
    const payloads = new Map<number, Json | undefined>();
    const alertSeqs = deliveries.filter((one) => this.#isRead(one)).map(({ alertSeq }) => alertSeq);
    if (alertSeqs.length === 0 || readPayloads === undefined) return payloads;
    for (const { body, contentType, alerts } of await store.findRequests(alertSeqs, maxBodyBytes)) {
      try {
        const payloadOf = readPayloads(body, contentType);
        for (const { seq, item } of alerts) payloads.set(seq, payloadOf(item));
      } catch (error) {
        log.error("payload.unreadable", { error: errorText(error) });
      }
    }
    return payloads;
  }
}

function put(deliveries: LoadedDelivery[], payloads: Map<number, Json | undefined>): void {
  let units = 0;
  for (const delivery of deliveries) {
    const payload = payloads.get(delivery.alertSeq);
    if (payload === undefined) continue;
    // A single payload always fits.
    if (deliveries.length > 1) units += JSON.stringify(payload).length;
    if (units > maxPayloadUnits && delivery !== deliveries[0]) return;
    delivery.payload = payload;
  }
}
