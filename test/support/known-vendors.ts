import type { ChannelCalls } from "../../src/core/ports/channel.ts";
import type { apprise } from "../../src/vendors/apprise/vendor.ts";
import type { discord } from "../../src/vendors/discord/vendor.ts";
import type { email } from "../../src/vendors/email/vendor.ts";
import type { ntfy } from "../../src/vendors/ntfy/vendor.ts";
import type { pagerduty } from "../../src/vendors/pagerduty/vendor.ts";
import type { slack } from "../../src/vendors/slack/vendor.ts";
import type { teams } from "../../src/vendors/teams/vendor.ts";
import type { telegram } from "../../src/vendors/telegram/vendor.ts";
import type { webhook } from "../../src/vendors/webhook/vendor.ts";

type Vendor =
  | typeof apprise
  | typeof discord
  | typeof email
  | typeof ntfy
  | typeof pagerduty
  | typeof slack
  | typeof teams
  | typeof telegram
  | typeof webhook;

/** What only tests look into: the relay hands a vendor's message on unread. */
export type KnownMessage = ReturnType<Vendor["render"]>[number];
export type KnownDestination = Parameters<Vendor["open"]>[0];
export type KnownChannel = ChannelCalls<KnownMessage>;
