import type { Destination } from "../core/rules.ts";

/** Where messages of this destination end up; two destinations that share one deliver an alert twice to the same readers. */
export function addressesOf(destination: Destination): string[] {
  switch (destination.type) {
    case "telegram":
      return [`telegram ${destination.chatId} ${destination.topicId ?? ""}`];
    case "email":
      return destination.to.map((address) => `email ${address.toLowerCase()}`);
    case "webhook":
      return [`webhook ${destination.url}`];
    case "slack":
    case "discord":
      return [`${destination.type} ${destination.url.reveal()}`];
    case "ntfy":
      return [`ntfy ${destination.server} ${destination.topic}`];
    case "apprise":
      return destination.key === undefined
        ? destination.urls.map((url) => `apprise ${url.reveal()}`)
        : [`apprise ${destination.server} ${destination.key} ${destination.tag ?? ""}`];
  }
}
