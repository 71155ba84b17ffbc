import type { ChannelCalls } from "../../src/core/ports/channel.ts";
import type { AppriseMessage } from "../../src/vendors/apprise/render.ts";
import type { AppriseDestination } from "../../src/vendors/apprise/vendor.ts";
import type { DiscordMessage } from "../../src/vendors/discord/render.ts";
import type { DiscordDestination } from "../../src/vendors/discord/vendor.ts";
import type { EmailMessage } from "../../src/vendors/email/render.tsx";
import type { EmailDestination } from "../../src/vendors/email/vendor.ts";
import type { NtfyMessage } from "../../src/vendors/ntfy/render.ts";
import type { NtfyDestination } from "../../src/vendors/ntfy/vendor.ts";
import type { PagerdutyMessage } from "../../src/vendors/pagerduty/render.ts";
import type { PagerdutyDestination } from "../../src/vendors/pagerduty/vendor.ts";
import type { SlackMessage } from "../../src/vendors/slack/render.ts";
import type { SlackDestination } from "../../src/vendors/slack/vendor.ts";
import type { TeamsMessage } from "../../src/vendors/teams/render.ts";
import type { TeamsDestination } from "../../src/vendors/teams/vendor.ts";
import type { TelegramMessage } from "../../src/vendors/telegram/render.ts";
import type { TelegramDestination } from "../../src/vendors/telegram/vendor.ts";
import type { WebhookMessage } from "../../src/vendors/webhook/render.ts";
import type { WebhookDestination } from "../../src/vendors/webhook/vendor.ts";

/** What only tests look into: the relay hands a vendor's message on unread. */
export type KnownMessage =
  | TelegramMessage
  | EmailMessage
  | WebhookMessage
  | SlackMessage
  | DiscordMessage
  | NtfyMessage
  | AppriseMessage
  | PagerdutyMessage
  | TeamsMessage;

export type KnownDestination =
  | TelegramDestination
  | EmailDestination
  | WebhookDestination
  | SlackDestination
  | DiscordDestination
  | NtfyDestination
  | AppriseDestination
  | PagerdutyDestination
  | TeamsDestination;

export type KnownChannel = ChannelCalls<KnownMessage>;
