import type { Child, FC } from "hono/jsx";
import { Clock, FaultForm, WebLink } from "../live-parts.tsx";
import type { Fault, FaultKind } from "./faults.ts";
import type { Entity, StandInChat, StandInMessage } from "./world.ts";

const messagesShown = 200;

/** One chat as its readers see it: the newest messages, oldest at the top. */
export const ChatView: FC<{ chat: StandInChat }> = ({ chat }) => {
  const present = chat.messages.filter(({ deletedAt }) => deletedAt === undefined);
  const byId = new Map(present.map((message) => [message.messageId, message]));
  const shown = present.slice(-messagesShown);
  return (
    <section class="chat" id="chat" data-live aria-label={`Messages of ${chat.title}`}>
      <header class="chat-head">
        <h1>{chat.title}</h1>
        <p>
          {chat.kind} · <code>{chat.id}</code> · {present.length} {present.length === 1 ? "message" : "messages"}
          {chat.membership === "kicked" || chat.membership === "left" ? " · the bot is not a member" : ""}
          {chat.membership === "muted" ? " · the bot may not write" : ""}
        </p>
      </header>
      <ol class="messages" id="messages" tabindex={0} aria-label="Messages, oldest first">
        {present.length > shown.length && <li class="mark">{present.length - shown.length} older messages</li>}
        {shown.flatMap((message, index) => {
          const day = dayOf(message.sentAt);
          const isNewDay = index === 0 || dayOf(shown[index - 1]?.sentAt ?? 0) !== day;
          const view = <MessageView chat={chat} message={message} answered={byId.get(message.replyTo ?? -1)} />;
          return isNewDay ? [<li class="mark">{day}</li>, view] : [view];
        })}
        {present.length === 0 && chat.migratedTo === undefined && (
          <li class="mark">Nothing here yet. Messages appear as they are sent.</li>
        )}
        {chat.migratedTo !== undefined && (
          <li class="mark">
            This group became a supergroup: <a href={`/?chat=${chat.migratedTo}`}>{chat.migratedTo}</a>
          </li>
        )}
      </ol>
    </section>
  );
};

const MessageView: FC<{ chat: StandInChat; message: StandInMessage; answered?: StandInMessage }> = ({
  chat,
  message,
  answered,
}) => {
  const topic = message.topicId === undefined ? undefined : chat.topics.get(message.topicId);
  const lastEdit = message.edits.at(-1);
  return (
    <li class={message.botId === undefined ? "message person" : "message"} id={`m${message.messageId}`}>
      <p class="from">
        {message.from}
        {topic !== undefined && <span class="topic"># {topic.name}</span>}
      </p>
      {answered !== undefined && (
        <a class="reply" href={`#m${answered.messageId}`}>
          <b>{answered.from}</b>
          <span>{answered.text.slice(0, 140)}</span>
        </a>
      )}
      {message.picture?.isTextFirst === false && <PictureView message={message} />}
      <div class="text">
        <FormattedView text={message.text} entities={message.entities} />
      </div>
      {message.picture?.isTextFirst && <PictureView message={message} />}
      <p class="meta">
        <span>#{message.messageId}</span>
        {message.silent && <span title="sent without a sound">silent</span>}
        {lastEdit !== undefined && (
          <span class="edited">
            edited <Clock at={lastEdit.at} />
          </span>
        )}
        <Clock at={message.sentAt} />
      </p>
      {message.edits.length > 0 && (
        <details id={`e${message.messageId}`}>
          <summary>
            {message.edits.length} earlier {message.edits.length === 1 ? "version" : "versions"}
          </summary>
          {message.edits.map((edit) => (
            <div class="text earlier">
              <FormattedView text={edit.text} entities={edit.entities} />
            </div>
          ))}
        </details>
      )}
    </li>
  );
};

const PictureView: FC<{ message: StandInMessage }> = ({ message: { chatId, messageId, picture } }) => (
  <img
    class="picture"
    src={`/chats/${chatId}/messages/${messageId}.png`}
    width={picture?.width}
    height={picture?.height}
    alt={`Shown under message ${messageId}`}
  />
);

export const ChatList: FC<{ chats: readonly StandInChat[]; current: string }> = ({ chats, current }) => (
  <nav class="chats" id="chats" data-live aria-label="Chats">
    {chats.map((chat) => (
      <a href={`/?chat=${chat.id}`} aria-current={chat.id === current ? "page" : undefined}>
        <span class="title">{chat.title}</span>
        <span class="count">{chat.messages.filter(({ deletedAt }) => deletedAt === undefined).length}</span>
        <span class="last">{chat.messages.at(-1)?.text.slice(0, 80) ?? "no messages"}</span>
      </a>
    ))}
  </nav>
);

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The vendor shows this many entities of a message and drops the rest. */
const entitiesShown = 100;

/** Text with its entities, as a reader sees it. All text is escaped by hono; links open only for web addresses. */
const FormattedView: FC<{ text: string; entities: readonly Entity[] }> = ({ text, entities }) => {
  const sorted = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length).slice(0, entitiesShown);
  return <>{viewRange(text, 0, text.length, sorted)}</>;
};

