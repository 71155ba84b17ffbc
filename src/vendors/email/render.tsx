import type { Document, Message, RenderOptions } from "../../core/message.ts";
import { cleanLine } from "../../ground/text/clean.ts";
import { cut } from "../../ground/text/graphemes.ts";
import type { TimeFormat } from "../../ground/time/time-format.ts";
import { fitDocument } from "../layout/fit.ts";
import { accents, type LaidBlock, layOut, linesOf, type Run, toneOf, writePlainText } from "../layout/layout.ts";

const maxSubjectUnits = 200;
/** Gmail hides the part of the HTML after 102 KB. */
const maxHtmlUnits = 90_000;
/** For mails whose first form was refused. Filters refuse no mail of this size. */
const maxPlainUnits = 4000;
const maxPreviewUnits = 140;

export interface EmailMessage extends Message {
  kind: "email";
  subject: string;
  text: string;
  html: string;
  /** `at`: the picture's position in `html`. Absent: no picture. */
  picture?: { at: number; timeZone: string };
}

/** The plain form is only text: its `html` is empty. */
export function renderEmail(
  document: Document,
  times: TimeFormat,
  { form, picture, timeZone }: RenderOptions,
): EmailMessage {
  const subject = cut(cleanLine(document.mailSubject ?? document.subject), maxSubjectUnits);
  const fitting = fitDocument(document, (candidate) => {
    const blocks = layOut(candidate, times);
    return form === "plain"
      ? writePlainText(blocks).length <= maxPlainUnits
      : writeHtml(document, blocks).length <= maxHtmlUnits;
  });
  const blocks = layOut(fitting, times);
  const text = writePlainText(blocks) || subject;
  if (form === "plain") return { kind: "email", subject, text, html: "" };
  const html = writeHtml(document, blocks);
  // A sender's text has no `<`, so the last end of the frame is ours.
  const at = html.lastIndexOf(endOfFrame);
  return { kind: "email", subject, text, html, ...(picture && at > 0 && { picture: { at, timeZone } }) };
}

/** Sets no colour for text and background, so the reader's light or dark scheme decides. */
function writeHtml(document: Document, blocks: LaidBlock[]): string {
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="supported-color-schemes" content="light dark" />
        <title>{document.subject}</title>
      </head>
      <body style="margin: 0; padding: 16px; color-scheme: light dark">
        <Preview subject={document.mailSubject ?? document.subject} blocks={blocks} />
        <div style={`${frameStyle}; border-left: 4px solid ${accents[toneOf(document)]}`}>
          {blocks.map((block, at) => (
            <BlockHtml block={block} isNumbers={at === 1} isLast={at === blocks.length - 1} />
          ))}
        </div>
      </body>
    </html>
  );
  return `<!DOCTYPE html>${page}`;
}

const endOfFrame = "</div></body>";

/** The content id of the picture in the mail. */
export const pictureId = "chart@tocsin";

/** Puts the picture into the HTML, at most `width` pixels wide. */
export function withPicture(html: string, at: number, { alt, width }: { alt: string; width: number }): string {
  const image = (
    <p style="margin: 16px 0 8px">
      <img
        src={`cid:${pictureId}`}
        alt={alt}
        width={width}
        style="display: block; max-width: 100%; height: auto; border-radius: 6px"
      />
    </p>
  );
  return `${html.slice(0, at)}${image}${html.slice(at)}`;
}

const frameStyle =
  "max-width: 640px; padding: 2px 0 2px 16px; font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', sans-serif; overflow-wrap: anywhere";
const buttonStyle =
  "display: inline-block; padding: 8px 16px; border: 1px solid #2f7ad6; border-radius: 6px; color: #2f7ad6; text-decoration: none";
const codeStyle = "font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 0.9em";

/**
 * The preview next to the subject in a mailbox, hidden in the mail itself. It begins with the state's symbol, as a
 * mailbox may show the conversation's first subject. Then it has the numbers, which the subject leaves out.
 */
