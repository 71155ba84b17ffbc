import { type Child, type FC, jsx } from "hono/jsx";
import { type BoardSource, offerFaults, type Place, type ShownMessage } from "../board/source.ts";
import { Instant, Picture, WebLink } from "../board/views.tsx";
import type { Faults } from "../stand-in.ts";
import { type TelegramFault, telegramFaults } from "./endpoint.ts";
import type { Entity } from "./parameters.ts";
import type { FormattedText } from "./text.ts";
import { findMessage, pictureName, presentIn, type StandInChat, type StandInMessage, type World } from "./world.ts";

export function viewTelegram(world: World, faults: Faults<TelegramFault>, calls: BoardSource["calls"]): BoardSource {
  return {
    app: "telegram",
    title: "Telegram",
    places: () => [...world.chats.values()].map(viewChat),
    calls,
    faults: offerFaults(faults, telegramFaults, (chat) => ({ chat })),
    onChange: world.changes.onChange,
    file(name) {
      const png = world.picture(name);
      return png && { type: "image/png", body: png };
    },
  };
}

const standing: Readonly<Record<StandInChat["membership"], string>> = {
  administrator: "",
  member: "",
  muted: " · the bot may not write",
  left: " · the bot is not a member",
  kicked: " · the bot is not a member",
};

function viewChat(chat: StandInChat): Place {
  const { id, title, kind, migratedTo, membership } = chat;
  const present = presentIn(chat);
  const moved = migratedTo === undefined ? "" : ` · became the supergroup ${migratedTo}`;
  return {
    ...{ id, name: title, count: present.length },
    about: `${kind} · ${id}${standing[membership]}${moved}`,
    newest: (atMost) => present.slice(-atMost).map((message) => viewMessage(chat, message)),
  };
}

function viewMessage(chat: StandInChat, message: StandInMessage): ShownMessage {
  const { messageId, sentAt, from, silent, topicId, replyTo, edits, botId } = message;
  const topic = topicId === undefined ? undefined : chat.topics.get(topicId);
  const answered = replyTo === undefined ? undefined : findMessage(chat, replyTo);
  return {
    ...{ id: String(messageId), at: sentAt, isPerson: botId === undefined },
    from: topic === undefined ? from : `${from} # ${topic.name}`,
    marks: [`#${messageId}`, ...(silent ? ["silent"] : [])],
    answered: answered && { id: String(answered.messageId), from: answered.from, text: answered.text },
    body: viewContent(message),
    earlier: edits.map(viewText),
  };
}

function viewContent(message: StandInMessage): Child {
  const { picture, messageId } = message;
  if (picture === undefined) return viewText(message);
  const { width, height, isTextFirst } = picture;
  const src = `/files/telegram/${pictureName(message)}`;
  const shown = <Picture src={src} width={width} height={height} alt={`Shown under message ${messageId}`} />;
  return (
    <>
      {!isTextFirst && shown}
      {viewText(message)}
      {isTextFirst && shown}
    </>
  );
}

function viewText({ text, entities }: FormattedText): Child {
  const sorted = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length);
  return <>{viewRange(text, 0, text.length, sorted)}</>;
}

/** Splits entities that overlap without nesting at the border of the first. */
function viewRange(text: string, from: number, to: number, entities: readonly Entity[]): Child[] {
  const children: Child[] = [];
  let at = from;
  entities.forEach((entity, index) => {
    const start = Math.max(entity.offset, at);
    const end = Math.min(entity.offset + entity.length, to);
    if (end <= start) return;
    const inner = viewRange(text, start, end, entities.slice(index + 1));
    children.push(text.slice(at, start), <EntityView entity={entity}>{inner}</EntityView>);
    at = end;
  });
  return [...children, text.slice(at, to)];
}

const tags = { bold: "strong", italic: "em", code: "code", pre: "pre", blockquote: "blockquote" } as const;

const EntityView: FC<{ entity: Entity; children?: Child }> = ({ entity, children }) => {
  const { type, url = "", unix_time: seconds = 0, date_time_format: format = "" } = entity;
  if (type === "text_link") return <WebLink url={url}>{children}</WebLink>;
  if (type !== "date_time") return jsx(tags[type], {}, children);
  return (
    <Instant at={seconds * 1000} form={/d/i.test(format) ? "date and time" : "time"}>
      {children}
    </Instant>
  );
};
