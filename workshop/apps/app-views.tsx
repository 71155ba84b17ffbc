import type { Child, FC } from "hono/jsx";
import { Clock, WebLink } from "../live-parts.tsx";
import type { Posted } from "./board.ts";
import type { DiscordContent, DiscordEmbed } from "./discord.ts";
import { DiscordText } from "./discord-markdown.tsx";
import type { NtfyContent } from "./ntfy.ts";
import type { SlackBlock, SlackContent, SlackInline, SlackRich } from "./slack.ts";

/** One message in the frame that the apps share: who, when, what it said before. */
const Frame: FC<{ id: string; at: number; marks?: Child[]; versions: Child[]; children?: Child }> = ({
  id,
  at,
  marks = [],
  versions,
  children,
}) => (
  <li class="message" id={`m${id}`}>
    <p class="from">
      Tocsin <span class="app-tag">APP</span>
    </p>
    {children}
    <p class="meta">
      {marks.map((mark) => (
        <span>{mark}</span>
      ))}
      {versions.length > 0 && <span class="edited">edited</span>}
      <Clock at={at} />
    </p>
    {versions.length > 0 && (
      <details id={`e${id}`}>
        <summary>
          {versions.length} earlier {versions.length === 1 ? "version" : "versions"}
        </summary>
        {versions.map((version) => (
          <div class="earlier">{version}</div>
        ))}
      </details>
    )}
  </li>
);

/** An image of a message: Slack and ntfy load it by its address, Discord has it. */
const Picture: FC<{ src: string; alt: string }> = ({ src, alt }) => (
  <p class="picture">
    <img src={src} alt={alt} />
  </p>
);

export const SlackMessage: FC<{ posted: Posted<SlackContent> }> = ({ posted: { id, at, content, edits } }) => (
  <Frame id={id} at={at} versions={edits.map((edit) => viewSlack(edit.content))}>
    {viewSlack(content)}
    <details id={`n${id}`}>
      <summary>What a notification shows</summary>
      <div class="text">{viewMrkdwn(content.text)}</div>
    </details>
  </Frame>
);

function viewSlack({ text, blocks }: SlackContent): Child {
  if (blocks.length === 0) return <div class="text">{viewMrkdwn(text)}</div>;
  return <div class="text">{blocks.map(viewBlock)}</div>;
}

function viewBlock(block: SlackBlock): Child {
  switch (block.type) {
    case "rich_text":
      return <>{block.elements.map(viewRich)}</>;
    case "header":
      return <p class="heading-2">{block.text.text}</p>;
    case "divider":
      return <hr />;
    case "image":
      return <Picture src={block.image_url} alt={block.alt_text} />;
    case "section":
      return (
        <>
          {block.text !== undefined && <p>{viewText(block.text)}</p>}
          {block.fields?.map((field) => (
            <p>{viewText(field)}</p>
          ))}
        </>
      );
    case "context":
      return (
        <p class="quiet">
          {block.elements.map((element) =>
            element.type === "image" ? <img src={element.image_url} alt={element.alt_text} /> : viewText(element),
          )}
        </p>
      );
    case "actions":
      return (
        <p class="actions">
          {block.elements.map(({ text, url }) => (
            <ActionView label={text.text} url={url} />
          ))}
        </p>
      );
  }
}

function viewText({ type, text }: { type: "plain_text" | "mrkdwn"; text: string }): Child {
  return type === "mrkdwn" ? viewMrkdwn(text) : text;
}

/** Without its emphasis: Slack's links and its three escaped characters. */
function viewMrkdwn(text: string): Child {
  return (
    <>
      {text.split(/(<[^<>\s][^<>]*>)/).map((part) => {
        const [, url = "", words = url] = /^<(https?:[^|>]+)(?:\|([^>]+))?>$/.exec(part) ?? [];
        if (url === "") return withoutEscapes(part);
        return <WebLink url={withoutEscapes(url)}>{withoutEscapes(words)}</WebLink>;
      })}
    </>
  );
}

