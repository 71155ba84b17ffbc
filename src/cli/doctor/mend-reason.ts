import type { ReasonCode } from "../../core/delivery.ts";
import type { Destination } from "../../core/rules.ts";

/** What a person can do about the reason of a failed probe. */
export function mendReason(reason: ReasonCode, destination: Destination): string {
  const { definedAt, type } = destination;
  switch (reason) {
    case "connect_failed":
    case "dns_failed":
    case "timeout_before_send":
      return `check the address (${definedAt}) and the network of this machine`;
    case "tls_failed":
      return `check the certificate of the other side, and the address (${definedAt})`;
    case "auth_failed":
      return type === "telegram"
        ? "ask @BotFather for the bot's token and set TELEGRAM_BOT_TOKEN"
        : `check user, password or token (${definedAt})`;
    case "chat_not_found":
      return `check the chat's id (${definedAt}), and add the bot to the chat`;
    case "kicked":
      return "add the bot to the chat again";
    case "no_rights":
      return "give the bot the right to write in the chat";
    case "address_moved":
      return `write the new address into ${definedAt}`;
    case "no_starttls":
      return "use smtps://, a server that offers STARTTLS, or allowInsecureAuth=true on a network you trust";
    case "address_invalid":
    case "recipient_refused":
      return `correct the address (${definedAt})`;
    case "forbidden_address":
      return `it leads into an internal network; name its host under allowInternal (${definedAt}) if that is meant`;
    case "gone":
      return `the address is no longer in use; make a new one and write it into ${definedAt}`;
    case "rate_limited":
      return "wait; the relay keeps the pace by itself";
    case "topic_gone":
      return `open the topic again, or remove it from ${definedAt}`;
    case "server_error":
    case "bad_answer":
    case "temporary_refusal":
    case "no_answer":
    case "connection_lost":
      return "the other side has a fault; try again later, and see its status page";
    default:
      return `see ${definedAt}`;
  }
}
