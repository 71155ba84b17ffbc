import type { Channel } from "../core/ports/channel.ts";
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
      return (await import("./telegram/send.ts")).createTelegramChannel(destination);
    case "email":
      return (await import("./email/send.ts")).createEmailChannel(destination);
    case "webhook":
      return (await import("./webhook/send.ts")).createWebhookChannel(destination, options);
    case "slack":
      return (await import("./slack/send.ts")).createSlackChannel(destination, options);
    case "discord":
      return (await import("./discord/send.ts")).createDiscordChannel(destination, options);
    case "ntfy":
      return (await import("./ntfy/send.ts")).createNtfyChannel(destination, options);
    case "apprise":
      return (await import("./apprise/send.ts")).createAppriseChannel(destination, options);
    default:
      return unknownType(destination);
  }
}

function unknownType(destination: never): never {
  throw new TypeError(`unknown kind of destination: ${JSON.stringify(destination)}`);
}
