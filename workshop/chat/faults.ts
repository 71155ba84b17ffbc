import { createQueue, isTicked, type Queue } from "../stand-in.ts";

/** What goes wrong with the next request that fits. `delivered` faults do their work first and lose only the answer. */
const faultKinds = [
  /** No answer ever; the connection stays open. */
  "hang",
  /** The connection is reset as soon as the head of the request is there. */
  "reset_before_reading",
  /** The connection is reset after the whole request was read. */
  "reset",
  /** `{"ok":false,"error_code":500}`. */
  "error_500",
  /** A proxy's HTML page with status 502. */
  "bad_gateway",
  /** Status 200 and a body that is not JSON. */
  "not_json",
  /** The right answer after `delayMs`. */
  "slow",
  /** 429; the chat stays closed for `retryAfterSeconds`. */
  "flood",
  /** 429 without `parameters`. */
  "flood_unsaid",
  /** The bot is removed from the chat, for good. */
  "kick",
  /** The group becomes a supergroup under a new id, for good. */
  "migrate",
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  kind: FaultKind;
  /** Only requests for this chat. `reset_before_reading` cannot know it and ignores it. */
  chat?: string;
  /** Only this method. */
  method?: string;
  /**
   * For `hang`, `reset`, `error_500`, `bad_gateway`, `not_json`: the message is delivered all the same. Default false.
   */
  delivered?: boolean;
  /** For `slow`. Default 2,000. */
  delayMs?: number;
  /** For `flood`. Default 5. */
  retryAfterSeconds?: number;
}

export type Faults = Queue<Fault>;

export interface FaultQueue extends Faults {
  /** Takes the first fault that fits out of the queue. `chat` is `undefined` while the body is unread. */
  take(method: string, chat: string | undefined, stage: "head" | "body"): Fault | undefined;
}

export function createFaultQueue(): FaultQueue {
  const { takeFirst, ...queue } = createQueue<Fault>();
  return {
    ...queue,
    take: (method, chat, stage) =>
      takeFirst((fault) => {
        if (fault.method !== undefined && fault.method.toLowerCase() !== method.toLowerCase()) return false;
        if ((fault.kind === "reset_before_reading") !== (stage === "head")) return false;
        return stage === "head" || fault.chat === undefined || fault.chat === chat;
      }),
  };
}

/** A fault from a form or from JSON, or what is wrong with it. */
export function readFault(given: unknown): (Fault & { times?: number }) | string {
  if (typeof given !== "object" || given === null) return "a fault is an object with a kind";
  const { kind, chat, method, delivered, delayMs, retryAfterSeconds, times } = given as Record<string, unknown>;
  const known = faultKinds.find((candidate) => candidate === kind);
  if (known === undefined) return `kind must be one of ${faultKinds.join(", ")}`;
  return {
    kind: known,
    ...(typeof chat === "string" && chat !== "" ? { chat } : {}),
    ...(typeof method === "string" && method !== "" ? { method } : {}),
    ...(isTicked(delivered) ? { delivered: true } : {}),
    ...numberIn("delayMs", delayMs, 600_000),
    ...numberIn("retryAfterSeconds", retryAfterSeconds, 86_400),
    ...numberIn("times", times, 1_000),
  };
}

function numberIn<K extends string>(name: K, value: unknown, atMost: number): { [key in K]?: number } {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number) || number <= 0) return {};
  return { [name]: Math.min(number, atMost) } as { [key in K]?: number };
}