function withoutEscapes(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function viewRich(rich: SlackRich): Child {
  switch (rich.type) {
    case "rich_text_section":
      return <div>{rich.elements.map(viewElement)}</div>;
    case "rich_text_quote":
      return <blockquote>{rich.elements.map(viewElement)}</blockquote>;
    case "rich_text_preformatted":
      return <pre>{rich.elements.map(viewElement)}</pre>;
    case "rich_text_list": {
      const items = rich.elements.map((item) => <li>{item.elements.map(viewElement)}</li>);
      return rich.style === "ordered" ? <ol class="list">{items}</ol> : <ul class="list">{items}</ul>;
    }
  }
}

function viewElement(element: SlackInline): Child {
  switch (element.type) {
    case "text":
      return viewStyled(element.text, element.style);
    case "link":
      return <WebLink url={element.url}>{element.text ?? element.url}</WebLink>;
    case "emoji":
      return `:${element.name}:`;
    case "broadcast":
      return <span class="mention">@{element.range}</span>;
    case "date": {
      const iso = new Date(element.timestamp * 1000).toISOString();
      const format = element.format.includes("date") ? (element.format.includes("secs") ? "DtT" : "Dt") : "t";
      return (
        <time class="instant" datetime={iso} data-format={format} title={iso}>
          {element.fallback ?? iso}
        </time>
      );
    }
  }
}

function viewStyled(
  text: string,
  style: { bold?: boolean; italic?: boolean; strike?: boolean; code?: boolean } = {},
): Child {
  let child: Child = text;
  if (style.code) child = <code>{child}</code>;
  if (style.strike) child = <s>{child}</s>;
  if (style.italic) child = <em>{child}</em>;
  if (style.bold) child = <strong>{child}</strong>;
  return child;
}

export const DiscordMessage: FC<{ posted: Posted<DiscordContent> }> = ({ posted: { id, at, content, edits } }) => (
  <Frame
    id={id}
    at={at}
    marks={[
      ...(content.silent ? ["silent"] : []),
      ...(content.pings.length > 0 ? [`mentions ping ${content.pings.join(", ")}`] : []),
    ]}
    versions={edits.map((edit) => viewDiscord(edit.content))}
  >
    {viewDiscord(content)}
  </Frame>
);

function viewDiscord({ content, embeds, files }: DiscordContent): Child {
  const shown = embeds.flatMap(({ image, thumbnail }) => [image?.url, thumbnail?.url]);
  const sourceOf = (url: string) => {
    const file = files.find(({ name }) => url === `attachment://${name}`);
    return file === undefined ? url : `data:${file.type};base64,${file.bytes.toString("base64")}`;
  };
  return (
    <div class="text">
      <DiscordText text={content} />
      {embeds.map((embed) => (
        <EmbedView embed={embed} sourceOf={sourceOf} />
      ))}
      {files
        .filter(({ name, type }) => type.startsWith("image/") && !shown.includes(`attachment://${name}`))
        .map(({ name }) => (
          <Picture src={sourceOf(`attachment://${name}`)} alt={name} />
        ))}
    </div>
  );
}

const EmbedView: FC<{ embed: DiscordEmbed; sourceOf(url: string): string }> = ({ embed, sourceOf }) => (
  <div class="embed">
    <svg class="bar" aria-hidden="true">
      <rect width="100%" height="100%" fill={`#${(embed.color ?? 0x4e5058).toString(16).padStart(6, "0")}`} />
    </svg>
    <div>
      {embed.author !== undefined && <p class="quiet">{embed.author.name}</p>}
      {embed.title !== undefined && <p class="heading-3">{embed.title}</p>}
      {embed.description !== undefined && <DiscordText text={embed.description} />}
      {embed.fields?.map(({ name, value }) => (
        <div>
          <p class="heading-3">
            <DiscordText text={name} />
          </p>
          <DiscordText text={value} />
        </div>
      ))}
      {embed.image !== undefined && <Picture src={sourceOf(embed.image.url)} alt="" />}
      {embed.thumbnail !== undefined && <Picture src={sourceOf(embed.thumbnail.url)} alt="" />}
      {embed.footer !== undefined && <p class="quiet">{embed.footer.text}</p>}
    </div>
  </div>
);

/** Tags that ntfy shows as a symbol before the title; others stand below as words. */
const symbols: Readonly<Record<string, string>> = {
  white_check_mark: "✅",
  rotating_light: "🚨",
  warning: "⚠️",
  information_source: "ℹ️",
  bell: "🔔",
  test_tube: "🧪",
};

const priorities: Readonly<Record<number, string>> = {
  1: "priority 1: no sound, at the bottom",
  2: "priority 2: no sound",
  3: "priority 3: short sound",
  4: "priority 4: long sound",
  5: "priority 5: rings on and on, through Do not disturb where allowed",
};

export const NtfyMessage: FC<{ posted: Posted<NtfyContent> }> = ({ posted: { id, at, content, edits } }) => (
  <Frame
    id={id}
    at={at}
    marks={[priorities[content.priority] ?? ""]}
    versions={edits.map((edit) => viewNtfy(edit.content))}
  >
    {viewNtfy(content)}
  </Frame>
);

function viewNtfy({ title, message, tags, click, attach, actions }: NtfyContent): Child {
  const words = tags.filter((tag) => symbols[tag] === undefined);
  return (
    <div class="text">
      <p class="heading-3">
        {tags.map((tag) => symbols[tag] ?? "").join("")} {title}
      </p>
      <p>{message}</p>
      {attach !== undefined && <Picture src={attach} alt="" />}
      {words.length > 0 && <p class="quiet">Tags: {words.join(", ")}</p>}
      {(click !== undefined || actions.length > 0) && (
        <p class="actions">
          {click !== undefined && <ActionView label="A tap opens the alert" url={click} />}
          {actions.map(({ label, action, url }) => (
            <ActionView label={label} url={action === "view" ? url : undefined} />
          ))}
        </p>
      )}
    </div>
  );
}

const ActionView: FC<{ label: string; url?: string }> = ({ label, url }) =>
  url === undefined ? <span class="action">{label}</span> : <WebLink url={url}>{label}</WebLink>;
