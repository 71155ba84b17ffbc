import type { HmacOptions } from "./source.ts";

/** A sender that signs its requests, by name. The same check could be written as `type: hmac`. */
export interface ReadySender extends HmacOptions {
  /** How far the signed time may be from now. Default `5m`. */
  tolerance?: string;
  /** The place of the event's id in its bodies. Each try to deliver the event has the same id. */
  eventId?: string;
  /** The sender accepts only 200, and tests the hook with GET. Default false. */
  wants200?: boolean;
}

/**
 * How each sender signs, by its documentation:
 *
 * - github: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
 * - quicknode: https://www.quicknode.com/guides/quicknode-products/streams/validating-incoming-streams-webhook-messages; it signs
 *   before it compresses
 * - tenderly: https://docs.tenderly.co/alerts/configuring-alert-destinations; they do not say whether a further try is dated
 *   anew, so the window is wide: a repeat within it is known by its key
 * - alchemy: https://www.alchemy.com/docs/reference/notify-api-faq
 * - defender: https://docs.openzeppelin.com/defender/settings/notifications; its SDK signs the body as an object that has the
 *   time as its last member, and takes ten minutes
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

/** Undefined for every other type of check. */
export function readySenderOf(type: string): ReadySender | undefined {
  return Object.hasOwn(readySenders, type) ? readySenders[type as ReadySenderName] : undefined;
}
