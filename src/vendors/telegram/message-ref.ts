/**
 * A message's address for later edits and answers: `<chat>/<message>`, e.g. `-1001234567890/57`.
 *
 * The chat belongs to it because Telegram numbers messages per chat: after a group became a supergroup, number 57 there
 * is somebody else's message, and an edit of it would overwrite another alert.
 */
interface MessageRef {
  chatId: string;
  messageId: number;
}

export function formatMessageRef(ref: MessageRef): string {
  return `${ref.chatId}/${ref.messageId}`;
}

/** `undefined` for what is not a reference to a message of this chat. */
export function messageIdIn(chatId: string, ref: string): number | undefined {
  const slash = ref.lastIndexOf("/");
  if (slash === -1 || ref.slice(0, slash) !== chatId) return undefined;
  const digits = ref.slice(slash + 1);
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined;
}
