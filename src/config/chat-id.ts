import { Refusal } from "../ground/shape/refusal.ts";
import { looksSecret, showValue } from "../ground/shape/show-value.ts";

const howToFind =
  "the id of a group or channel is in the address bar of web.telegram.org, and in getUpdates of the bot";

/** A Telegram group, supergroup or channel: `-` and digits, as text or number. */
export function readChatId(value: unknown): string | Refusal {
  if (value === undefined || value === null || value === "") {
    return new Refusal(
      "is missing",
      `write the id of the group or channel, e.g. -1001234567890; ${howToFind}`,
    );
  }
  const text = String(value).trim();
  if (/^-[1-9]\d{0,18}$/.test(text)) return text;
  const shown = showValue(typeof value === "string" ? text : value);
  if (looksSecret(text)) {
    return new Refusal("is a bot token, not a chat id", "the token belongs in TELEGRAM_BOT_TOKEN");
  }
  if (/^[1-9]\d*$/.test(text)) {
    const isWhole = text.startsWith("100") && text.length >= 12;
    const candidates = isWhole
      ? `-${text}`
      : `-100${text} for a supergroup or channel, or -${text} for a small group`;
    return new Refusal(
      `${shown}: a group or channel id starts with '-'`,
      `write ${candidates}; an id without '-' is a person's`,
    );
  }
  if (/^(@|https?:\/\/t\.me\/|t\.me\/)/.test(text)) {
    return new Refusal(
      `${shown}: names can be given away to others, so the id is needed`,
      `write the id, which starts with '-', e.g. -1001234567890; ${howToFind}`,
    );
  }
  return new Refusal(`${shown} is not a chat id`, `write '-' and digits, e.g. -1001234567890; ${howToFind}`);
}
