import type { Acceptance, Inbox, IncomingRequest } from "../core/ports/inbox.ts";
import type { UnroutedRequest } from "../core/ports/routing-desk.ts";

export interface AcceptedBufferOptions {
  /** Of all bodies. Default 8 MiB. */
  maxBytes?: number;
  /** Default 10,000. */
  maxRequests?: number;
}

export interface AcceptedBuffer {
  /** Keeps what has just been accepted and waits for routing; when there is no room, the oldest is given up. */
  add(request: IncomingRequest, acceptance: Acceptance): void;
  /**
   * What was accepted behind this position, oldest first, as `listUnrouted` would give it; all before it is forgotten.
   * Undefined: it may not be all, and the store has to be asked.
   */
  take(limit: number, after: number): UnroutedRequest[] | undefined;
}

/** What one list of the store holds at most. */
const maxTakenBytes = 4 * 1024 * 1024;

/**
 * The newest requests that were accepted in this process, so that routing need not read back what was just written. It
 * spares reads and nothing else: the store has every one of them until it is routed, and is asked for whatever was
 * accepted before the start, was given up here, or has failed.
 *
 * Positions grow in the order of the acceptances, so what is here is all that was accepted behind `knownFrom`.
 */
export function createAcceptedBuffer(options: AcceptedBufferOptions = {}): AcceptedBuffer {
  const { maxBytes = 8 * 1024 * 1024, maxRequests = 10_000 } = options;
  let requests: UnroutedRequest[] = [];
  /** Those before this index are gone already. */
  let head = 0;
  let bytes = 0;
  let knownFrom: number | undefined;

  function removeOldest(): UnroutedRequest {
    const oldest = requests[head] as UnroutedRequest;
    bytes -= sizeOf(oldest);
    knownFrom = lastSeqOf(oldest);
    head += 1;
    if (head === requests.length || head >= maxRequests) {
      requests = requests.slice(head);
      head = 0;
    }
    return oldest;
  }

  return {
    add(request, acceptance) {
      if (acceptance.kind === "duplicate" || acceptance.recorded !== undefined) return;
      const { firstSeq } = acceptance;
      if (firstSeq === undefined) {
        requests = [];
        head = 0;
        bytes = 0;
        knownFrom = undefined;
        return;
      }
      knownFrom ??= firstSeq - 1;
      const one = toUnrouted(request, firstSeq);
      requests.push(one);
      bytes += sizeOf(one);
      while (head < requests.length && (bytes > maxBytes || requests.length - head > maxRequests)) removeOldest();
    },
    take(limit, after) {
      if (knownFrom === undefined || after < knownFrom) return undefined;
      const taken: UnroutedRequest[] = [];
      let alerts = 0;
      let takenBytes = 0;
      while (head < requests.length && alerts < limit && takenBytes < maxTakenBytes) {
        const request = removeOldest();
        if (lastSeqOf(request) <= after) continue;
        taken.push(request);
        alerts += request.alerts.length;
        takenBytes += request.body.length;
      }
      return taken;
    },
  };
}

/** An inbox that gives what it accepts to these as well, before anybody hears of it. */
export function keepAccepted(inbox: Inbox, keepers: readonly Pick<AcceptedBuffer, "add">[]): Inbox {
  return {
    async acceptRequest(request, drafts) {
      const acceptance = await inbox.acceptRequest(request, drafts);
      for (const keeper of keepers) keeper.add(request, acceptance);
      return acceptance;
    },
  };
}

function toUnrouted(request: IncomingRequest, firstSeq: number): UnroutedRequest {
  const { contentType, body, ids, origin, source, receivedAt } = request;
  const alerts = ids.map((id, item) => ({ seq: firstSeq + item, id, item, origin, receivedAt, failures: 0 }));
  return { contentType, body, ...(source !== undefined && { source }), alerts };
}

/** A body may be a window on a larger block, which it keeps alive. */
function sizeOf({ body }: UnroutedRequest): number {
  return body.buffer.byteLength;
}

function lastSeqOf({ alerts }: UnroutedRequest): number {
  return alerts.at(-1)?.seq ?? 0;
}
