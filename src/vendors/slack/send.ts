import type { ChannelCalls } from "../../core/ports/channel.ts";
import { createClassify, rejected } from "../http/classify.ts";
import { createPostChannel, type HttpChannelOptions, parseDestinationUrl } from "../http/http-client.ts";
import { createPictureRest } from "../http/picture-rest.ts";
import type { SlackMessage } from "./render.ts";
import type { SlackDestination } from "./vendor.ts";

/**
 * Slack's incoming webhooks, and servers that imitate them (Mattermost, Rocket.Chat, Zulip). Their messages have no id,
 * so there are no edits.
 */
export function createSlackChannel(
  destination: SlackDestination,
  options: HttpChannelOptions,
): ChannelCalls<SlackMessage> {
  const url = parseDestinationUrl(destination.url.reveal(), destination);
  const sendEither = createPictureRest(options.now);
  const calls = createPostChannel<SlackMessage>(url, destination, options, {
    classify: classifySlack,
    write: ({ body }) => ({ headers: { "content-type": "application/json; charset=utf-8" }, body }),
  });
  return {
    ...calls,
    // Slack fetches the picture before it answers. If that fails, it refuses the whole message (`invalid_blocks`).
    send({ pictured, ...message }, context) {
      const withPicture =
        pictured === undefined ? undefined : () => calls.send({ ...message, body: pictured }, context);
      return sendEither(withPicture, () => calls.send(message, context));
    },
  };
}

/** Source: Slack's list of errors of incoming webhooks. The body is one word of plain text. */
export const classifySlack = createClassify({
  taken: ({ body: text }, body) => {
    const isTaken = text.trim() === "ok" || body?.ok === true || body?.success === true || body?.result === "success";
    return isTaken ? { kind: "sent" } : '"ok"';
  },
  refused({ answer, status, detail }) {
    const word = answer.body.trim();
    if (status === 404 || (status === 400 && deadWords.has(word))) return rejected("destination", "gone", detail);
    return status === 400 && word === "no_text" ? rejected("message", "empty_text", detail) : undefined;
  },
});

/** Words about a lost webhook, channel or workspace, with any status. */
const deadWords = new Set([
  "no_service",
  "no_team",
  "no_active_hooks",
  "invalid_token",
  "channel_not_found",
  "channel_is_archived",
]);