/** Entities that overlap without nesting are cut at the border of the first. */
function viewRange(text: string, from: number, to: number, entities: readonly Entity[]): Child[] {
  const children: Child[] = [];
  let at = from;
  entities.forEach((entity, index) => {
    const start = Math.max(entity.offset, at);
    const end = Math.min(entity.offset + entity.length, to);
    if (end <= start) return;
    if (start > at) children.push(text.slice(at, start));
    children.push(viewEntity(entity, viewRange(text, start, end, entities.slice(index + 1))));
    at = end;
  });
  if (to > at) children.push(text.slice(at, to));
  return children;
}

function viewEntity(entity: Entity, children: Child[]): Child {
  switch (entity.type) {
    case "bold":
      return <strong>{children}</strong>;
    case "italic":
      return <em>{children}</em>;
    case "underline":
      return <u>{children}</u>;
    case "strikethrough":
      return <s>{children}</s>;
    case "spoiler":
      return <span class="spoiler">{children}</span>;
    case "code":
      return <code>{children}</code>;
    case "pre":
      return <pre>{children}</pre>;
    case "blockquote":
    case "expandable_blockquote":
      return <blockquote>{children}</blockquote>;
    case "text_link":
      return <WebLink url={entity.url ?? ""}>{children}</WebLink>;
    case "date_time":
      return viewInstant(entity, children);
    default:
      return <>{children}</>;
  }
}

/** The page's script writes the instant in the reader's own zone, as the vendor's apps do. */
function viewInstant(entity: Entity, children: Child[]): Child {
  const instant = new Date((entity.unix_time ?? 0) * 1000);
  if (Number.isNaN(instant.getTime())) return <>{children}</>;
  const iso = instant.toISOString();
  return (
    <time class="instant" datetime={iso} data-format={entity.date_time_format ?? ""} title={iso}>
      {children}
    </time>
  );
}

const wording: Readonly<Record<FaultKind, string>> = {
  hang: "never answers",
  reset_before_reading: "drops the connection at once",
  reset: "drops the connection after reading",
  error_500: "answers 500",
  bad_gateway: "answers a 502 page",
  not_json: "answers half a JSON text",
  slow: "answers after two seconds",
  flood: "asks to wait 5 seconds (429)",
  flood_unsaid: "asks to wait without saying how long",
  kick: "throws the bot out",
  migrate: "turns the group into a supergroup",
};

/** Lets a person break the next request to the chat they look at. */
export const ChatFaultForm: FC<{ chatId: string; pending: readonly Fault[] }> = ({ chatId, pending }) => (
  <FaultForm
    title="Break the next request"
    of={["chat", chatId]}
    label="What happens"
    words={wording}
    pending={pending.map(({ kind }) => wording[kind])}
  />
);
