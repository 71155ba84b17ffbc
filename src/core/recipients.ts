import type { Destination } from "./rules.ts";

/** One delivery goes to each. Addresses of webhooks hold secrets, so there the destination's name stands for them. */
export function recipientsOf(destination: Destination): string[] {
  switch (destination.type) {
    case "telegram":
      return [destination.chatId];
    case "email":
      return [...new Set(destination.to)];
    case "webhook":
    case "slack":
    case "discord":
    case "ntfy":
    case "apprise":
      return [destination.name];
  }
}
