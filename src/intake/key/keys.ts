import { hash } from "node:crypto";

/**
 * Three questions that sound alike, and the key that answers each:
 *
 * |  | the sender's key | the same body | the life of an alert |
 * |---|---|---|---|
 * | question | Was this request sent before? | Was this event sent before? | Which thing fires, or is over? |
 * | made in | `explicit-key.ts` | `names-itself.ts` | `alert-key.ts` |
 * | made of | a header, a signature, a path | all bytes, where they have an event id or time | a fingerprint, or rule and subject |
 * | looks like | `webhook-id:msg_1`, `forge/payload.id:7` | a hash, no text | `fingerprint:9f2a`, `title:tvl fell` |
 * | when | at the door, with the commit that stores | when the alert is routed | when the body is read |
 * | two alike | a duplicate: 202, not stored | a repeat: stored, marked, not sent | both are sent, as one thing's history |
 * | decided in | `store/transactions/accepting.ts` | `store/transactions/repeats.ts` | `store/transactions/key-history.ts` |
 * | known for | `dedupeWindowMs` | `dedupeWindowMs` | as long as its alerts are kept |
 *
 * The sender's key with other bytes is a conflict: stored, sent and marked. Mutes, cooldowns and resolving alerts use
 * the life of an alert. Keys of a named source begin with its name, so two senders may use one key for two things.
 */
export const dedupeWindowMs = 24 * 60 * 60 * 1000;

const maxKeyLength = 200;

/** `kind`: the place of the value, since equal words from two places are two keys. A long key is hashed. */
export function writeKey(kind: string, value: string): string {
  const key = `${kind}:${value}`;
  return key.length <= maxKeyLength ? key : `${kind.slice(0, 60)}:sha256:${hash("sha256", key)}`;
}
