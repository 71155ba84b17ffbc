import type { AlertRequest, Dispatch } from "../../core/ports/dispatch.ts";
import type { Acceptance, Inbox, IncomingRequest } from "../../core/ports/inbox.ts";

export interface RecentRequests extends Pick<Dispatch, "findRequests"> {
  /** Keeps what has just been accepted; the oldest are given up for it. */
  add(request: IncomingRequest, acceptance: Acceptance): void;
}

interface Kept {
  request: Pick<AlertRequest, "contentType" | "body">;
  item: number;
}

/**
 * The requests that were accepted last in this process, for the payloads of outgoing webhooks: a message that goes out
 * at once need not wait for its body to be read back. It spares reads and nothing else: whenever one of those that are
 * asked for is not here, the store is asked for all.
 *
 * @param mostBytes of all bodies. Default 4 MiB
 */
export function createRecentRequests(
  store: Pick<Dispatch, "findRequests">,
  mostBytes = 4 * 1024 * 1024,
): RecentRequests {
  /** By the position of the alert, the oldest first. */
  const kept = new Map<number, Kept>();
  let bytes = 0;

  function giveUpOldest(): void {
    for (const [seq, { request }] of kept) {
      if (bytes <= mostBytes) return;
      kept.delete(seq);
      bytes -= sizeOf(request);
    }
  }

  return {
    add({ contentType, body, ids }, acceptance) {
      if (acceptance.kind === "duplicate" || acceptance.firstSeq === undefined) return;
      const request = { contentType, body };
      for (let item = 0; item < ids.length; item += 1) {
        kept.set(acceptance.firstSeq + item, { request, item });
        bytes += sizeOf(request);
      }
      giveUpOldest();
    },
    async findRequests(alertSeqs, maxBytes) {
      const requests = new Map<Kept["request"], AlertRequest>();
      let found = 0;
      for (const seq of alertSeqs) {
        const one = kept.get(seq);
        if (one === undefined) return store.findRequests(alertSeqs, maxBytes);
        let request = requests.get(one.request);
        if (request === undefined) {
          found += one.request.body.length;
          if (found > maxBytes && requests.size > 0) break;
          request = { ...one.request, alerts: [] };
          requests.set(one.request, request);
        }
        request.alerts.push({ seq, item: one.item });
      }
      return [...requests.values()];
    },
  };
}

/** An inbox that gives what it accepts to these as well, before anybody hears of it. */
export function keepAccepted(inbox: Inbox, recent: Pick<RecentRequests, "add">): Inbox {
  return {
    async acceptRequest(request, drafts) {
      const acceptance = await inbox.acceptRequest(request, drafts);
      recent.add(request, acceptance);
      return acceptance;
    },
  };
}

/** A body may be a window on a larger block, which it keeps alive. Counted for each of its alerts, so at least once. */
function sizeOf({ body }: Kept["request"]): number {
  return body.buffer.byteLength;
}
