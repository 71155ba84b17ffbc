import type { FC } from "hono/jsx";
import type { StandInCall } from "./bot-endpoint.ts";
import { FormattedView } from "./entity-view.tsx";
import type { StandInChat, StandInMessage } from "./world.ts";

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
          {chat.kind} · <code>{chat.id}</code> · {present.length}{" "}
          {present.length === 1 ? "message" : "messages"}
          {chat.membership === "kicked" || chat.membership === "left" ? " · the bot is not a member" : ""}
          {chat.membership === "muted" ? " · the bot may not write" : ""}
        </p>
      </header>
      <ol class="messages" id="messages" tabindex={0} aria-label="Messages, oldest first">
        {present.length > shown.length && (
          <li class="mark">{present.length - shown.length} older messages</li>
        )}
        {shown.flatMap((message, index) => {
          const day = dayOf(message.sentAt);
          const isNewDay = index === 0 || dayOf(shown[index - 1]?.sentAt ?? 0) !== day;
          const view = (
            <MessageView chat={chat} message={message} answered={byId.get(message.replyTo ?? -1)} />
          );
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
      <div class="text">
        <FormattedView text={message.text} entities={message.entities} />
      </div>
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

export const CallList: FC<{ calls: readonly StandInCall[] }> = ({ calls }) => (
  <section class="calls" id="calls" data-live aria-label="Latest requests">
    <h2>Latest requests</h2>
    {calls.length === 0 && <p class="quiet">None yet.</p>}
    <ol>
      {calls
        .slice(-12)
        .reverse()
        .map((call) => (
          <li>
            <span class={call.status === 200 && call.fault === undefined ? "status good" : "status bad"}>
              {call.status === 0 ? "lost" : call.status}
            </span>
            <span>
              {call.method || "?"} {call.fault !== undefined && <em>{call.fault}</em>}
            </span>
            <Clock at={call.at} />
            {call.description !== undefined && <span class="why">{call.description}</span>}
          </li>
        ))}
    </ol>
  </section>
);

const Clock: FC<{ at: number }> = ({ at }) => {
  const iso = new Date(at).toISOString();
  return (
    <time class="clock" datetime={iso} title={iso}>
      {iso.slice(11, 19)}
    </time>
  );
};

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
