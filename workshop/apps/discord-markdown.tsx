import type { Child, FC } from "hono/jsx";
import { Instant, WebLink } from "../board/views.tsx";

/** Discord's markdown as its app shows it, as far as Tocsin writes it. All text is escaped by hono. */
export const Markdown: FC<{ text: string }> = ({ text }) => (
  <>
    {text.split(/(```\n[\s\S]*?\n```)/).map((part) => {
      const [, code] = /^```\n([\s\S]*)\n```$/.exec(part) ?? [];
      return code === undefined ? viewLines(part) : <pre>{code}</pre>;
    })}
  </>
);

/** Lines that begin with `> ` are one quotation. */
function viewLines(text: string): Child[] {
  return text
    .split(/((?:^> .*\n?)+)/m)
    .map((part) =>
      part.startsWith("> ") ? <blockquote>{viewInline(part.replaceAll(/^> /gm, ""))}</blockquote> : viewInline(part),
    );
}

const words = String.raw`(?:\\.|[^\\])+?`;
const token = new RegExp(
  [
    String.raw`\\(?<escaped>[^\sA-Za-z0-9])`,
    "`` (?<long>.+?) ``|`(?<code>[^`]+)`",
    String.raw`\[(?<label>${words})\]\(<(?<href>[^>]+)>\)|<(?<address>https?://[^\s>]+)>`,
    "<t:(?<seconds>\\d{1,12}):(?<form>[tf])>",
    String.raw`\*\*(?<bold>${words})\*\*|\*(?<italic>${words})\*`,
  ].join("|"),
  "gs",
);

function viewInline(text: string): Child[] {
  const children: Child[] = [];
  let at = 0;
  for (const { index, 0: whole, groups = {} } of text.matchAll(token)) {
    children.push(text.slice(at, index), viewToken(groups));
    at = index + whole.length;
  }
  return [...children, text.slice(at)];
}

function viewToken(found: Record<string, string | undefined>): Child {
  const { escaped, long, code = long, label = "", href, address, seconds, form, bold, italic = "" } = found;
  if (escaped !== undefined) return escaped;
  if (code !== undefined) return <code>{code}</code>;
  if (href !== undefined) return <WebLink url={href}>{viewInline(label)}</WebLink>;
  if (address !== undefined) return <WebLink url={address}>{address}</WebLink>;
  if (seconds !== undefined)
    return <Instant at={Number(seconds) * 1000} form={form === "t" ? "time" : "date and time"} />;
  return bold === undefined ? <em>{viewInline(italic)}</em> : <strong>{viewInline(bold)}</strong>;
}
