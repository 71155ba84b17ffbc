import { hash } from "node:crypto";

/**
 * Three questions that sound alike, and the key that answers each:
 *
 * |  | the sender's key | the same body | the life of an alert |
 * |---|---|---|---|
 * | question | Was this request sent before? | Was this event sent before? | Which thing fires, or is over? |
 * | made in | `explicit-key.ts` | `names-itself.ts` | `alert-key.ts` |
 * | made of | a header (`webhook-id`), what was signed, or a configured path | all bytes of a body that has its own event id or time | `mapping`, the sender's fingerprint, or the rule and what it watches |
 * | looks like | `webhook-id:msg_1`, `forge/payload.id:7` | no text: a hash of the body | `fingerprint:9f2a`, `metric:eth_token_…`, `title:tvl fell` |
 * | when | at the door, with the commit that stores | when the alert is routed | when the body is read |
 * | two alike | The request is a duplicate: 202, nothing is stored. With other bytes it is a conflict: stored, sent and marked. | The alert is stored, marked as a repeat and not sent. | Both are sent. The end finds its beginning, mutes and cooldowns hold for both. |
 * | decided in | `store/transactions/accepting.ts` | `store/transactions/repeats.ts` | `store/transactions/key-history.ts` |
 * | known for | `dedupeWindowMs` | `dedupeWindowMs` | as long as its alerts are kept |
 *
 * A key of a named source begins with the source's name, so two senders may use one key for two things.
 */
export const dedupeWindowMs = 24 * 60 * 60 * 1000;

const maxKeyLength = 200;

/**
 * A key as text. The kind in front says where it was found, so that equal words from two places stay two keys. A long key
 * is hashed.
 */
export function writeKey(kind: string, value: string): string {
  const key = `${kind}:${value}`;
  return key.length <= maxKeyLength ? key : `${kind.slice(0, 60)}:sha256:${hash("sha256", key)}`;
}