function Preview({ subject, blocks: [heading, next] }: { subject: string; blocks: LaidBlock[] }) {
  if (heading?.kind !== "heading" || (next?.kind !== "paragraph" && next?.kind !== "note") || next.quoted) return null;
  const [first, second] = [heading, next].map(({ runs }) => runs.map(({ text }) => text).join(""));
  const [symbol = "", ...words] = (first ?? "").split(" ");
  const known = new Set(subject.split(/[\s,:[\]]+/));
  const news = words.findIndex((word) => !known.has(word.replace(/[,:]$/, "")));
  const rest = next.runs[0]?.style === "bold" || news === -1 ? [] : [words.slice(news).join(" ")];
  const shown = [...rest, second?.replaceAll("\n", " ")].join(" · ");
  return (
    <div style="display: none; max-height: 0; overflow: hidden; mso-hide: all">{`${symbol} ${cut(shown, maxPreviewUnits)}`}</div>
  );
}

/** @param isNumbers the block follows the heading @param isLast the block ends the mail */
function BlockHtml({ block, isNumbers, isLast }: { block: LaidBlock; isNumbers: boolean; isLast: boolean }) {
  if (block.quoted) {
    return (
      <blockquote style="margin: 16px 0; padding: 0 0 0 12px; border-left: 3px solid #8a8f98; white-space: pre-wrap">
        <Runs runs={block.runs} />
      </blockquote>
    );
  }
  switch (block.kind) {
    case "heading":
      return (
        <h1 style="margin: 0 0 8px; font-size: 20px; line-height: 1.3">
          <Runs runs={block.runs.map((run) => (run.style === "bold" ? { ...run, style: "text" } : run))} />
        </h1>
      );
    case "paragraph": {
      const [only, ...others] = block.runs;
      if (isLast && only?.style === "link" && others.length === 0) {
        return (
          <p style="margin: 16px 0 8px">
            <a href={only.href} style={buttonStyle}>
              {only.text}
            </a>
          </p>
        );
      }
      return (
        <p style={isNumbers && only?.style === "bold" ? "margin: 8px 0; font-size: 18px" : "margin: 8px 0"}>
          <Runs runs={block.runs} />
        </p>
      );
    }
    case "note":
      return (
        <p style="margin: 4px 0; font-size: 14px; opacity: 0.8">
          <Runs runs={block.runs.map((run) => (run.style === "italic" ? { ...run, style: "text" } : run))} />
        </p>
      );
    case "fields":
      return (
        <table role="presentation" style="margin: 12px 0; border-collapse: collapse; font: inherit">
          {linesOf(block.runs).map(([label, ...value]) => (
            <tr>
              <td style="padding: 1px 12px 1px 0; max-width: 200px; vertical-align: top; opacity: 0.8">
                {label?.text}
              </td>
              <td style="padding: 1px 0; vertical-align: top">
                <Runs runs={value} />
              </td>
            </tr>
          ))}
        </table>
      );
    case "list":
      return (
        <div style="margin: 12px 0">
          {linesOf(block.runs).map((line) => (
            <div style="padding: 1px 0 1px 1em; text-indent: -1em">
              <Runs runs={line} />
            </div>
          ))}
        </div>
      );
    case "code":
      return (
        <pre style={`margin: 12px 0; white-space: pre-wrap; ${codeStyle}`}>
          <Runs runs={block.runs} />
        </pre>
      );
  }
}

function Runs({ runs }: { runs: Run[] }) {
  return (
    <>
      {runs.map((run) => (
        <RunHtml run={run} />
      ))}
    </>
  );
}

function RunHtml({ run }: { run: Run }) {
  switch (run.style) {
    case "text":
    case "pre":
      return <>{run.text}</>;
    case "bold":
      return <strong>{run.text}</strong>;
    case "italic":
      return <em>{run.text}</em>;
    case "code":
      return <code style={codeStyle}>{run.text}</code>;
    case "link":
      return (
        <a href={run.href} style="color: #2f7ad6">
          {run.text}
        </a>
      );
    case "time":
      return <span style="white-space: nowrap">{run.text}</span>;
  }
}
