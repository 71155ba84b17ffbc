import type { Child, FC } from "hono/jsx";
import type { Entity } from "./entity.ts";

/** The vendor shows this many entities of a message and drops the rest. */
const entitiesShown = 100;

/** Text with its entities, as a reader sees it. All text is escaped by hono; links open only for web addresses. */
export const FormattedView: FC<{ text: string; entities: readonly Entity[] }> = ({ text, entities }) => {
  const sorted = [...entities]
    .sort((a, b) => a.offset - b.offset || b.length - a.length)
    .slice(0, entitiesShown);
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
      return viewLink(entity.url ?? "", children);
    case "date_time":
      return viewInstant(entity, children);
    default:
      return <>{children}</>;
  }
}

function viewLink(url: string, children: Child[]): Child {
  if (!/^https?:\/\//i.test(url)) return <span class="link">{children}</span>;
  return (
    <a href={url} rel="noreferrer noopener" target="_blank">
      {children}
    </a>
  );
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
