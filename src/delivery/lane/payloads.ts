import type { Json } from "../../core/json.ts";
import type { Log } from "../../core/log.ts";
import type { ReadPayloads } from "../../core/ports/body-reader.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import { errorText } from "../../ground/text/error-text.ts";
import type { LoadedDelivery } from "../plan/plan-claim.ts";

export interface PayloadDeps {
  store: Pick<Dispatch, "findRequests">;
  /** Absent: messages carry the facts alone. */
  readPayloads?: ReadPayloads;
  log: Log;
}

/** Bodies that are read at a time. */
const maxBodyBytes = 4 * 1024 * 1024;
/** Bound on the payloads of one digest as JSON text. The first payload always goes along; alerts beyond the bound go without. */
const maxPayloadUnits = 1024 * 1024;

/** Fetches the sender's payloads, which an outgoing webhook passes on digit for digit besides the facts. */
export class PayloadReader {
  constructor(private readonly deps: PayloadDeps) {}

  /** Sets `payload` where there is one and room for it. Rejects as the store does. */
  async fill(deliveries: LoadedDelivery[]): Promise<void> {
    put(deliveries, await this.#fetch(deliveries));
  }

  /**
   * Does the same for several messages with one statement.
   * @returns for each message whether it is filled: the bound may leave no room for some
   */
  async fillEach(messages: LoadedDelivery[][]): Promise<boolean[]> {
    const payloads = await this.#fetch(messages.flat());
    return messages.map((deliveries) => {
      const isComplete = deliveries.every((one) => !this.#isRead(one) || payloads.has(one.alertSeq));
      if (isComplete) put(deliveries, payloads);
      return isComplete;
    });
  }

  /** A body that could not be read when it was routed is not tried again at each delivery. */
  #isRead({ facts }: LoadedDelivery): boolean {
    return this.deps.readPayloads !== undefined && facts.format !== "unreadable";
  }

  /** Reads in this thread: a body with facts was read once in the reading thread, so reading it again is harmless. */
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
    // A single payload has room, whatever its size.
    if (deliveries.length > 1) units += JSON.stringify(payload).length;
    if (units > maxPayloadUnits && delivery !== deliveries[0]) return;
    delivery.payload = payload;
  }
}
