import type { HmacOptions } from "./source.ts";

/** A sender whose signatures are known by its name. `type: hmac` could describe the same check. */
export interface ReadySender extends HmacOptions {
  /** How far the signed time may differ from now. Default `5m`. */
  tolerance?: string;
  /** The path of the event's id in a body. Each delivery of an event has the same. */
  eventId?: string;
  /** The sender accepts only 200 as an answer, and tests the hook with GET. Default false. */
  wants200?: boolean;
}

/**
 * How each sender signs, by its documentation:
 *
 * - github: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
 * - quicknode:
 *   https://www.quicknode.com/guides/quicknode-products/streams/validating-incoming-streams-webhook-messages; signs
 *   before it compresses
 * - tenderly: https://docs.tenderly.co/alerts/configuring-alert-destinations; does not say whether a repeat gets a new
 *   time, so the window is wide. A repeat within it is known by its key
 * - alchemy: https://www.alchemy.com/docs/reference/notify-api-faq
 * - defender: https://docs.openzeppelin.com/defender/settings/notifications; its SDK signs the body as an object with
 *   the time as its last member, and accepts ten minutes
 */
export const readySenders = {
  github: { header: "X-Hub-Signature-256", prefix: "sha256=" },
  quicknode: {
    header: "X-QN-Signature",
    signs: "{header:X-QN-Nonce}{header:X-QN-Timestamp}{body}",
    time: "X-QN-Timestamp",
  },
  tenderly: {
    header: "X-Tenderly-Signature",
    signs: "{body}{header:Date}",
    time: "Date",
    tolerance: "1h",
    eventId: "payload.id",
    wants200: true,
  },
  alchemy: { header: "X-Alchemy-Signature", eventId: "payload.id", wants200: true },
  defender: {
    header: "Defender-Signature",
    signs: '{body:open},"timestamp":"{header:Defender-Timestamp}"}',
    time: "Defender-Timestamp",
    tolerance: "10m",
  },
} as const satisfies Record<string, ReadySender>;

export type ReadySenderName = keyof typeof readySenders;

/** Undefined for any other type of check. */
export function readySenderOf(type: string): ReadySender | undefined {
  return Object.hasOwn(readySenders, type) ? readySenders[type as ReadySenderName] : undefined;
}
