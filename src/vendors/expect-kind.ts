import type { Message, MessageKind } from "../core/message.ts";

/** The message as its own kind. Another kind than the channel's is a bug of the caller, so this throws. */
export function expectKind<K extends MessageKind>(message: Message, kind: K): Extract<Message, { kind: K }> {
  if (message.kind !== kind) throw new TypeError(`a ${kind} channel was given a ${message.kind} message`);
  return message as Extract<Message, { kind: K }>;
}
