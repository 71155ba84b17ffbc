import type { Child, FC } from "hono/jsx";
import { WebLink } from "../live-parts.tsx";

/**
 * Discord's markdown as its app shows it, as far as webhooks need it: emphasis, code, links, instants, quotes, headings and
 * lists. All text is escaped by hono.
 */
export const DiscordText: FC<{ text: string }> = ({ text }) => <>{viewBlocks(text)}</>;

const fence = "```";

/** Code blocks first: nothing inside of them means anything. */
function viewBlocks(text: string): Child[] {
  const start = text.indexOf(fence);
  const end = start === -1 ? -1 : text.indexOf(fence, start + fence.length);
  if (end === -1) return viewLines(text);
  const code = text.slice(start + fence.length, end).replace(/^[\w+-]*\n/, "");
  const after = text.slice(end + fence.length).replace(/^\n/, "");
  return [...viewLines(text.slice(0, start).replace(/\n$/, "")), <pre>{code}</pre>, ...viewBlocks(after)];
}

function viewLines(text: string): Child[] {
  if (text === "") return [];
  const children: Child[] = [];
  let quoted: string[] = [];
  const endQuote = () => {
    if (quoted.length > 0) children.push(<blockquote>{quoted.flatMap((line) => viewLine(line))}</blockquote>);
    quoted = [];
  };
  for (const line of text.split("\n")) {
    if (line.startsWith("> ")) {
      quoted.push(line.slice(2));
      continue;
    }
    endQuote();
    children.push(...viewLine(line));
  }
  endQuote();
  return children;
}

function viewLine(line: string): Child[] {
  const [, marks, heading] = /^(#{1,3}) (.+)$/.exec(line) ?? [];
  if (marks !== undefined) return [<p class={`heading-${marks.length}`}>{viewInline(heading ?? "")}</p>];
  const [, item] = /^ {0,3}[-*] (.+)$/.exec(line) ?? [];
  return [item === undefined ? <p>{viewInline(line)}</p> : <p class="item">• {viewInline(item)}</p>];
}

const emphasis: readonly { mark: string; view(children: Child[]): Child }[] = [
  { mark: "**", view: (children) => <strong>{children}</strong> },
  { mark: "__", view: (children) => <u>{children}</u> },
  { mark: "~~", view: (children) => <s>{children}</s> },
  { mark: "||", view: (children) => <span class="spoiler">{children}</span> },
  { mark: "*", view: (children) => <em>{children}</em> },
  { mark: "_", view: (children) => <em>{children}</em> },
];

function viewInline(text: string): Child[] {
  const children: Child[] = [];
  let plain = "";
  let at = 0;
  const take = (child: Child, next: number) => {
    if (plain !== "") children.push(plain);
    plain = "";
    children.push(child);
    at = next;
  };
  while (at < text.length) {
    const character = text[at] ?? "";
    if (character === "\\" && /^[^\sA-Za-z0-9]$/.test(text[at + 1] ?? "")) {
      plain += text[at + 1];
      at += 2;
      continue;
    }
    const found = readCode(text, at) ?? readAngle(text, at) ?? readLink(text, at) ?? readEmphasis(text, at);
    if (found !== undefined) {
      take(found.child, found.next);
      continue;
    }
    plain += character;
    at += 1;
  }
  return plain === "" ? children : [...children, plain];
}

interface Found {
  child: Child;
  next: number;
}

function readCode(text: string, at: number): Found | undefined {
  const mark = text.startsWith("``", at) ? "``" : "`";
  if (text[at] !== "`") return undefined;
  const end = text.indexOf(mark, at + mark.length);
  if (end === -1) return undefined;
  return { child: <code>{text.slice(at + mark.length, end).trim()}</code>, next: end + mark.length };
}

/** `<https://…>`, `<t:seconds:f>`, and mentions, which a webhook of ours never makes. */
function readAngle(text: string, at: number): Found | undefined {
  const end = text[at] === "<" ? text.indexOf(">", at) : -1;
  if (end === -1) return undefined;
  const inner = text.slice(at + 1, end);
  const [, seconds, style = "f"] = /^t:(\d{1,12})(?::([tTdDfFR]))?$/.exec(inner) ?? [];
  if (seconds !== undefined) return { child: <Moment seconds={Number(seconds)} style={style} />, next: end + 1 };
  if (/^https?:\/\/\S+$/.test(inner)) return { child: <WebLink url={inner}>{inner}</WebLink>, next: end + 1 };
  if (/^[@#]\S+$/.test(inner)) return { child: <span class="mention">@unknown</span>, next: end + 1 };
  return undefined;
}

/** `[words](<address>)` or `[words](address)`. */
function readLink(text: string, at: number): Found | undefined {
  if (text[at] !== "[") return undefined;
  const end = indexOfUnescaped(text, "]", at + 1);
  if (end === -1 || text[end + 1] !== "(") return undefined;
  const close = text.indexOf(")", end + 2);
  if (close === -1) return undefined;
  const url = text.slice(end + 2, close).replace(/^<|>$/g, "");
  const child = <WebLink url={url}>{viewInline(text.slice(at + 1, end))}</WebLink>;
  return { child, next: close + 1 };
}

function readEmphasis(text: string, at: number): Found | undefined {
  const kind = emphasis.find(({ mark }) => text.startsWith(mark, at));
  if (kind === undefined) return undefined;
  const { mark, view } = kind;
  const end = indexOfUnescaped(text, mark, at + mark.length);
  const inner = text.slice(at + mark.length, end);
  if (end === -1 || inner.trim() !== inner || inner === "") return undefined;
  return { child: view(viewInline(inner)), next: end + mark.length };
}

function indexOfUnescaped(text: string, mark: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text.startsWith(mark, at)) return at;
  }
  return -1;
}

const formats: Readonly<Record<string, string>> = { t: "t", T: "tT", d: "d", D: "D", f: "Dt", F: "wDt", R: "r" };

/** The page's script writes it in the reader's own zone, as the app does. */
const Moment: FC<{ seconds: number; style: string }> = ({ seconds, style }) => {
  const instant = new Date(seconds * 1000);
  if (Number.isNaN(instant.getTime())) return <>Invalid Date</>;
  const iso = instant.toISOString();
  return (
    <time class="instant" datetime={iso} data-format={formats[style] ?? "Dt"} title={iso}>
      {iso.slice(0, 16).replace("T", " ")} UTC
    </time>
  );
};
