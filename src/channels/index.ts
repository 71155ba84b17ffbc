import type { Channel } from "../core/ports.ts";
import type { Destination } from "../core/rules.ts";
import type { HttpChannelOptions } from "./http/http-client.ts";

export type { HttpChannelOptions } from "./http/http-client.ts";

/**
 * Makes the way out of one destination. Each kind is loaded when it is first used: the libraries of chats and mail
 * would double the time of a start.
 * @throws AppError `config_invalid` for a destination that cannot be used.
 */
export async function createChannel(destination: Destination, options: HttpChannelOptions): Promise<Channel> {
  switch (destination.type) {
    case "telegram":
      return (await import("./telegram/telegram.ts")).createTelegramChannel(destination);
    case "email":
      return (await import("./email/email.ts")).createEmailChannel(destination);
    case "webhook":
      return (await import("./webhook.ts")).createWebhookChannel(destination, options);
    case "slack":
      return (await import("./slack.ts")).createSlackChannel(destination, options);
    case "discord":
      return (await import("./discord.ts")).createDiscordChannel(destination, options);
    case "ntfy":
      return (await import("./ntfy.ts")).createNtfyChannel(destination, options);
    case "apprise":
      return (await import("./apprise.ts")).createAppriseChannel(destination, options);
    default:
      return unknownType(destination);
  }
}

function unknownType(destination: never): never {
  throw new TypeError(`unknown kind of destination: ${JSON.stringify(destination)}`);
}
